"""Refit everything from the public measurements, and say how far predictions are off."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jobs.profiling.performance.gpu_power import PowerModel
from lab.calibration import load
from lab.calibration.capping import CappedModel
from lab.calibration.counts import count_cases
from lab.calibration.errors import by_application, error_table, errors_of, matrix_table, plain_rows
from lab.calibration.figures import plots_of
from lab.calibration.left_out import Case, Record, run
from lab.calibration.measurements import (
    CapCase,
    CountSeries,
    MatrixCase,
    Placement,
    cap_cases,
    count_series,
    matrix_cases,
    placements,
)
from lab.calibration.scatter import least_error_table, least_errors, machine_table, placement_table
from lab.calibration.shipping import Shipping, gpu_types, write_fitted
from lab.calibration.transfer import TransferError, transfer_errors
from lab.experiments.bars import Bar, at_least, at_most
from lab.experiments.frame import Experiment, ExperimentFindings, Records, Table, reproduce
from simulator.report.figures import figure_text
from simulator.scenario.files import data_directory

THROUGHPUT_BAR = 0.05
ENERGY_BAR = 0.06
BEST_CAP_BAR = 0.8
# Joules that differ by less over all caps: no cap binds, and the least is where noise put it.
FLAT = 0.1


class CalibrationData(NamedTuple):
    caps: list[CapCase]
    counts: list[CountSeries]
    matrices: list[MatrixCase]
    placements: list[Placement]

    def cases(self) -> dict[str, Case]:
        everything: list[Case] = [*self.caps, *count_cases(self.counts), *self.matrices]
        return {case.name: case for case in everything}

    @classmethod
    def load(cls, path: Path) -> "CalibrationData":
        return cls(
            list(cap_cases(path)),
            list(count_series(path)),
            list(matrix_cases(path)),
            list(placements(path)),
        )


def calibrate(directory: Path, *, processes: int, fresh: bool = False, ship: bool = False) -> None:
    """Fit GPU types and applications to public measurements, with errors on what was left out."""
    data = CalibrationData.load(data_directory())
    records = reproduce(calibration(data), directory, processes=processes, fresh=fresh)
    _ship(load.FITTED if ship else directory, data, records)


def calibration(data: CalibrationData) -> Experiment[Case]:
    return Experiment(
        title="Calibration: measured against fitted",
        notes=["Dots are measured, lines fitted to all points, crosses predicted without theirs."],
        settings=_settings,
        seeds=[],
        cases=data.cases,
        run=run,
        findings=partial(findings, data),
    )


def findings(data: CalibrationData, records: Records) -> ExperimentFindings:
    transfers = _transfers(data, records)
    return ExperimentFindings(
        results=_results(data, records, transfers),
        bars=bars_of(data, records),
        tables=_tables(data, records, transfers),
        plots=plots_of(data.caps, data.counts, records),
    )


def _transfers(data: CalibrationData, records: Records) -> list[TransferError]:
    return list(transfer_errors(data.caps, _models(data.caps, records)))


def bars_of(data: CalibrationData, records: Records) -> list[Bar]:
    """What the calibration is held to; then where the first of them holds and where not."""
    counts, caps = (by_application(cases, records) for cases in (data.counts, data.caps))
    throughput = errors_of(_flat(counts))
    energy = errors_of(_flat(caps))
    found = [records[case.name] for case in data.caps if records[case.name]["rows"]]
    close = [record["steps_apart"] <= 1 for record in found]
    steep = [record["steps_apart"] <= 1 for record in found if record["joules_range"] > FLAT]
    name = "throughput against count, mean error on counts left out"
    bars = [
        at_most(name, throughput.mean, THROUGHPUT_BAR),
        at_most("energy against cap, mean error on caps left out", energy.mean, ENERGY_BAR),
        at_least("minimum-energy cap within one step, share of cases", _share(close), BEST_CAP_BAR),
        at_least("the same, where joules differ by over 10 %", _share(steep), BEST_CAP_BAR),
    ]
    consistent = errors_of(_consistent(data.counts, records))
    bars.append(at_most(f"{name}, consistent series", consistent.mean, THROUGHPUT_BAR))
    for gpu_type in sorted({key[0] for key in counts}):
        mine = errors_of(row for key, rows in counts.items() if key[0] == gpu_type for row in rows)
        bars.append(at_most(f"{name}, {gpu_type}", mine.mean, THROUGHPUT_BAR))
    return bars


def _consistent(series: Sequence[CountSeries], records: Records) -> list[Record]:
    return [
        row
        for one in series
        for row in records[one.name]["rows"]
        if row["batch"] not in records[one.name]["contradictory"]
    ]


def _flat(grouped: Mapping[Any, list[Record]]) -> list[Record]:
    return [row for rows in grouped.values() for row in rows]


def _share(values: Sequence[bool]) -> float:
    return float(np.mean(values)) if values else float("nan")


def _models(cases: Sequence[CapCase], records: Records) -> dict[str, CappedModel]:
    models = {}
    for case in cases:
        parameters = dict(records[case.name]["parameters"])
        compute_s, wait_s = parameters.pop("compute_s"), parameters.pop("wait_s")
        power = PowerModel(**parameters, max_w=case.max_w, lowest_mhz=0.1)
        models[case.name] = CappedModel(compute_s=compute_s, wait_s=wait_s, power=power)
    return models


def _tables(
    data: CalibrationData, records: Records, transfers: Sequence[TransferError]
) -> list[Table]:
    counts, caps = (by_application(cases, records) for cases in (data.counts, data.caps))
    found = {
        "Throughput against GPU count": error_table("throughput, one count left out", counts),
        "Energy against power cap": error_table("energy, one cap left out", caps),
        "Sensitivity to CPUs and memory": matrix_table(data.matrices, records),
        "Power shapes carried to another GPU type": _transfer_table(transfers),
        "Series that contradict themselves": _contradictions(data.counts, records),
        "What applications of a machine have in common": machine_table(data.counts, records),
        "Error that no curve avoids": least_error_table(least_errors(data.counts)),
        "Placements that contradict each other": placement_table(data.placements),
    }
    return [Table(heading, rows) for heading, rows in found.items()]


def _transfer_table(transfers: Sequence[TransferError]) -> list[list[str]]:
    table = [
        ["shape of, scaled to", "cases", "watts mean %", "worst %", "saving mean %", "worst %"]
    ]
    pairs = sorted({(one.from_type, one.to_type) for one in transfers})
    for pair in [*pairs, None]:
        mine = [one for one in transfers if pair in ((one.from_type, one.to_type), None)]
        cells = [str(len(mine))]
        for name in ("watts", "joules"):
            errors = np.abs([error for one in mine for error in getattr(one, name)])
            cells += [figure_text(100 * float(errors.mean())), figure_text(100 * errors.max())]
        table.append([f"{pair[0]}, {pair[1]}" if pair else "all", *cells])
    return table


def _contradictions(series: Sequence[CountSeries], records: Records) -> list[list[str]]:
    table = [["speed per GPU rises with the count", "batches", "of"]]
    for one in series:
        if wrong := records[one.name]["contradictory"]:
            batches = len({one.batch_of(point) for point in one.points})
            label = f"{one.gpu_type} {one.application} ({one.source.split()[0]})"
            table.append([label, str(len(wrong)), str(batches)])
    return table


def _settings() -> dict[str, Any]:
    return {
        "left_out": "a count of all batches fitted together; a cap; a CPU count or memory",
        "machine": "fewer points than terms: from the other applications on the GPU type",
        "bar": "all left-out points, the ends of a range included",
        "flat": FLAT,
    }


def _results(
    data: CalibrationData, records: Records, transfers: Sequence[TransferError]
) -> dict[str, Any]:
    counts, caps = (by_application(cases, records) for cases in (data.counts, data.caps))
    return {
        "rows": [*plain_rows(counts, "throughput"), *plain_rows(caps, "energy")],
        "cases": {name: records[name] for name in data.cases()},
        "transfer": [one._asdict() for one in transfers],
        "least_errors": {
            gpu_type: float(np.mean(errors))
            for gpu_type, errors in least_errors(data.counts).items()
        },
    }


def _ship(directory: Path, data: CalibrationData, records: Records) -> None:
    watts = {
        gpu_type: float(
            np.mean(
                [
                    abs(row["watts_error"])
                    for case in data.caps
                    if case.gpu_type == gpu_type
                    for row in records[case.name]["rows"]
                ]
            )
        )
        for gpu_type in {case.gpu_type for case in data.caps}
    }
    carried = [error for one in _transfers(data, records) for error in one.watts]
    shipping = Shipping(data.caps, records, carried)
    applications = shipping.applications(data.counts, data.matrices)
    write_fitted(
        directory, applications, gpu_types({**watts, "A100": float(np.abs(carried).mean())})
    )
