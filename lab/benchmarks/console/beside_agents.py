"""Many viewers beside many agents, on the real processes: whether the nodes are let down."""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import psutil
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from jobs.models import Attempt
from lab.benchmarks.agents import fleet as fleets
from lab.benchmarks.agents.fleet import Fleet
from lab.benchmarks.agents.load import Load, LoadSpan, emulated
from lab.benchmarks.console.viewers import MeasuredPages, watched
from lab.benchmarks.figures import figure
from lab.benchmarks.harness.service import BenchmarkService, stack
from scheduler_service.factories import make_jobs

WAITING = 5_000
SYNC_P99_MS, PAGE_MS = 250.0, 1000.0
AGENTS_PER_S = 250
ARRIVE_S = 30.0


def beside_agents(database_url: str, viewers: int, agents: int, seconds: float) -> None:
    """Every node works for a job that reports progress, and more wait than there is room for."""
    now = timezone.now()
    fleet = fleets.build(f"viewers-{agents}", agents, now, at_work=1)
    make_jobs(fleet.cluster, fleets.tenant(), WAITING, submitted_at=now)
    sessions = [_session(number) for number in range(viewers)]
    with stack(database_url) as service:
        _scene(service, fleet, sessions, seconds)


def _scene(service: BenchmarkService, fleet: Fleet, sessions: list[str], seconds: float) -> None:
    """As long without viewers before: what the machine does to the nodes is not theirs."""
    agents = len(fleet.agents)
    spread_s = agents / AGENTS_PER_S
    with emulated(service.door, fleet, spread_s=spread_s) as load:
        # All have opened their bells, and spoken at their pace.
        time.sleep(2 * spread_s + 5)
        time.sleep(seconds)
        alone = _ends_now(fleet, seconds)
        cpu_s = _api_cpu_s()
        pages = list(_pages(fleet))
        measured = asyncio.run(
            watched(service.address, sessions, pages, arrive_s=ARRIVE_S, seconds=seconds)
        )
        beside, cpu_s = _ends_now(fleet, seconds), _api_cpu_s() - cpu_s
    _nodes(f"{agents} agents alone", load, alone)
    case = f"{len(sessions)} viewers beside {agents} agents"
    _nodes(case, load, beside)
    _report(case, measured)
    spent_ms = 1000 * cpu_s / (seconds + ARRIVE_S / 2) / len(sessions)
    figure("console", case, "api_per_second_and_viewer", spent_ms, "ms")
    fleets.retire(fleet)


class NodesThen(NamedTuple):
    span: LoadSpan
    not_ready: int
    leases_lost: int
    load: float
    """Of the machine: what else ran on it."""


def _ends_now(fleet: Fleet, seconds: float) -> NodesThen:
    ends_s = time.time()
    held = Attempt.objects.filter(cluster=fleet.cluster)
    return NodesThen(
        LoadSpan(ends_s - seconds, ends_s),
        fleets.falsely_lost(fleet),
        held.exclude(state=Attempt.State.RUNNING).count(),
        psutil.getloadavg()[0],
    )


def _nodes(case: str, load: Load, then: NodesThen) -> None:
    syncs = load.sync_ms(then.span)
    figure("console", case, "nodes_lost", then.not_ready, "nodes", at_most=0)
    figure("console", case, "leases_lost", then.leases_lost, "attempts", at_most=0)
    figure("console", case, "sync_p50", _share(syncs, 0.5), "ms")
    figure("console", case, "sync_p99", _share(syncs, 0.99), "ms", at_most=SYNC_P99_MS)
    figure("console", case, "answers_not_200", load.answers_not_200(then.span), "answers")
    figure("console", case, "load_of_the_machine", then.load, "processes")
    told = Counter(text for at_s, text in load.rows("answers") if at_s in then.span)
    sys.stderr.write(f"# {case}: {dict(told)}\n")


def _report(case: str, measured: MeasuredPages) -> None:
    for kind in ("page", "part", "curve"):
        taken_ms = sorted(getattr(measured, f"{kind}_ms"))
        figure("console", case, f"{kind}s_answered", len(taken_ms), "answers")
        figure("console", case, f"{kind}_p95", _share(taken_ms, 0.95), "ms", at_most=PAGE_MS)
    figure("console", case, "pages_not_200", measured.not_200, "answers", at_most=0)


def _session(number: int) -> str:
    """Of an operator each."""
    browser = Client(SERVER_NAME="localhost")
    browser.force_login(User.objects.create_user(f"viewer-{number}", is_staff=True))
    return str(browser.session.session_key)


def _pages(fleet: Fleet) -> Iterator[str]:
    """A quarter of the viewers looks at each."""
    held = Attempt.objects.filter(cluster=fleet.cluster, state="running").earliest("pk")
    yield reverse("console:site")
    yield reverse("console:queue")
    yield reverse("console:node", args=[held.parts.earliest("pk").node_id])
    yield reverse("console:job", args=[held.job_id])


def _api_cpu_s() -> float:
    """Of the API's processes, which this one has started and nobody but viewers asks."""
    used = 0.0
    for process in psutil.Process().children(recursive=True):
        if "scheduler_service.api:application" in process.cmdline():
            times = process.cpu_times()
            used += times.user + times.system
    return used


def _share(ascending: list[float], share: float) -> float:
    return ascending[round(share * (len(ascending) - 1))] if ascending else float("inf")
