"""The server's side of each page, and what each viewer of a live page costs it.

Requests go through Django without a socket: what a front or a network adds is not the console's.
`python -m lab.benchmarks.run console --case viewers` has them come over HTTP, beside agents.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Iterator

import psutil
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from console import kept
from lab.benchmarks.console.beside_agents import beside_agents
from lab.benchmarks.console.rows import ConsoleRows, make
from lab.benchmarks.console.viewers import live_parts
from lab.benchmarks.figures import figure

WARM, TAKEN = 2, 20
PAGE_MS, VIEWER_MS = 1000.0, 5.0
VIEWERS, SECONDS = 200, 10.0
AGENTS, BESIDE_S = 1000, 60.0


def main(database_url: str, *options: str) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", choices=("pages", "viewers"), default="pages")
    parser.add_argument("--viewers", type=int, default=VIEWERS, help="at once, beside agents")
    parser.add_argument("--agents", type=int, default=AGENTS, help="beside them")
    parser.add_argument("--seconds", type=float, default=BESIDE_S, help="once all have come")
    asked = parser.parse_args(options)
    if asked.case == "viewers":
        beside_agents(database_url, asked.viewers, asked.agents, asked.seconds)
    else:
        _pages_and_parts()


def _pages_and_parts() -> None:
    sys.stderr.write("# rows\n")
    rows = make(timezone.now())
    client = Client(SERVER_NAME="localhost")
    client.force_login(rows.operator)
    for name, path in pages(rows):
        taken = sorted([spent_ms(client, path) for _ in range(WARM + TAKEN)][WARM:])
        figure("console", name, "p95", taken[int(0.95 * len(taken))], "ms", at_most=PAGE_MS)
        figure("console", name, "median", statistics.median(taken), "ms")
    for name, page, path in parts(rows):
        every_s = asked_every_s(client, page)
        for viewers in (1, VIEWERS):
            spent = watched_ms(client, path, every_s, viewers)
            case = f"{name}, {viewers} viewers"
            figure("console", case, "per_second_and_viewer", spent, "ms", at_most=VIEWER_MS)


def pages(rows: ConsoleRows) -> Iterator[tuple[str, str]]:
    for name in ("site", "queue", "jobs", "rounds", "money", "tenants", "what-if"):
        yield name, reverse(f"console:{name}")
    cluster = [rows.cluster.pk]
    yield "rack", reverse("console:rack", args=[*cluster, rows.node.rack_id])
    yield "node", reverse("console:node", args=[rows.node.pk])
    yield "job, running", reverse("console:job", args=[rows.running.pk])
    yield "job, waiting", reverse("console:job", args=[rows.waiting.pk])
    yield "round", reverse("console:round", args=[rows.round.pk])
    yield "tenant", reverse("console:tenant", args=[rows.running.tenant_id])
    yield "policy", reverse("console:policy", args=cluster)
    yield "power", reverse("console:power", args=cluster)
    yield "power curve", reverse("console:power-curve", args=cluster)
    yield "price curve", reverse("console:price-curve", args=cluster)


def parts(rows: ConsoleRows) -> Iterator[tuple[str, str, str]]:
    """Pages and the parts of them that live."""
    node, job = [rows.node.pk], [rows.running.pk]
    yield "site", reverse("console:site"), reverse("console:site-live")
    yield "queue", reverse("console:queue"), reverse("console:queue-live")
    yield "node", reverse("console:node", args=node), reverse("console:node-live", args=node)
    yield "job", reverse("console:job", args=job), reverse("console:job-live", args=job)


def asked_every_s(client: Client, page: str) -> float:
    ((_, every_s),) = live_parts(client.get(page).content.decode()).parts
    return every_s


def spent_ms(client: Client, path: str) -> float:
    """Without what is kept for other viewers."""
    kept.forget()
    return _asked_ms(client, path)


def _asked_ms(client: Client, path: str) -> float:
    began = time.perf_counter()
    answer = client.get(path)
    assert answer.status_code == 200, (path, answer.status_code)
    return (time.perf_counter() - began) * 1000


def watched_ms(client: Client, path: str, every_s: float, viewers: int) -> float:
    """As they come in real time, so that nothing is kept for longer than it would be.

    Milliseconds of CPU: neighbours on the machine would stretch those on the wall.
    """
    kept.forget()
    began, spent_ms, count = time.monotonic(), _cpu_ms(), 0
    pause_s = every_s / viewers
    while (due_s := count * pause_s) < max(SECONDS, 2 * every_s):
        time.sleep(max(0.0, began + due_s - time.monotonic()))
        _asked_ms(client, path)
        count += 1
    return (_cpu_ms() - spent_ms) / count / every_s


def _cpu_ms() -> float:
    """Of this process and of the one that serves its connection."""
    with connection.cursor() as cursor:
        # Helpers of a statement would be gone before anybody could ask what they used.
        cursor.execute("SET max_parallel_workers_per_gather = 0")
        cursor.execute("SELECT pg_backend_pid()")
        (serving,) = cursor.fetchone()
    used = psutil.Process(serving).cpu_times()
    return 1000 * (used.user + used.system + time.process_time())
