"""The public measurements that GPU types and applications are fitted to."""

import ast
import csv
import gzip
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobs.profiling.performance.points import Point
from lab.calibration.capping import CapPoint

ZEUS = "Zeus (NSDI 23, Apache-2.0)"
ELASTICFLOW = "ElasticFlow (ASPLOS 23, Apache-2.0)"
GAVEL = "Gavel (OSDI 20, MIT)"
SYNERGY = "Synergy (OSDI 22, MIT)"
MIB_PER_GB = 1000**3 / 1024**2

_GAVEL_TYPES = ("K80", "P100", "V100")
_ZEUS_TYPES = {"V100": "v100", "P100": "p100", "RTX6000": "rtx6000"}
_BATCH = re.compile(r"(.*) \(batch size (\d+)\)")


@dataclass(frozen=True, slots=True)
class CapCase:
    """An epoch of one application at one batch under several power caps."""

    gpu_type: str
    application: str
    batch: int
    points: tuple[CapPoint, ...]
    idle_w: float
    """The lowest mean watts of any application on the GPU type."""
    max_w: float
    """The highest cap."""

    @property
    def name(self) -> str:
        return f"cap {self.gpu_type} {self.application}/{self.batch}"


@dataclass(frozen=True, slots=True)
class CountSeries:
    """One application at several batches on several counts of GPUs."""

    source: str
    gpu_type: str
    application: str
    grows: bool
    """Every GPU has the batch to itself (Gavel), rather than a share of it (ElasticFlow)."""
    points: tuple[Point, ...]

    @property
    def name(self) -> str:
        return f"count {self.source.split()[0]} {self.gpu_type} {self.application}"

    @property
    def counts(self) -> list[int]:
        return sorted({point.gpus for point in self.points})

    def batch_of(self, point: Point) -> float:
        """The application's batch that a point is of."""
        return round(point.batch_per_gpu * (1 if self.grows else point.gpus), 6)


@dataclass(frozen=True, slots=True)
class Placement:
    """Steps per second of one job on as many GPUs of one server, and of several."""

    gpu_type: str
    together: float
    spread: float


@dataclass(frozen=True, slots=True)
class MatrixCase:
    """Speed of one application over CPUs and memory per GPU, relative to the reference."""

    application: str
    reference_cpus: float
    reference_mem_mib: float
    points: tuple[Point, ...]

    @property
    def name(self) -> str:
        return f"sensitivity {self.application}"


def cap_cases(data: Path) -> Iterator[CapCase]:
    for gpu_type, stem in _ZEUS_TYPES.items():
        found: dict[tuple[str, int], list[CapPoint]] = defaultdict(list)
        with (data / "zeus" / f"summary_power_{stem}.csv").open(newline="") as file:
            for row in csv.DictReader(file):
                application = f"{row['network']}-{row['dataset']}-{row['optimizer']}"
                found[application, int(row["batch_size"])].append(
                    CapPoint(
                        cap_w=float(row["power_limit"]),
                        iteration_s=float(row["time_per_epoch"]),
                        watts=float(row["average_power"]),
                    )
                )
        everything = [point for points in found.values() for point in points]
        idle_w = min(point.watts for point in everything)
        max_w = max(point.cap_w for point in everything)
        for (application, batch), points in sorted(found.items()):
            ordered = tuple(sorted(points, key=lambda point: point.cap_w))
            yield CapCase(gpu_type, application, batch, ordered, idle_w, max_w)


def count_series(data: Path) -> Iterator[CountSeries]:
    yield from _elasticflow(data)
    yield from _gavel(data)


def _elasticflow(data: Path) -> Iterator[CountSeries]:
    """Rows are global batches; an empty, zero or nan cell was not measured."""
    for gpu_type in ("A100", "T4"):
        for path in sorted((data / "elasticflow" / f"throughputs_{gpu_type}").glob("*.csv")):
            with path.open(newline="") as file:
                head, *rows = csv.reader(file)
            points = [
                Point(
                    gpus=int(gpus),
                    steps_per_s=float(cell),
                    batch_per_gpu=float(batch) / int(gpus),
                )
                for batch, *cells in rows
                for gpus, cell in zip(head[1:], cells, strict=True)
                if cell.strip() not in ("", "nan", "0")
            ]
            yield CountSeries(ELASTICFLOW, gpu_type, path.stem, False, tuple(points))


def _gavel(data: Path) -> Iterator[CountSeries]:
    """Isolated entries on consolidated GPUs; a step is one batch on one GPU."""
    document = _gavel_document(data)
    for gpu_type in _GAVEL_TYPES:
        found: dict[str, list[Point]] = defaultdict(list)
        for key, entry in document[gpu_type.lower()].items():
            name, gpus = ast.literal_eval(key)
            named = _BATCH.fullmatch(name)
            application, batch = (named[1], float(named[2])) if named else (name, 1.0)
            if entry["null"] > 0:
                point = Point(gpus=gpus, steps_per_s=entry["null"], batch_per_gpu=batch)
                found[application].append(point)
        for application, points in sorted(found.items()):
            ordered = sorted(points, key=lambda point: (point.batch_per_gpu, point.gpus))
            yield CountSeries(GAVEL, gpu_type, application, True, tuple(ordered))


def placements(data: Path) -> Iterator[Placement]:
    """Gavel's jobs of several GPUs, consolidated and not."""
    document = _gavel_document(data)
    for gpu_type in _GAVEL_TYPES:
        spread = document[f"{gpu_type.lower()}_unconsolidated"]
        for key, entry in document[gpu_type.lower()].items():
            _, gpus = ast.literal_eval(key)
            if gpus > 1 and key in spread and entry["null"] > 0 and spread[key]["null"] > 0:
                yield Placement(gpu_type, entry["null"], spread[key]["null"])


def _gavel_document(data: Path) -> dict[str, dict[str, Any]]:
    with gzip.open(data / "gavel" / "simulation_throughputs.json.gz") as file:
        document: dict[str, dict[str, Any]] = json.load(file)
    return document


def matrix_cases(data: Path) -> Iterator[MatrixCase]:
    """One GPU on the server with 3 CPUs and 62.5 GB per GPU."""
    document = json.loads((data / "synergy" / "synergy_sensitivity.json").read_text())
    cpus, memory_gb = document["cpu_per_gpu"], document["mem_gb_per_gpu"]
    for name, model in sorted(document["sets"]["models"].items()):
        if not name.endswith("_1gpu"):
            continue
        points = tuple(
            Point(
                gpus=1,
                steps_per_s=float(speed),
                cpus_per_gpu=float(cpus[row]),
                mem_mib_per_gpu=memory_gb[column] * MIB_PER_GB,
            )
            for row, line in enumerate(model["tput"])
            for column, speed in enumerate(line)
            if speed > 0
        )
        yield MatrixCase(name.removesuffix("_1gpu"), 3.0, 62.5 * MIB_PER_GB, points)
