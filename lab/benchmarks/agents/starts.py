"""From a submit to the first line its process writes, on the demo cluster of `make up`."""

import json
import sys
import time
from pathlib import Path

import httpx

from lab.benchmarks.harness.service import BenchmarkService, whole_demo
from lab.benchmarks.harness.waiting import ready_nodes, until

SUBMITS = 50
# The job notes the time itself, first of all: what is measured is its process, not our knowledge.
NOTE = "import sys, time; open(sys.argv[1], 'w').write(repr(time.time()))"


def starts_s() -> list[float]:
    """Seconds from before the request to the process, ascending."""
    with whole_demo() as service:
        return sorted(_starts_s(service))


def _starts_s(service: BenchmarkService) -> list[float]:
    notes = service.directory / "notes"
    notes.mkdir(mode=0o777)
    known = json.loads((service.directory / "var" / "demo.json").read_text())
    with service.client(known["operator_token"]) as http:
        until(lambda: ready_nodes(http) == len(known["agents"]), "its nodes are ready")
        return [_start_s(http, notes / str(number)) for number in range(SUBMITS)]


def _start_s(http: httpx.Client, note: Path) -> float:
    body = {"name": "start", "cluster": "demo", "tenant": "acme", "restartable": False,
            "argv": [sys.executable, "-S", "-c", NOTE, str(note)]}  # fmt: skip
    begun_s = time.time()
    http.post("/api/v1/jobs/", json=body).raise_for_status()
    until(
        lambda: note.exists() and note.read_text() != "",
        "the job runs",
        jobs_at=http,
        pause_s=0.02,
    )
    return float(note.read_text()) - begun_s
