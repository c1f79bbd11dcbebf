"""From a submit to the first line its process writes, on the demo cluster of `make up`."""

import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

from lab.benchmarks.waiting import ready_nodes, until
from scheduler_service.embedded.ports import free_port

ROOT = Path(__file__).resolve().parents[1]
logging.getLogger("httpx").setLevel(logging.WARNING)
SUBMITS = 50
# The job notes the time itself, first of all: what is measured is its process, not our knowledge.
NOTE = "import sys, time; open(sys.argv[1], 'w').write(repr(time.time()))"


def measure() -> list[float]:
    """Seconds from before the request to the process, ascending."""
    with tempfile.TemporaryDirectory(prefix="fairwatt-bench-", dir="/tmp") as name:
        home = Path(name)
        home.chmod(0o755)
        env = {**os.environ, "FAIRWATT_VAR": str(home / "var"), "FAIRWATT_PORT": str(free_port())}
        for ours in ("DATABASE_URL", "BROKER_URL", "CACHE_URL"):
            env.pop(ours, None)
        with (home / "log").open("wb") as log:
            up = subprocess.Popen(
                [sys.executable, "-m", "scheduler_service.embedded", "up"],
                cwd=ROOT, env=env, stdout=log, stderr=log,
            )  # fmt: skip
        try:
            return sorted(_starts(home))
        finally:
            up.terminate()
            up.wait()


def _starts(home: Path) -> list[float]:
    notes = home / "notes"
    notes.mkdir(mode=0o777)
    log = home / "log"
    until(lambda: "Fairwatt is ready" in log.read_text(errors="replace"), "the demo is up")
    known = json.loads((home / "var" / "demo.json").read_text())
    bearer = {"Authorization": f"Bearer {known['operator_token']}"}
    with httpx.Client(base_url=known["url"], headers=bearer, timeout=30) as http:
        until(lambda: ready_nodes(http) == 4, "its nodes are ready")
        return [_one(http, notes / str(number)) for number in range(SUBMITS)]


def _one(http: httpx.Client, note: Path) -> float:
    body = {"name": "start", "cluster": "demo", "tenant": "acme", "restartable": False,
            "argv": [sys.executable, "-S", "-c", NOTE, str(note)]}  # fmt: skip
    begun_s = time.time()
    http.post("/api/v1/jobs/", json=body).raise_for_status()
    until(lambda: note.exists() and note.read_text() != "", "the job runs", pause_s=0.02)
    return float(note.read_text()) - begun_s
