"""What nodes can and whose they are reaches every policy, and no plan goes around it."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction

from clusters.models import Cluster, GpuType, Node
from jobs.models import Allocation, Attempt, Job
from policies.contract.invariants import check_plan
from policies.registry import build, policy_names
from scheduler_service.factories import (
    NOW,
    hold,
    make_cluster,
    make_gpu_type,
    make_jobs,
    make_nodes,
    make_tenant,
)
from scheduling.explain import explain
from scheduling.round import run_round
from scheduling.snapshot.load import load_snapshot
from tenancy.models import Tenant

pytestmark = pytest.mark.django_db

OLD: dict[str, Any] = {"container_tool": "", "workloads": False, "git": False}
GIT: dict[str, Any] = {"git_url": "https://git.example/a.git", "git_commit": "cd" * 20}
OPEN: dict[str, Any] = {"wall": "none"}


def snapshot(cluster: Cluster) -> Any:
    return load_snapshot(cluster, now=NOW, seed=1)


def occupy(tenant: Tenant, node: Node) -> None:
    attempt = hold(tenant, node)
    Job.objects.filter(pk=attempt.job_id).update(state="placed", placed_at=NOW)


def nodes_of(job: Job) -> set[int]:
    return set(Allocation.objects.filter(attempt__job=job).values_list("node_id", flat=True))


def test_where_nodes_are_alike_nothing_changes() -> None:
    cluster, kind = make_cluster(), make_gpu_type()
    make_nodes(cluster, kind, 2)
    make_jobs(cluster, make_tenant(), 2, image="train:1")
    seen = snapshot(cluster)
    assert (len(seen.gpu_types), seen.nodes.gpu_type.tolist()) == (1, [0, 0])
    assert seen.jobs.gpu_types.tolist() == [2**64 - 1] * 2


def test_a_node_that_cannot_becomes_a_type_of_its_own() -> None:
    cluster, kind = make_cluster(), make_gpu_type()
    make_nodes(cluster, kind, 1, prefix="old", **OLD)
    make_nodes(cluster, kind, 1, prefix="new")
    tenant = make_tenant()
    make_jobs(cluster, tenant, 1)
    make_jobs(cluster, tenant, 1, image="train:1")
    seen = snapshot(cluster)
    assert seen.gpu_types.name == ("A100", "A100")
    plain, contained = seen.jobs.gpu_types.tolist()
    old, new = seen.nodes.gpu_type.tolist()
    assert (plain >> old & 1, plain >> new & 1) == (1, 1)
    assert (contained >> old & 1, contained >> new & 1) == (0, 1)


@pytest.mark.parametrize("policy", policy_names())
def test_an_image_goes_only_where_it_can_run(policy: str) -> None:
    cluster, kind = make_cluster(policy=policy), make_gpu_type()
    make_nodes(cluster, kind, 2, prefix="old", gpus=4, **OLD)
    (able,) = make_nodes(cluster, kind, 1, prefix="able", gpus=4)
    tenant = make_tenant()
    image = make_jobs(cluster, tenant, 3, image="train:1", estimated_run_s=60)
    make_jobs(cluster, tenant, 2, estimated_run_s=60)
    seen = snapshot(cluster)
    assert check_plan(seen, build(policy, {}).plan(seen)) == []
    run_round(cluster.pk, now=NOW)
    assert set().union(*map(nodes_of, image)) <= {able.pk}


def test_code_and_volumes_need_an_agent_that_knows_them() -> None:
    cluster, kind = make_cluster(), make_gpu_type()
    make_nodes(cluster, kind, 1, **OLD)
    (job,) = make_jobs(
        cluster, make_tenant(), 1, artifacts=[{"name": "m", "path": "m"}], cpus_per_gpu=0
    )
    run_round(cluster.pk, now=NOW)
    job.refresh_from_db()
    assert job.state == "queued"
    assert explain(job, now=NOW).reason == "no_workloads"


def test_an_image_that_no_node_runs_says_so() -> None:
    cluster = make_cluster()
    make_nodes(cluster, make_gpu_type(), 1, container_tool="")
    (job,) = make_jobs(cluster, make_tenant(), 1, image="train:1")
    run_round(cluster.pk, now=NOW)
    found = explain(job, now=NOW)
    assert (found.reason, found.remedies) == ("no_containers", [])


def test_a_commit_goes_only_where_git_is() -> None:
    cluster, kind = make_cluster(), make_gpu_type()
    make_nodes(cluster, kind, 2, prefix="bare", gpus=4, git=False)
    (able,) = make_nodes(cluster, kind, 1, prefix="with-git", gpus=4)
    (job,) = make_jobs(cluster, make_tenant(), 1, **GIT)
    run_round(cluster.pk, now=NOW)
    assert nodes_of(job) == {able.pk}


def test_a_commit_that_no_node_can_fetch_says_so() -> None:
    cluster = make_cluster()
    make_nodes(cluster, make_gpu_type(), 1, git=False)
    (job,) = make_jobs(cluster, make_tenant(), 1, **GIT)
    run_round(cluster.pk, now=NOW)
    found = explain(job, now=NOW)
    assert (nodes_of(job), found.reason, found.remedies) == (set(), "no_git", [])


@pytest.mark.parametrize("policy", policy_names())
def test_a_node_without_a_wall_is_one_tenants_at_a_time(policy: str) -> None:
    cluster, kind = make_cluster(policy=policy), make_gpu_type()
    make_nodes(cluster, kind, 3, gpus=4, **OPEN)
    tenants = [make_tenant("a"), make_tenant("b")]
    make_jobs(cluster, tenants, 8, estimated_run_s=60)
    seen = snapshot(cluster)
    assert check_plan(seen, build(policy, {}).plan(seen)) == []
    for _ in range(3):
        run_round(cluster.pk, now=NOW)
    _nobody_shares()
    assert Attempt.objects.count() > 4


def _nobody_shares() -> None:
    pairs = set(Allocation.objects.filter(released_at=None).values_list("node_id", "tenant_id"))
    assert len({node for node, _ in pairs}) == len(pairs)


def test_a_cluster_may_demand_it_of_all_nodes() -> None:
    cluster, kind = make_cluster(exclusive=True), make_gpu_type()
    make_nodes(cluster, kind, 2, gpus=4)
    make_jobs(cluster, [make_tenant("a"), make_tenant("b")], 6)
    run_round(cluster.pk, now=NOW)
    _nobody_shares()
    assert Attempt.objects.count() == 6


def test_a_gang_that_needs_all_nodes_is_not_starved() -> None:
    cluster, kind = make_cluster(), make_gpu_type()
    make_nodes(cluster, kind, 2, gpus=4, **OPEN)
    (gang,) = make_jobs(cluster, make_tenant("a"), 1, min_gpus=8, max_gpus=8)
    make_jobs(cluster, make_tenant("b"), 1)
    run_round(cluster.pk, now=NOW)
    gang.refresh_from_db()
    assert gang.state == "placed"


@pytest.mark.parametrize(
    "unusable",
    [{"state": "drained"}, {"state": "off"}, {"container_tool": ""}],
    ids=["drained", "off", "no containers"],
)
def test_a_node_that_cannot_start_it_takes_no_tenants_demand(unusable: dict[str, Any]) -> None:
    """The first of two empty nodes once took the only job's, and the second was nobody's."""
    cluster, kind = make_cluster(), make_gpu_type()
    make_nodes(cluster, kind, 1, prefix="first", gpus=4, **OPEN | unusable)
    (able,) = make_nodes(cluster, kind, 1, prefix="second", gpus=4, **OPEN)
    (job,) = make_jobs(cluster, make_tenant(), 1, image="train:1")
    run_round(cluster.pk, now=NOW)
    assert nodes_of(job) == {able.pk}


def test_who_may_hold_no_more_keeps_no_empty_nodes() -> None:
    cluster, kind = make_cluster(), make_gpu_type()
    make_nodes(cluster, kind, 1, gpus=4, **OPEN)
    make_jobs(cluster, make_tenant("a", gpu_quota=0), 9)
    (job,) = make_jobs(cluster, make_tenant("b"), 1)
    run_round(cluster.pk, now=NOW)
    job.refresh_from_db()
    assert job.state == "placed"


def test_free_gpus_that_lie_apart_leave_an_empty_node_to_their_tenant() -> None:
    cluster, kind, tenant = make_cluster(), make_gpu_type(), make_tenant("a")
    nodes = make_nodes(cluster, kind, 3, gpus=4, **OPEN)
    for node in nodes[:2]:
        occupy(tenant, node)
    (job,) = make_jobs(cluster, tenant, 1, min_gpus=4, max_gpus=4, span="node")
    run_round(cluster.pk, now=NOW)
    assert nodes_of(job) == {nodes[2].pk}


def test_waiting_for_another_tenant_to_leave_is_explained() -> None:
    cluster, kind = make_cluster(), make_gpu_type()
    (node,) = make_nodes(cluster, kind, 1, gpus=4, **OPEN)
    occupy(make_tenant("a"), node)
    (job,) = make_jobs(cluster, make_tenant("b"), 1)
    run_round(cluster.pk, now=NOW)
    job.refresh_from_db()
    assert (job.state, explain(job, now=NOW).reason) == ("queued", "other_tenants")


def test_the_database_refuses_a_second_tenant() -> None:
    cluster, kind = make_cluster(), make_gpu_type()
    (node,) = make_nodes(cluster, kind, 1, gpus=4, **OPEN)
    hold(make_tenant("a"), node)
    (job,) = make_jobs(cluster, other := make_tenant("b"), 1)
    attempt = Attempt.objects.create(
        tenant=other, job=job, cluster=cluster, number=1, fence=99, gpus=1, offered_at=NOW
    )
    free = node.gpu_set.get(index=3)
    values = {"node": node, "gpu": free, "cpus": 0, "memory_mib": 0, "held_at": NOW}
    with pytest.raises(IntegrityError, match="one tenant"), transaction.atomic():
        Allocation.objects.create(tenant=other, attempt=attempt, **values)
    Node.objects.update(wall="uid")
    Allocation.objects.create(tenant=other, attempt=attempt, **values)


def test_more_classes_than_there_are_bits_close_nodes_and_break_nothing() -> None:
    cluster = make_cluster()
    kinds = [make_gpu_type(f"T{number}") for number in range(60)]
    nodes = make_nodes(cluster, kinds[0], 10, gpus=2, **OPEN)
    for number, node in enumerate(nodes):
        occupy(make_tenant(f"t{number}"), node)
    seen = snapshot(cluster)
    assert (len(seen.gpu_types), GpuType.objects.count()) == (64, 60)
    assert sorted(seen.nodes.free_gpus.tolist()) == [0] * 5 + [0b10] * 5
    run_round(cluster.pk, now=NOW)
    _nobody_shares()


@pytest.mark.parametrize(("types", "expected"), [([], 1000), (["A100"], 65_536), (["V100"], 1000)])
def test_memory_that_is_not_named_is_a_share_of_the_smallest_node(
    types: list[str], expected: int
) -> None:
    cluster = make_cluster()
    make_nodes(cluster, make_gpu_type("A100"), 1, gpus=8)
    make_nodes(cluster, make_gpu_type("V100"), 1, gpus=8, prefix="v", memory_mib=8000)
    (job,) = make_jobs(
        cluster, make_tenant(), 1, memory_mib_per_gpu=None, gpu_types=types, cpus_per_gpu=0
    )
    assert snapshot(cluster).jobs.mem_mib_per_gpu.tolist() == [expected]
    run_round(cluster.pk, now=NOW)
    assert Allocation.objects.get(attempt__job=job).memory_mib == expected
