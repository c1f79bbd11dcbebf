"""What must not happen is refused by the database itself, whatever the code above it does."""

from collections.abc import Callable

import psycopg
import pytest
from django.db import IntegrityError, connection, transaction

from jobs.attempts import attempts_end
from jobs.lifecycle import State, advance
from jobs.models import Allocation, Attempt, GpuQuota, Job
from scheduler_service.factories import NOW, hold, make_jobs
from tenancy.models import Tenant
from tests.jobs.conftest import World


@pytest.fixture
def held(world: World) -> Attempt:
    """Of our tenant, on the first GPU of the first node."""
    return hold(world.ours, world.nodes[0])


def refused(act: Callable[[], object]) -> str:
    """The name of the promise that `act` would break, be it at once or at the commit."""

    @transaction.atomic
    def committed() -> None:
        act()
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")

    with pytest.raises(IntegrityError) as caught:
        committed()
    cause = caught.value.__cause__
    assert isinstance(cause, psycopg.Error)
    return str(cause.diag.constraint_name)


def test_a_gpu_has_one_holder(world: World, held: Attempt) -> None:
    taken = Allocation.objects.get(attempt=held)
    other = hold(world.theirs, world.nodes[1])

    def take() -> None:
        Allocation.objects.filter(attempt=other).update(gpu=taken.gpu_id, node=taken.node_id)

    assert refused(take) == "one_holder_per_gpu"
    Allocation.objects.filter(pk=taken.pk).update(released_at=NOW)
    take()


def test_a_job_has_one_live_attempt(held: Attempt) -> None:
    def try_again() -> None:
        held.pk, held.number, held.fence = None, 2, held.fence + 1
        held.save(force_insert=True)

    assert refused(try_again) == "one_live_attempt_per_job"


def test_a_fence_only_grows(held: Attempt) -> None:
    mine = Attempt.objects.filter(pk=held.pk)
    mine.update(fence=held.fence + 1)
    assert refused(lambda: mine.update(fence=held.fence)) == "attempt_fence_grows"


@pytest.mark.parametrize("end", [Attempt.State.ENDED, Attempt.State.LOST])
def test_an_end_is_final(held: Attempt, end: Attempt.State) -> None:
    mine = Attempt.objects.filter(pk=held.pk)
    mine.update(state=end, ended_at=NOW)
    again = {"state": Attempt.State.RUNNING, "ended_at": None}
    assert refused(lambda: mine.update(**again)) == "attempt_fence_grows"


def test_an_attempt_ends_once_and_gives_back_once(world: World, held: Attempt) -> None:
    Tenant.objects.filter(pk=world.ours.pk).update(gpus_in_use=1)

    def end() -> list[int]:
        return attempts_end([held.pk], state=Attempt.State.ENDED, reason="exit_0", now=NOW)

    assert [end(), end()] == [[held.pk], []]
    world.nodes[0].refresh_from_db()
    assert world.nodes[0].gpus_in_use == 0


def test_an_attempt_is_of_its_jobs_tenant(world: World, held: Attempt) -> None:
    (theirs,) = make_jobs(world.cluster, world.theirs, 1)

    def steal() -> None:
        Attempt.objects.filter(pk=held.pk).update(job=theirs)

    assert refused(steal) == "jobs_attempt_job_of_tenant"
    assert Job.objects.get(attempt=held.pk).tenant_id == world.ours.pk


def test_no_more_is_in_use_than_a_quota_allows(world: World) -> None:
    quota = GpuQuota.objects.create(
        tenant=world.ours, gpu_type=world.nodes[0].gpu_type, gpus=2, gpus_in_use=2
    )
    mine = GpuQuota.objects.filter(pk=quota.pk)
    assert refused(lambda: mine.update(gpus_in_use=3)) == "gpu_quota_within"


def test_a_job_is_moved_only_from_where_it_is_expected(world: World) -> None:
    (job,) = make_jobs(world.cluster, world.ours, 1, state=State.RUNNING)
    moved = advance([job.pk], sources=[State.QUEUED], to=State.CANCELLED, reason="late", now=NOW)
    assert moved == []
    job.refresh_from_db()
    assert job.state == State.RUNNING
