"""Nodes that run jobs, and the jobs: how many are lost, and how late they start."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from time import sleep
from typing import Any

import httpx

from jobs.models import Attempt, Job
from lab.benchmarks.harness.cluster import joinable
from lab.benchmarks.harness.service import EXAMPLES, BenchmarkService, EmulatedNode, agents
from lab.benchmarks.harness.waiting import ready_nodes, until

DEVICES = EXAMPLES / "nodes" / "a100x8.toml"


@contextmanager
def working(service: BenchmarkService, name: str, *, nodes: int) -> Iterator[httpx.Client]:
    """A cluster of so many emulated nodes, and a client of its tenant."""
    cluster = joinable(name, nodes=nodes, policy="fifo")
    members = [
        EmulatedNode(f"{name}-{number}", token, DEVICES)
        for number, token in enumerate(cluster.join_tokens)
    ]
    with service.client(cluster.tenant_token) as http, agents(members, service):
        until(lambda: ready_nodes(http) == nodes, "all nodes are there")
        yield http


def submit(http: httpx.Client, cluster: str, argv: list[str], key: str) -> int:
    """Until it is acknowledged: what fails is sent again under the same key."""
    body: dict[str, Any] = {"name": key, "cluster": cluster, "gpus": 1, "argv": argv}
    while True:
        try:
            answer = http.post("/api/v1/jobs/", json=body, headers={"Idempotency-Key": key})
        except httpx.TransportError:
            sleep(0.2)
            continue
        if answer.status_code == httpx.codes.CREATED:
            return int(answer.json()["id"])
        if answer.status_code < 500 and answer.status_code not in (409, 429):
            raise RuntimeError(answer.text)
        sleep(0.2)


def running(job_ids: list[int]) -> int:
    return Job.objects.filter(pk__in=job_ids, state="running").count()


def attempts(job_ids: list[int]) -> int:
    return Attempt.objects.filter(job__in=job_ids).count()


def starts_s(job_ids: list[int]) -> list[float]:
    """From submit to the first report that it runs."""
    rows = Job.objects.filter(pk__in=job_ids).values_list("submitted_at", "started_at")
    return [_seconds(submitted, started) for submitted, started in rows if started is not None]


def _seconds(begun: datetime, ended: datetime) -> float:
    return (ended - begun).total_seconds()
