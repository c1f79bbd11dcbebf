"""Four processes schedule one cluster at once, and the database alone keeps them apart."""

import os
import subprocess
import sys
from collections import Counter
from datetime import timedelta

import pytest
from django.db import connection
from psycopg.conninfo import make_conninfo

from clusters.models import Node
from jobs.models import Allocation, Attempt, Job
from scheduler_service.factories import (
    NOW,
    make_cluster,
    make_gpu_type,
    make_jobs,
    make_nodes,
    make_tenant,
)
from tenancy.models import Tenant

RACERS = [
    ("fifo", "pack"),
    ("sjf", "spread"),
    ("edf", "consolidate"),
    ("priority", "spread"),
]
JOBS = 1000


def _environment() -> dict[str, str]:
    database = connection.settings_dict
    url = make_conninfo(
        dbname=database["NAME"],
        user=database["USER"],
        password=database["PASSWORD"],
        host=database["HOST"],
        port=database["PORT"] or None,
    )
    return {
        **os.environ,
        "DATABASE_URL": url,
        "DJANGO_SETTINGS_MODULE": "scheduler_service.settings",
    }


def _race(cluster_id: int) -> list[int]:
    """Let all plan from the same snapshot, then apply at once; return each one's stale entries."""
    racers = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.scheduling.racer", str(cluster_id), *racer],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=_environment(),
            text=True,
        )
        for racer in RACERS
    ]
    try:
        for racer in racers:
            assert racer.stdout is not None
            assert racer.stdout.readline() == "loaded\n"
        for racer in racers:
            assert racer.stdin is not None
            racer.stdin.write("go\n")
            racer.stdin.flush()
        return [int(racer.communicate(timeout=120)[0]) for racer in racers]
    finally:
        for racer in racers:
            racer.kill()
            racer.communicate()


@pytest.mark.process
@pytest.mark.django_db(transaction=True)
def test_no_gpu_is_booked_twice_and_no_job_is_lost() -> None:
    cluster = make_cluster()
    tenants = [make_tenant(f"t{number}") for number in range(4)]
    make_nodes(cluster, make_gpu_type(), JOBS // 8)
    jobs = make_jobs(cluster, tenants, JOBS)
    # Each policy ranks by another column, so that the racers want the same GPUs for other jobs.
    for number, job in enumerate(jobs):
        job.priority = number * 37 % 101
        job.deadline_at = NOW + timedelta(seconds=number * 7919 % JOBS)
        job.estimated_run_s = 1 + number * 104_729 % JOBS
    Job.objects.bulk_update(jobs, ["priority", "deadline_at", "estimated_run_s"])

    stale = _race(cluster.pk)

    holders = Counter(Allocation.objects.filter(released_at=None).values_list("gpu_id", flat=True))
    assert [gpu for gpu, count in holders.items() if count > 1] == []
    assert len(holders) == JOBS
    assert Job.objects.filter(state="placed").count() == JOBS
    assert Attempt.objects.count() == JOBS
    assert sum(Tenant.objects.values_list("gpus_in_use", flat=True)) == JOBS
    assert sum(Node.objects.values_list("cpus_used", flat=True)) == JOBS
    assert sum(stale) > 0, "the racers never met, so the test showed nothing"
