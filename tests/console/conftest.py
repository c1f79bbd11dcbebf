"""The world of tests/jobs, with people who sign in, and a row of hostile words in every table."""

from dataclasses import dataclass

import pytest
from django.contrib.auth.models import User
from django.test import Client

from clusters.models import Node
from console import kept
from jobs.models import Attempt, Job, Log, LogChunk
from scheduler_service.factories import NOW, hold, make_jobs
from scheduling.models import Round
from scheduling.round import decide
from tenancy.models import Membership, Tenant
from tests.jobs.conftest import World, member, operator, stranger, submit, world
from tests.whatif.conftest import Messages, messages

__all__ = ["Messages", "World", "member", "messages", "operator", "stranger", "submit", "world"]

HOSTILE = """'\"></pre><script>alert(1)</script><img src=x onerror=alert(1)>&"""


def signed_in(name: str, tenant: Tenant | None = None, role: str = "member") -> Client:
    """Staff without a tenant."""
    person = User.objects.create_user(name, password="x", is_staff=tenant is None)
    if tenant is not None:
        Membership.objects.create(user=person, tenant=tenant, role=role)
    client = Client(raise_request_exception=False)
    client.force_login(person)
    return client


@pytest.fixture(autouse=True)
def _nothing_is_kept() -> None:
    kept.forget()


@pytest.fixture
def staff(world: World) -> Client:
    return signed_in("root")


@pytest.fixture
def ours(world: World) -> Client:
    return signed_in("ada", world.ours, "admin")


@pytest.fixture
def theirs(world: World) -> Client:
    return signed_in("eve", world.theirs)


@dataclass
class Work:
    waiting: Job
    held: Attempt
    log: Log
    round: Round
    node: Node


@pytest.fixture
def work(world: World) -> Work:
    """A job that waits, one that holds GPUs and prints, and a round that says so."""
    (waiting,) = make_jobs(
        world.cluster, world.ours, 1, min_gpus=64, max_gpus=64, labels={"team": HOSTILE}
    )
    Job.objects.filter(pk=waiting.pk).update(name=HOSTILE)
    entry = decide(world.cluster.pk, now=NOW)
    assert entry is not None
    attempt = hold(world.ours, world.nodes[0], 2)
    Job.objects.filter(pk=attempt.job_id).update(name=HOSTILE)
    Tenant.objects.filter(pk=world.ours.pk).update(display_name=HOSTILE)
    log = Log.objects.create(
        tenant=world.ours,
        attempt=attempt,
        node=world.nodes[0],
        stream="stdout",
        size=len(HOSTILE),
        updated_at=NOW,
    )
    LogChunk.objects.create(tenant=world.ours, log=log, offset=0, data=HOSTILE.encode())
    Node.objects.filter(pk=world.nodes[1].pk).update(state="lost", state_reason=HOSTILE)
    return Work(waiting, attempt, log, entry, world.nodes[0])
