"""How long the command `fairwatt` takes to start, and until the first line of a long list."""

import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from statistics import median
from time import perf_counter

from lab.benchmarks.api import rows
from lab.benchmarks.figures import figure
from lab.benchmarks.harness.service import servers
from scheduler_service.embedded.stack import API_WORKERS
from tests.live.server import api_server

JOBS = 100_000
TURNS, WARM_UP = 15, 2
START_MS, FIRST_LINE_MS = 250, 300


def main(database_url: str) -> None:
    for words in (["--version"], ["--help"]):
        command(f"start-up, {words[0]}", words, {}, START_MS)
        cpu(f"start-up, {words[0]}", words, {})
    with servers(database_url) as stand, api_server(stand, workers=API_WORKERS) as url:
        made = rows.build()
        rows.fill(made, JOBS)
        who = {"FAIRWATT_URL": url, "FAIRWATT_TOKEN": made.member}
        command(f"ls of {JOBS} jobs", ["ls"], who, FIRST_LINE_MS)
        cpu(f"ls of {JOBS} jobs, -n 25", ["ls", "-n", "25"], who)


def command(case: str, words: Sequence[str], who: dict[str, str], at_most: float) -> None:
    taken = [first_line_ms(words, who) for _ in range(WARM_UP + TURNS)][WARM_UP:]
    figure("client", case, "median until the first line", median(taken), "ms", at_most=at_most)
    figure("client", case, "fastest", min(taken), "ms")


def cpu(case: str, words: Sequence[str], who: dict[str, str]) -> None:
    """Of the whole run: what a quiet machine takes at most, however busy this one is."""
    least_ms = min(cpu_ms(words, who) for _ in range(TURNS))
    figure("client", case, "least cpu", least_ms, "ms", at_most=START_MS)


def cpu_ms(words: Sequence[str], who: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    program, env = started(words, who)
    subprocess.run(program, env=env, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (sum(after[:2]) - sum(before[:2]))


def started(words: Sequence[str], who: dict[str, str]) -> tuple[list[str], dict[str, str]]:
    program = [sys.executable, "-m", "fairwatt.cli.main", *words]
    return program, {**os.environ, **who, "PYTHONDONTWRITEBYTECODE": ""}


def first_line_ms(words: Sequence[str], who: dict[str, str]) -> float:
    """From the start of the program; what else it would print is not waited for."""
    program, env = started(words, who)
    begun_s = perf_counter()
    with subprocess.Popen(program, env=env, stdout=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline() if process.stdout else ""
        taken_s = perf_counter() - begun_s
        process.kill()
    if not line.strip():
        raise SystemExit(f"fairwatt {' '.join(words)} printed nothing")
    return taken_s * 1000
