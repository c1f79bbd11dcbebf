"""What the webhooks' trigger and the index of tenants' events cost those who submit in bulk."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter, thread_time
from typing import NamedTuple

import psutil
from django.db import connection, transaction
from django.utils import timezone

from jobs.services.submit import jobs_submit_bulk
from lab.benchmarks.api import rows
from lab.benchmarks.figures import figure
from tenancy.callers import SYSTEM
from webhooks.services import webhook_create

JOBS, BULK, TURNS = 10_000, 1000, 5
ITEM = {"name": "train", "tenant": "acme", "cluster": "demo", "argv": ["true"], "gpus": 1}
TRIGGER = "ALTER TABLE jobs_jobevent {} TRIGGER webhooks_jobevent_enqueues"
DROP_INDEX = "DROP INDEX event_by_tenant"
MAKE_INDEX = "CREATE INDEX event_by_tenant ON jobs_jobevent (tenant_id, id)"
CPU_RATIO = 1.1


class Spent(NamedTuple):
    """CPU of the submitter and of its Postgres; neighbours on the machine stretch the wall's."""

    cpu_s: float
    wall_s: float


def main(_: str) -> None:
    made = rows.build()
    backend = psutil.Process(_backend_pid())
    submitted(backend)
    # In turns, so that whatever slows the machine, and the growing table, slow all alike.
    with_both, without = [], []
    for _turn in range(TURNS):
        with_both.append(submitted(backend))
        with neither():
            without.append(submitted(backend))
    webhook_create(SYSTEM, {"tenant_id": made.tenant, "url": "https://x.example/"}, timezone.now())
    told = [submitted(backend) for _ in range(TURNS)]
    _report({"trigger and index": with_both, "neither": without, "one webhook too": told})


def _report(cases: dict[str, list[Spent]]) -> None:
    least = {
        name: Spent(min(each.cpu_s for each in all_), min(each.wall_s for each in all_))
        for name, all_ in cases.items()
    }
    for name, spent in least.items():
        case = f"bulk submit of {JOBS}, {name}"
        figure("event_costs", case, "cpu", spent.cpu_s, "s")
        figure("event_costs", case, "wall", spent.wall_s, "s")
    for name in ("trigger and index", "one webhook too"):
        ratio = least[name].cpu_s / least["neither"].cpu_s
        bar = CPU_RATIO if name == "trigger and index" else None
        figure("event_costs", f"{name} over neither", "cpu", ratio, "ratio", at_most=bar)


def submitted(backend: psutil.Process) -> Spent:
    items = [dict(ITEM) for _ in range(BULK)]
    began_s, began_cpu_s = perf_counter(), _cpu_s(backend)
    for _ in range(JOBS // BULK):
        with transaction.atomic():
            results = jobs_submit_bulk(caller=SYSTEM, items=items, now=timezone.now())
        if problem := next((each.problem for each in results if each.problem), None):
            raise problem
    return Spent(_cpu_s(backend) - began_cpu_s, perf_counter() - began_s)


@contextmanager
def neither() -> Iterator[None]:
    _execute(TRIGGER.format("DISABLE"), DROP_INDEX)
    try:
        yield
    finally:
        _execute(TRIGGER.format("ENABLE"), MAKE_INDEX)


def _execute(*statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def _backend_pid() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        pid: int = cursor.fetchone()[0]
    return pid


def _cpu_s(backend: psutil.Process) -> float:
    """Of this thread alone: another speaks to the broker."""
    return thread_time() + sum(backend.cpu_times()[:2])
