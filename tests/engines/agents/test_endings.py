"""Ends of one sync are recorded together, and exactly as they would be one by one."""

from datetime import timedelta
from operator import attrgetter
from typing import Any

import pytest
from django.db import models

from agent.wire import AttemptEnergy, Speed
from clusters.models import Node
from energy.models import Meter
from engines.agents import endings, incoming
from engines.agents.endings import EndedWell
from jobs.models import Allocation, Attempt, Job, JobEvent, Part
from jobs.services.cancel import job_cancel
from scheduler_service.factories import NOW, make_cluster, make_jobs, make_tenant
from scheduling.round import run_round
from tenancy.callers import SYSTEM
from tenancy.models import Tenant
from tests.engines.agents.nodes import Agent, join

pytestmark = pytest.mark.django_db

TABLES: tuple[type[models.Model], ...] = (Job, Attempt, Part, Allocation, Node, Tenant, Meter)
# Numbers of rows and sequences, names, and when a row was written by the clock of the wall.
NUMBERED = frozenset({"id", "fence", "round_id", "created_at", "updated_at", "submitted_at"})
# Not by their own numbers: a round draws those of many rows in one statement, in any order.
BY_JOB: dict[type[models.Model], tuple[str, ...]] = {
    Job: ("pk",), Attempt: ("job",), Node: ("name",), Tenant: ("name",)
}  # fmt: skip
NAMED = frozenset({"name", "display_name", "install_id", "address"})


def _jobs_end(cluster_name: str) -> Agent:
    """One of three has told that it runs; all end with one sync, and one of them not well."""
    cluster = make_cluster(cluster_name)
    agent = join(cluster, f"{cluster_name}-node", gpus=4)
    tenants = [make_tenant(f"{cluster_name}-{name}") for name in ("a", "b")]
    make_jobs(cluster, tenants, 4, min_gpus=1, max_gpus=1)
    run_round(cluster.pk, now=NOW)
    told, *others, fails = sorted(agent.sync().attempts, key=attrgetter("job_id"))
    agent.running(told, progress_step=7, speed=Speed(steps=9, steps_s=3.0, cpus=1))
    agent.sync(now=NOW + timedelta(seconds=1))
    for attempt in (told, *others):
        (uuid,) = attempt.gpu_uuids
        energy = (AttemptEnergy(uuid, 1_000, 5_000),)
        agent.ended(attempt, energy=energy, ran_s=4.0, ended_age_s=0.5, detail="exit code 0",
                    progress_step=8, log_bytes_dropped=3)  # fmt: skip
    agent.ended(fails, exit_code=3, detail="exit code 3")
    agent.sync(now=NOW + timedelta(seconds=5))
    return agent


def _rows(cluster_name: str) -> list[Any]:
    """All that is known of the cluster's jobs, without what only counts rows."""
    found: list[Any] = []
    for table in TABLES:
        ours = {
            Node: {"cluster__name": cluster_name},
            Tenant: {"name__startswith": cluster_name},
            Job: {"cluster__name": cluster_name},
            Attempt: {"cluster__name": cluster_name},
        }.get(table, {"attempt__cluster__name": cluster_name})
        names = [
            field.name
            for field in table._meta.concrete_fields
            if field.name not in NUMBERED | NAMED and not field.is_relation
        ]
        rows = table._default_manager.filter(**ours).order_by(*BY_JOB.get(table, ("attempt__job",)))
        found += [(table.__name__, *row) for row in rows.values_list(*names)]
    events = JobEvent.objects.filter(job__cluster__name=cluster_name).order_by("job_id", "id")
    events = events.exclude(to_state="placed")  # which names its round
    return [*found, *events.values_list("from_state", "to_state", "reason", "detail", "at")]


def test_ends_of_one_sync_are_recorded_as_they_would_be_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    together = []

    def noted(*args: Any) -> EndedWell:
        together.append(endings.attempts_succeed(*args))
        return together[-1]

    monkeypatch.setattr(incoming, "attempts_succeed", noted)
    _jobs_end("many")
    assert [len(each.attempt_ids) for each in together] == [3]

    monkeypatch.setattr(incoming, "attempts_succeed", lambda *_: EndedWell())
    _jobs_end("ones")
    assert _rows("many") == _rows("ones")


def test_a_reading_that_reaches_into_another_of_the_same_sync_is_refused() -> None:
    cluster = make_cluster()
    agent = join(cluster, "n1", gpus=1)
    make_jobs(cluster, make_tenant(), 1)
    run_round(cluster.pk, now=NOW)
    (wanted,) = agent.sync().attempts
    (uuid,) = wanted.gpu_uuids
    twice = (AttemptEnergy(uuid, 1_000, 5_000), AttemptEnergy(uuid, 2_000, 6_000))
    agent.ended(wanted, energy=twice, ran_s=4.0)
    agent.sync(now=NOW + timedelta(seconds=5))
    assert [meter.now_mj for meter in Meter.objects.all()] == [5_000]
    assert Node.objects.get().samples_refused == 1


def test_a_job_whose_cancel_was_asked_for_is_cancelled_however_it_ends() -> None:
    cluster = make_cluster()
    agent = join(cluster, "n1", gpus=1)
    (job,) = make_jobs(cluster, make_tenant(), 1)
    run_round(cluster.pk, now=NOW)
    (wanted,) = agent.sync().attempts
    agent.running(wanted)
    agent.sync()
    job_cancel(caller=SYSTEM, job_id=job.pk, now=NOW)
    agent.ended(wanted)
    agent.sync()
    assert Job.objects.get(pk=job.pk).state == "cancelled"
