"""The fitted parameters as the files that ship with the project."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from jobs.profiling.fitting.behaviour import USUAL, Usual
from jobs.profiling.fitting.solving import spread_of
from jobs.profiling.performance.fit import Fit
from jobs.profiling.performance.gpu_power import PowerModel
from jobs.profiling.performance.throughput import ThroughputModel
from lab.calibration.capping import CappedModel
from lab.calibration.counts import fit_group, groups_of
from lab.calibration.gpu_sheets import SHEETS
from lab.calibration.left_out import Record, fit_cap_case, fit_matrix
from lab.calibration.load import (
    FittedApplication,
    FittedBehaviour,
    FittedGpuType,
    FittedModel,
    FittedSensitivity,
)
from lab.calibration.measurements import GAVEL, SYNERGY, ZEUS, CapCase, CountSeries, MatrixCase
from lab.calibration.transfer import power_model, scaled

DIGITS = 6
# The A100's applications draw like these of Zeus on a V100, the nearest sibling that was capped.
# Those that Zeus did not run are taken to be like another of their kind.
A100_LIKE = {
    "bert": ("bert_base_uncased-sentiment140-adamw", 128),
    "gpt2": ("bert_base_uncased-sentiment140-adamw", 128),
    "deepspeech2": ("deepspeech2-librispeech-adamw", 64),
    "inception3": ("resnet50-imagenet-adadelta", 128),
    "resnet50": ("resnet50-imagenet-adadelta", 128),
    "resnet50_cifar10": ("shufflenetv2-cifar100-adadelta", 128),
    "vgg16": ("resnet50-imagenet-adadelta", 256),
}


def write_fitted(
    directory: Path, applications: Sequence[FittedApplication], types: Sequence[FittedGpuType]
) -> None:
    for name, content in (("applications", applications), ("gpu_types", types)):
        # One line for each, so that a refit shows which of them changed.
        lines = b",\n".join(msgspec.json.encode(one) for one in content)
        (directory / f"{name}.json").write_bytes(b"[\n" + lines + b"\n]\n")


def gpu_types(watts_errors: Mapping[str, float]) -> list[FittedGpuType]:
    """The data sheets, with the mean error of predicted watts where it was measured."""
    return [
        msgspec.structs.replace(sheet, power_error=round(watts_errors[name], 4))
        if name in watts_errors
        else sheet
        for name, sheet in SHEETS.items()
    ]


class Shipping:
    """Fits everything once more as a whole, with the errors that leaving out has shown."""

    def __init__(
        self, cases: Sequence[CapCase], records: Mapping[str, Record], carried: Sequence[float]
    ) -> None:
        """`carried` are the errors of watts where one GPU type's shape stood in for another's."""
        self._cases = cases
        self._records = records
        self._carried = np.abs(carried)
        self._capped = {case.name: fit_cap_case(case, case.points) for case in cases}

    def applications(
        self, series: Sequence[CountSeries], matrices: Sequence[MatrixCase]
    ) -> list[FittedApplication]:
        merged: dict[str, FittedApplication] = {}
        for one in (
            *(fitted for each in series for fitted in self._of_series(each)),
            *(self._of_case(case) for case in self._cases),
            *(_of_matrix(case) for case in matrices),
        ):
            known = merged.get(one.name, one)
            behaviours = {b.gpu_type: b for b in (*known.behaviours, *one.behaviours)}
            merged[one.name] = msgspec.structs.replace(known, behaviours=tuple(behaviours.values()))
        return list(merged.values())

    def _of_series(self, series: CountSeries) -> Iterator[FittedApplication]:
        """One application per batch; what is not known within a factor of two does not ship."""
        record = self._records[series.name]
        rows, machine = record["rows"], record["machine"]
        usual = USUAL | {name: Usual(**found) for name, found in machine.items()}
        prefix = "gavel-" if series.source == GAVEL else ""
        capped = self._like(series)
        bound = capped.clock_bound if capped else 1.0
        for points in groups_of(series):
            batches = sorted({series.batch_of(point) for point in points})
            fit = _judged(
                fit_group(series, points, usual, bound),
                [row for row in rows if row["batch"] in batches],
            )
            if fit.wide:
                continue
            power = self._power(series, capped) if capped else None
            for batch in batches:
                mine = [row for row in rows if row["batch"] == batch]
                yield FittedApplication(
                    name=f"{prefix}{series.application.lower()}/{batch:g}",
                    batch=batch,
                    grows=series.grows,
                    source=series.source,
                    behaviours=(
                        FittedBehaviour(
                            gpu_type=series.gpu_type,
                            throughput=_model(fit, fit.parameters, mine),
                            power=power,
                        ),
                    ),
                )

    def _like(self, series: CountSeries) -> CappedModel | None:
        if series.gpu_type != "A100":
            return None
        application, batch = A100_LIKE[series.application]
        return self._capped[f"cap V100 {application}/{batch}"].model

    def _power(self, series: CountSeries, capped: CappedModel) -> FittedModel:
        sheet = SHEETS[series.gpu_type]
        model = power_model(scaled(capped, SHEETS["V100"].max_w, sheet.max_w), sheet)
        highest = float(sheet.clocks_mhz[-1])
        return FittedModel(
            parameters=_rounded(_named(model)),
            ranges={"clock_mhz": (0.3 * highest, highest)},
            spread=_round(float(np.log1p(2 * self._carried.mean()))),
            points=0,
            mean_error=_round(float(self._carried.mean())),
            worst_error=_round(float(self._carried.max())),
        )

    def _of_case(self, case: CapCase) -> FittedApplication:
        """A step is an epoch; one GPU was measured."""
        fit, sheet = self._capped[case.name], SHEETS[case.gpu_type]
        model, highest = fit.model, float(sheet.clocks_mhz[-1])
        throughput = ThroughputModel(
            alpha0=model.wait_s,
            alpha2=model.compute_s,
            reference_mhz=highest,
            gpus_per_node=sheet.gpus_per_node,
        )
        rows = self._records[case.name]["rows"]
        clocks = [float(model.clock(point.cap_w)) for point in case.points]
        ranges = {"gpus": (1.0, 1.0), "clock_mhz": (min(clocks) * highest, highest)}
        return FittedApplication(
            name=f"zeus-{case.application}/{case.batch}",
            batch=1.0,
            source=f"{ZEUS}; a step is an epoch",
            behaviours=(
                FittedBehaviour(
                    gpu_type=case.gpu_type,
                    throughput=_model(fit, _named(throughput), rows, ranges),
                    power=_model(fit, _named(power_model(model, sheet)), rows, ranges),
                ),
            ),
        )


def _judged(fit: Fit[ThroughputModel], rows: Sequence[Record]) -> Fit[ThroughputModel]:
    """A fit with no point to spare does not know its own error; points left out of it do."""
    if not (fit.wide and rows):
        return fit
    errors = np.array([row["left_out"] / row["measured"] - 1 for row in rows])
    return replace(fit, spread=spread_of(errors, 0.0))


def _of_matrix(case: MatrixCase) -> FittedApplication:
    fit = fit_matrix(case, case.points)
    model = fit.model
    return FittedApplication(
        name=f"synergy-{case.application}",
        batch=1.0,
        source=SYNERGY,
        sensitivity=FittedSensitivity(
            cpus=model.cpus,
            cached_s=tuple(_round(value) for value in model.cached_s),
            fetch_s=_round(model.fetch_s),
            dataset_mib=_round(model.dataset_mib),
            reference_cpus=model.reference_cpus,
            reference_mem_mib=_round(model.reference_mem_mib),
        ),
    )


def _model(
    fit: Fit[Any],
    parameters: Mapping[str, float],
    rows: Sequence[Record],
    ranges: Mapping[str, tuple[float, float]] | None = None,
) -> FittedModel:
    own = {axis: (one.low, one.high) for axis, one in fit.ranges.items()}
    errors = [abs(row["left_out"] / row["measured"] - 1) for row in rows]
    return FittedModel(
        parameters=_rounded(parameters),
        ranges={axis: (_round(low), _round(high)) for axis, (low, high) in (ranges or own).items()},
        spread=_round(fit.spread),
        points=fit.points,
        mean_error=_round(fit.mean_error),
        worst_error=_round(fit.worst_error),
        left_out_mean_error=_round(float(np.mean(errors))) if errors else None,
        left_out_worst_error=_round(max(errors)) if errors else None,
    )


def _named(model: ThroughputModel | PowerModel) -> dict[str, float]:
    return {name: float(getattr(model, name)) for name in type(model).__slots__}


def _rounded(parameters: Mapping[str, float]) -> dict[str, float]:
    return {name: _round(value) for name, value in parameters.items()}


def _round(value: float) -> float:
    """To so many digits that count; shorter files, the same model."""
    return float(f"{value:.{DIGITS}g}")
