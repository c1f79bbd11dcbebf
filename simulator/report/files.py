"""Results on disk: results.json, CSV tables, PNG plots and the page."""

import csv
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from simulator.metrics.jobs import JobResults
from simulator.metrics.summary import Summary


def plain(value: Any) -> Any:
    """What JSON can hold: nan and infinity are null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(inner) for inner in value]
    return value


def write_json(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(plain(content), indent=1, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n")


def write_summaries(path: Path, rows: Sequence[tuple[Mapping[str, object], Summary]]) -> None:
    """One line per run: what tells it apart, then its figures."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*rows[0][0], *rows[0][1]])
        writer.writerows([*names.values(), *figures.values()] for names, figures in rows)


def write_jobs(path: Path, jobs: JobResults) -> None:
    names = [f.name for f in fields(jobs)]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["job", *names])
        columns = [getattr(jobs, name).tolist() for name in names]
        writer.writerows([row, *cells] for row, cells in enumerate(zip(*columns, strict=True)))
