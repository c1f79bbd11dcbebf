"""The snapshot says what the rows say, in as many queries for two jobs as for two thousand."""

from datetime import timedelta
from decimal import Decimal

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from clusters.models import Gpu, Node, Partition
from jobs.models import GpuQuota, Job, JobDependency
from policies.contract.snapshot import Blocked, JobState, NodeState, Span
from scheduler_service.factories import (
    NOW,
    make_cluster,
    make_gpu_type,
    make_jobs,
    make_nodes,
    make_profile,
    make_tenant,
)
from scheduling.round import decide
from scheduling.snapshot.load import load_snapshot
from tariffs.models import Tariff

pytestmark = pytest.mark.django_db


def test_columns_of_nodes() -> None:
    cluster, kind = make_cluster(), make_gpu_type()
    one, two, three = make_nodes(cluster, kind, 3, gpus=4, per_rack=2)
    Node.objects.filter(pk=two.pk).update(state="draining", cpus_used=10, memory_used_mib=24_288)
    Node.objects.filter(pk=three.pk).update(state="lost")
    Gpu.objects.filter(node=one, index=2).update(healthy=False)

    nodes = load_snapshot(cluster, now=NOW, seed=1).nodes

    assert nodes.id.tolist() == [one.pk, two.pk, three.pk]
    assert nodes.state.tolist() == [NodeState.READY, NodeState.DRAINING, NodeState.UNAVAILABLE]
    assert nodes.free_gpus.tolist() == [0b1011, 0b1111, 0b1111]
    assert nodes.gpus.tolist() == [4, 4, 4]
    assert nodes.free_cpus.tolist() == [64, 54, 64]
    assert nodes.free_mem_mib.tolist() == [524_288, 500_000, 524_288]
    assert nodes.rack.tolist() == [0, 0, 1]
    assert nodes.switch.tolist() == [-1, -1, -1]


def test_every_gpu_of_the_widest_node_has_its_bit() -> None:
    cluster = make_cluster()
    make_nodes(cluster, make_gpu_type(), 1, gpus=64, cpus=64)

    assert load_snapshot(cluster, now=NOW, seed=1).nodes.free_gpus.tolist() == [2**64 - 1]


def test_columns_of_queued_jobs() -> None:
    cluster, tenant = make_cluster(max_tardiness_price_per_h=10), make_tenant()
    make_gpu_type("A100")
    make_gpu_type("H100")
    partition = Partition.objects.create(cluster=cluster, name="prod", lends=True)
    first, second = make_jobs(
        cluster,
        tenant,
        2,
        partition=partition,
        min_gpus=2,
        max_gpus=4,
        gpu_types=["H100"],
        priority=70,
        span="rack",
        deadline_at=NOW + timedelta(hours=1),
        tardiness_price_per_h=Decimal("7.2"),
        estimated_run_s=600,
        attained_gpu_s=200,
        work_total=100,
        work_done=25,
    )
    (plain,) = make_jobs(cluster, tenant, 1, gpu_types=["V100"], held=True)
    Job.objects.filter(pk=second.pk).update(unmet_dependencies=1)
    JobDependency.objects.create(tenant=tenant, job=second, on_job=first)

    snapshot = load_snapshot(cluster, now=NOW, seed=9)
    jobs = snapshot.jobs

    assert snapshot.seed == 9
    assert jobs.id.tolist() == [first.pk, second.pk, plain.pk]
    assert jobs.blocked.tolist() == [Blocked.NO, Blocked.DEPENDENCY, Blocked.HELD]
    assert jobs.state.tolist() == [JobState.QUEUED] * 3
    assert jobs.gpu_types.tolist() == [0b10, 0b10, 0]
    assert jobs.partition.tolist() == [0, 0, -1]
    assert jobs.span.tolist() == [Span.RACK, Span.RACK, Span.ANY]
    assert jobs.priority.tolist() == [70, 70, 50]
    assert jobs.deadline_s[0] == NOW.timestamp() + 3600
    assert jobs.deadline_s[2] == np.inf
    assert jobs.tardiness_weight[0] == pytest.approx(0.002)
    assert (jobs.work_total[0], jobs.work_left[0]) == (100, 75)
    assert (jobs.est_total_s[0], jobs.est_run_s[0]) == (600, 500)
    assert np.isnan(jobs.est_run_s[2])
    assert snapshot.partitions.lends.tolist() == [True]


