"""Pages ask the database as often for many rows as for few."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from console.reads.machines import GPUS_IN_SIGHT
from scheduler_service.factories import make_gpu_type, make_jobs, make_nodes, make_tenant
from tests.console.conftest import Work
from tests.jobs.conftest import World

LISTS = ("site", "queue", "jobs", "rounds", "money", "tenants", "what-if")


def queries(client: Client, path: str) -> int:
    with CaptureQueriesContext(connection) as seen:
        assert client.get(path).status_code == 200
    return len(seen)


@pytest.mark.parametrize("name", LISTS)
def test_as_many_queries_for_many_rows(name: str, staff: Client, work: Work, world: World) -> None:
    path = reverse(f"console:{name}")
    few = queries(staff, path)
    make_jobs(world.cluster, [world.ours, world.theirs], 120)
    make_nodes(world.cluster, make_gpu_type("A100"), 40, gpus=4, prefix="m")
    for number in range(60):
        make_tenant(f"t{number}")
    assert queries(staff, path) <= few
    assert few <= 30


def test_many_gpus_are_shown_by_rack(staff: Client, world: World) -> None:
    make_nodes(world.cluster, make_gpu_type("A100"), GPUS_IN_SIGHT // 8, gpus=8, prefix="m")
    shown = staff.get(reverse("console:site")).content
    assert b'class="rack' in shown
    assert b'class="node' not in shown


def test_pages_follow_one_another(staff: Client, world: World) -> None:
    jobs = make_jobs(world.cluster, world.ours, 51)
    path = reverse("console:queue")
    assert f"after={jobs[49].pk}".encode() in staff.get(path).content
    last = staff.get(path, {"after": jobs[49].pk}).content
    assert reverse("console:job", args=[jobs[50].pk]).encode() in last
    assert b"Next page" not in last
