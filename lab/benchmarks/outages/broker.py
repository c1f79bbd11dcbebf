"""The broker killed, and away until the end, while jobs are submitted."""

import os
import signal

import psutil

from lab.benchmarks.figures import figure
from lab.benchmarks.outages.composition import composition
from lab.benchmarks.outages.load import keep_submitting, report
from lab.benchmarks.outages.work import working

NODES = 2
DELAY_S = 5.0


def measure(database_url: str, seconds: float) -> None:
    with (
        composition(database_url) as site,
        working(site.service, "unheard", nodes=NODES) as http,
    ):
        jobs = keep_submitting(http, "unheard", seconds, at_first=_kill_broker)
        ready = http.get("/readyz")
        case = f"broker away for {seconds:.0f} s"
        figure("outages", case, "readyz", ready.status_code, "status", at_most=200)
        report(case, jobs, delay_at_most_s=DELAY_S)


def _kill_broker() -> None:
    """Of this process's children, the one that serves Valkey."""
    for child in psutil.Process().children():
        if "valkey" in " ".join(child.cmdline()):
            os.kill(child.pid, signal.SIGKILL)
