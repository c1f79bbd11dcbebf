"""What emulated agents show: the crowd, a submit, an order to all, and a flood of jobs."""

import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

import httpx
from django.utils import timezone

from jobs.models import Attempt
from lab.benchmarks.agents import fleet as fleets
from lab.benchmarks.agents.fleet import GPUS, Fleet
from lab.benchmarks.agents.load import LoadSpan, door_cpu_s, emulated
from lab.benchmarks.figures import figure
from lab.benchmarks.harness.service import BenchmarkService
from lab.benchmarks.harness.waiting import until

P99_MS, START_P95_S, ORDER_S, FLOOD_S = 250, 1.0, 5.0, 60.0
MEASURE_S = 30.0
SUBMITS, SUBMIT_PAUSE_S = 60, 0.5
BULK = 1000


def crowd(service: BenchmarkService, count: int) -> None:
    """Half of the nodes have an attempt that reports progress with every sync."""
    fleet, case = (
        fleets.build(f"crowd-{count}", count, timezone.now(), at_work=2),
        f"{count} agents",
    )
    spread_s = count / 250
    with emulated(service.door, fleet, spread_s=spread_s) as load:
        # All have opened their bells, and spoken at their pace.
        time.sleep(2 * spread_s + 5)
        from_s, cpu_s = time.time(), door_cpu_s()
        time.sleep(MEASURE_S)
        span, cpu_s = LoadSpan(from_s, time.time()), door_cpu_s() - cpu_s
        lost = fleets.falsely_lost(fleet)
    syncs = load.sync_ms(span)
    uploaded = sum(samples for at_s, samples in load.rows("uploads") if at_s in span)
    figure("agents", case, "sync_p50_ms", _share(syncs, 0.5), "ms")
    figure("agents", case, "sync_p99_ms", _share(syncs, 0.99), "ms", at_most=P99_MS)
    figure("agents", case, "syncs_per_s", len(syncs) / MEASURE_S, "syncs/s")
    figure("agents", case, "samples_taken_per_s", uploaded / MEASURE_S, "samples/s")
    figure("agents", case, "samples_kept", fleets.samples_kept(fleet), "samples")
    figure("agents", case, "falsely_lost", lost, "nodes", at_most=0)
    figure("agents", case, "answers_not_200", load.answers_not_200(span), "answers")
    figure("agents", case, "door_cpu_ms_per_sync", 1000 * cpu_s / max(1, len(syncs)), "ms")
    fleets.retire(fleet)


def starts(service: BenchmarkService, count: int) -> None:
    """From a submit over HTTP until the agent of the chosen node knows of it."""
    fleet, case = fleets.build(f"starts-{count}", count, timezone.now()), f"{count} nodes"
    fleets.tenant()
    submitted: dict[int, float] = {}
    with (
        emulated(service.door, fleet, telemetry=False) as load,
        service.client(fleet.operator_token) as http,
    ):
        time.sleep(10)
        for _ in range(SUBMITS):
            begun_s = time.time()
            submitted[_submit(http, fleet, 1)[0]] = begun_s
            time.sleep(SUBMIT_PAUSE_S)
        _until_running(http, fleet, SUBMITS)
        lost = fleets.falsely_lost(fleet)
    known = load.started
    taken_s = sorted(known[job] - begun_s for job, begun_s in submitted.items())
    figure("agents", case, "start_p50_s", _share(taken_s, 0.5), "s")
    figure("agents", case, "start_p95_s", _share(taken_s, 0.95), "s", at_most=START_P95_S)
    figure("agents", case, "falsely_lost", lost, "nodes", at_most=0)
    fleets.retire(fleet)


