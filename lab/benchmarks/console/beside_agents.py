"""Many viewers beside many agents, on the real processes: whether the nodes are let down."""

import asyncio
import sys
import time
from collections.abc import Iterator

import psutil
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from jobs.models import Attempt
from lab.benchmarks.agents import fleet as fleets
from lab.benchmarks.agents.fleet import Fleet
from lab.benchmarks.agents.load import LoadSpan, emulated
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
    agents = len(fleet.agents)
    spread_s = agents / AGENTS_PER_S
    with emulated(service.door, fleet, spread_s=spread_s) as load:
        # All have opened their bells, and spoken at their pace.
        time.sleep(2 * spread_s + 10)
        calm, before_s = LoadSpan(time.time() - 10, time.time()), _api_cpu_s()
        measured = asyncio.run(
            watched(service.address, sessions, list(_pages(fleet)), arrive_s=ARRIVE_S,
                    seconds=seconds)
        )  # fmt: skip
        span, cpu_s = LoadSpan(time.time() - seconds, time.time()), _api_cpu_s() - before_s
        lost = fleets.falsely_lost(fleet)
    case = f"{len(sessions)} viewers beside {agents} agents"
    leases = Attempt.objects.filter(cluster=fleet.cluster).exclude(state="running").count()
    sys.stderr.write(f"# {case}: load of the machine {psutil.getloadavg()}\n")
    figure("console", case, "nodes_lost", lost, "nodes", at_most=0)
    figure("console", case, "leases_lost", leases, "attempts", at_most=0)
    figure("console", case, "sync_p99_before", _share(load.sync_ms(calm), 0.99), "ms")
    figure("console", case, "sync_p99", _share(load.sync_ms(span), 0.99), "ms",
           at_most=SYNC_P99_MS)  # fmt: skip
    figure("console", case, "syncs_not_200", load.answers_not_200(span), "answers")
    _report(case, measured)
    spent_ms = 1000 * cpu_s / (seconds + ARRIVE_S / 2) / len(sessions)
    figure("console", case, "api_per_second_and_viewer", spent_ms, "ms")
    fleets.retire(fleet)


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