def test_a_placed_job_is_running_and_holds_its_gpus() -> None:
    cluster, tenant = make_cluster(), make_tenant(gpu_quota=10)
    make_nodes(cluster, make_gpu_type(), 2, gpus=4)
    (job,) = make_jobs(cluster, tenant, 1, min_gpus=6, max_gpus=6, cpus_per_gpu=2)
    decide(cluster.pk, now=NOW)

    later = NOW + timedelta(seconds=30)
    snapshot = load_snapshot(cluster, now=later, seed=1)

    assert snapshot.jobs.state.tolist() == [JobState.RUNNING]
    assert snapshot.jobs.started_s.tolist() == [NOW.timestamp()]
    assert snapshot.jobs.attained_gpu_s.tolist() == [6 * 30]
    assert snapshot.placements.offset.tolist() == [0, 2]
    held = [int(mask).bit_count() for mask in snapshot.placements.gpus]
    assert sorted(held) == [2, 4]
    assert snapshot.placements.cpus.sum() == 12
    assert sum(int(mask).bit_count() for mask in snapshot.nodes.free_gpus) == 2
    assert (snapshot.tenants.quota_gpus.tolist(), snapshot.tenants.used_gpus.tolist()) == (
        [10],
        [6],
    )
    assert job.pk == snapshot.jobs.id[0]


def test_quotas_by_gpu_type() -> None:
    cluster, tenant = make_cluster(), make_tenant()
    make_tenant("other")
    make_gpu_type("A100")
    h100 = make_gpu_type("H100")
    GpuQuota.objects.create(tenant=tenant, gpu_type=h100, gpus=3)

    tenants = load_snapshot(cluster, now=NOW, seed=1).tenants

    assert tenants.quota_by_type.tolist() == [[-1, 3], [-1, -1]]
    assert tenants.used_by_type.tolist() == [[0, 0], [0, 0]]


def test_prices_come_from_the_clusters_tariff() -> None:
    tariff = Tariff.objects.create(
        name="night",
        kind=Tariff.Kind.TIME_OF_USE,
        timezone="UTC",
        periods=[
            {
                "months": list(range(1, 13)),
                "weekdays": list(range(7)),
                "from_minute": start,
                "to_minute": end,
                "price_per_kwh": price,
            }
            for start, end, price in ((0, 360, "0.10"), (360, 1440, "0.30"))
        ],
    )
    cluster = make_cluster(tariff=tariff)

    prices = load_snapshot(cluster, now=NOW, seed=1).prices

    assert prices.price_per_kwh[:3].tolist() == [0.3, 0.1, 0.3]
    assert prices.from_s[1] - prices.from_s[0] == 12 * 3600
    assert len(load_snapshot(make_cluster("bare"), now=NOW, seed=1).prices) == 0


def test_profile_points_become_tensors() -> None:
    cluster, tenant = make_cluster(), make_tenant()
    make_gpu_type("A100", clocks_mhz=[1410, 900])
    profile = make_profile(
        tenant,
        "resnet",
        [
            {"gpu_type": "A100", "gpus": 1, "clock_mhz": 900, "steps_per_s": 3.0},
            {"gpu_type": "A100", "gpus": 2, "steps_per_s": 7.0, "watts_per_gpu": 350},
            {"gpu_type": "gone", "gpus": 2, "steps_per_s": 9.0},
        ],
    )
    make_jobs(cluster, tenant, 1, profile=profile)

    snapshot = load_snapshot(cluster, now=NOW, seed=1)
    profiles = snapshot.profiles

    assert snapshot.jobs.profile.tolist() == [0]
    assert profiles.gpu_counts.tolist() == [1, 2]
    assert profiles.clocks_mhz.tolist() == [[900, 1410]]
    assert profiles.throughput[0, 0, 0, 0] == 3.0
    assert profiles.throughput[0, 0, 1, 1] == 7.0
    assert profiles.watts_per_gpu[0, 0, 1, 1] == 350
    assert np.isnan(profiles.throughput[0, 0, 0, 1])


@pytest.mark.slow
def test_as_many_queries_for_many_jobs_as_for_few() -> None:
    cluster, tenant = make_cluster(), make_tenant()
    make_nodes(cluster, make_gpu_type(), 4)
    make_jobs(cluster, tenant, 2)
    with CaptureQueriesContext(connection) as few:
        load_snapshot(cluster, now=NOW, seed=1)
    make_jobs(cluster, tenant, 2000)
    with CaptureQueriesContext(connection) as many:
        snapshot = load_snapshot(cluster, now=NOW, seed=1)

    assert len(snapshot.jobs) == 2002
    assert len(many) == len(few)
