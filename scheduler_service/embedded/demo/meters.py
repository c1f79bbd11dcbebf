"""The emulated meters themselves, as the agents read them: not what the service was told."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any


def drawn_by_job(agents: Path, jobs: Iterable[int]) -> dict[int, int]:
    """Millijoules per job: the counters when its attempts left their GPUs, less when they came."""
    drawn = dict.fromkeys(jobs, 0)
    for journal in sorted(agents.glob("*/journal.jsonl")):
        started: dict[tuple[int, int], tuple[int, dict[str, int]]] = {}
        for entry in _entries(journal):
            if entry["event"] == "hold":
                attempt = json.loads(entry["attempt"])
                ref = (attempt["attempt_id"], attempt["fence"])
                started.setdefault(ref, (attempt["job_id"], entry["energy_start_mj"]))
            elif entry["event"] == "release":
                report = json.loads(entry["report"])
                job, start_mj = started.get((report["attempt_id"], report["fence"]), (0, {}))
                if job in drawn:
                    drawn[job] += sum(
                        energy["now_mj"] - start_mj[energy["uuid"]] for energy in report["energy"]
                    )
    return drawn


def _entries(journal: Path) -> Iterator[dict[str, Any]]:
    """The last line may be in the making."""
    for line in journal.read_text().splitlines(keepends=True):
        if line.endswith("\n"):
            yield json.loads(line)