def order(service: BenchmarkService, count: int) -> None:
    """From a power budget over HTTP until every node knows its new clock, or what to stop."""
    now, case = timezone.now(), f"{count} nodes"
    fleet = fleets.build(f"order-{count}", count, now, at_work=1, policy="powerflow")
    with (
        emulated(service.door, fleet, telemetry=False) as load,
        service.client(fleet.operator_token) as http,
    ):
        time.sleep(10)
        begun_s, ordered_at = time.time(), timezone.now()
        _order_a_third(http, fleet)
        with suppress(TimeoutError):
            until(lambda: not _untouched(fleet, ordered_at), "all are ordered", longest_s=60)
        sys.stderr.write(f"{_untouched(fleet, ordered_at)} of {count} without a new clock, ")
        sys.stderr.write(f"{fleets.falsely_lost(fleet)} nodes not ready\n")
        # What was written last is rung by then, or told by an ordinary sync.
        time.sleep(15)
    reached = {attempt: at_s for at_s, attempt in load.rows("orders") if at_s >= begun_s}
    figure("agents", case, "reached", len(reached), "nodes", at_least=count)
    reach_s = max(reached.values(), default=begun_s + 3600) - begun_s
    figure("agents", case, "order_reach_s", reach_s, "s", at_most=ORDER_S)
    fleets.retire(fleet)


def flood(service: BenchmarkService, count: int) -> None:
    """One job per GPU of the cluster, submitted at once, until all run and the service knows."""
    jobs = count * GPUS
    fleet = fleets.build(f"flood-{count}", count, timezone.now())
    case = f"{jobs} jobs on {count} nodes"
    fleets.tenant()
    with (
        emulated(service.door, fleet, telemetry=False) as load,
        service.client(fleet.operator_token) as http,
    ):
        time.sleep(5)
        begun_s = time.time()
        for first in range(0, jobs, BULK):
            _submit(http, fleet, min(BULK, jobs - first))
        submitted_s = time.time() - begun_s
        _until_running(http, fleet, jobs)
        known_s = time.time() - begun_s
        lost = fleets.falsely_lost(fleet)
    told_s = max(load.started.values()) - begun_s
    figure("agents", case, "submitted_s", submitted_s, "s")
    figure("agents", case, "all_told_s", told_s, "s")
    figure("agents", case, "all_running_s", known_s, "s", at_most=FLOOD_S)
    figure("agents", case, "falsely_lost", lost, "nodes", at_most=0)
    fleets.retire(fleet)


def _submit(http: httpx.Client, fleet: Fleet, jobs: int) -> list[int]:
    job = {"name": "bench", "cluster": fleet.cluster.name, "tenant": "bench", "gpus": 1,
           "argv": ["true"]}  # fmt: skip
    body = job if jobs == 1 else {"jobs": [job] * jobs}
    path = "/api/v1/jobs/" if jobs == 1 else "/api/v1/jobs/bulk/"
    made = http.post(path, json=body).raise_for_status().json()
    return [made["id"]] if jobs == 1 else [each["id"] for each in made["items"]]


def _until_running(http: httpx.Client, fleet: Fleet, jobs: int) -> None:
    running = Attempt.objects.filter(cluster=fleet.cluster, state="running")
    until(lambda: running.count() >= jobs, f"{jobs} jobs run", jobs_at=http, pause_s=0.1)


def _order_a_third(http: httpx.Client, fleet: Fleet) -> None:
    """Of what the GPUs could draw: nobody goes on as before."""
    watts = len(fleet.agents) * GPUS * 400 // 3
    body = {"watts": watts, "reason": "the grid asks", "dry_run": False}
    path = f"/api/v1/clusters/{fleet.cluster.pk}/power-budget/"
    http.post(path, json=body).raise_for_status()


def _untouched(fleet: Fleet, ordered_at: datetime) -> int:
    running = Attempt.objects.filter(cluster=fleet.cluster, state="running")
    return running.exclude(clock_at__gte=ordered_at).count()


def _share(ascending: Sequence[float], share: float) -> float:
    return ascending[round(share * (len(ascending) - 1))] if ascending else float("inf")
