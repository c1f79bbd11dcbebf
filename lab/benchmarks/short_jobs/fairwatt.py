"""Short jobs on Fairwatt: the stack of `make up` with four agents, asked over HTTP."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import httpx

from jobs.lifecycle import TERMINAL
from jobs.models import Job
from lab.benchmarks.harness.cluster import joinable
from lab.benchmarks.harness.service import stack
from lab.benchmarks.harness.waiting import ready_nodes, until
from lab.benchmarks.short_jobs.cost import Cost, cost_of

CLUSTER = "short"
NODES, CLIENTS = 4, 4
BODY = {"name": "true", "cluster": CLUSTER, "gpus": 1, "argv": ["true"]}


def measure(database_url: str, jobs: int, singles: int) -> Cost:
    # All of them come from one tenant within a minute.
    os.environ["THROTTLE_PER_MINUTE"] = "1000000"
    made = joinable(CLUSTER, nodes=NODES, round_interval_s=5)
    nodes = [
        {"name": f"node-{number}", "devices": "a100x8", "join_token": token}
        for number, token in enumerate(made.join_tokens, 1)
    ]
    with stack(database_url, nodes) as service, service.client(made.tenant_token) as http:
        until(lambda: ready_nodes(http) == NODES, "its nodes are ready")
        for _ in range(2):  # what is loaded at first use is loaded
            _run(http, 2 * NODES)
        starts_s = sorted(_start_s(http) for _ in range(singles))
        cost = cost_of(jobs, lambda: _run(http, jobs))
    return replace(cost, starts_s=tuple(starts_s))


def _run(http: httpx.Client, jobs: int) -> None:
    """Submit them one by one, and wait until all have ended."""
    with ThreadPoolExecutor(CLIENTS) as clients:
        list(clients.map(lambda _: http.post("/api/v1/jobs/", json=BODY).raise_for_status(),
                         range(jobs)))  # fmt: skip
    until(_all_over, "all jobs have ended", jobs_at=http, pause_s=0.1)


def _start_s(http: httpx.Client) -> float:
    """Until the service knows that it runs, as the job itself says afterwards."""
    begun_s = time.time()
    job = http.post("/api/v1/jobs/", json=BODY).raise_for_status().json()
    until(_all_over, "the job has ended", jobs_at=http, pause_s=0.05)
    started_at = Job.objects.values_list("started_at", flat=True).get(pk=job["id"])
    assert started_at is not None
    return started_at.timestamp() - begun_s


def _all_over() -> bool:
    return not Job.objects.exclude(state__in=TERMINAL).exists()
