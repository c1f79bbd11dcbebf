"""Snapshots: built from columns, stored and read back to the byte, refused when damaged."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from policies.contract import encoding
from policies.contract.plan import Piece, Plan, Preempt, SetClock, Start, WaitTable
from policies.contract.snapshot import JobState, JobTable, NodeTable, ProfileTable, Snapshot
from policies.explain.reasons import Evidence, WaitReason
from tests.policies.random_worlds import random_world
from tests.policies.worlds import Node, World, queued, running


def small() -> Snapshot:
    return World([Node()], [running((0, 0b11)), queued(2)], power_budget_w=900.0).snapshot()


def test_round_trip_keeps_every_column() -> None:
    for seed in range(30):
        snapshot = random_world(seed, nodes=5, queue=8, run=8).snapshot()
        again = Snapshot.from_bytes(snapshot.to_bytes())
        for table in ("jobs", "placements", "nodes", "tenants", "partitions", "gpu_types"):
            for (name, ours), (_, theirs) in zip(
                getattr(snapshot, table).columns(), getattr(again, table).columns(), strict=True
            ):
                np.testing.assert_array_equal(ours, theirs, err_msg=f"{table}.{name}")
        scalars = ("now_s", "seed", "pue", "power_budget_w")
        assert [getattr(again, name) for name in scalars] == [
            getattr(snapshot, name) for name in scalars
        ]


def test_profiles_with_all_their_axes_survive() -> None:
    rng = np.random.default_rng(0)
    profiles = ProfileTable.of(
        id=[7, 8],
        gpu_counts=[1, 2, 4],
        clocks_mhz=[[900, 1410], [1000, 1980]],
        throughput=rng.random((2, 2, 3, 2)),
        watts_per_gpu=np.where(rng.random((2, 2, 3, 2)) < 0.5, np.nan, 300.0),
        cpus_per_gpu=[1, 3, 6],
        mem_mib_per_gpu=[1000, 2000],
        relative_speed=rng.random((2, 3, 2)),
    )
    fields = {name: getattr(small(), name) for name in Snapshot.__slots__}
    snapshot = Snapshot(**{**fields, "profiles": profiles})
    again = Snapshot.from_bytes(snapshot.to_bytes())
    assert again.canonical() == snapshot.canonical()
    np.testing.assert_array_equal(again.profiles.watts_per_gpu, profiles.watts_per_gpu)


def test_digest_is_of_the_content_and_readable_without_unpacking() -> None:
    stored = small().to_bytes()
    assert encoding.stored_digest(stored) == small().digest()
    assert stored == small().to_bytes()
    other = World([Node()], [running((0, 0b11)), queued(3)], power_budget_w=900.0).snapshot()
    assert other.digest() != small().digest()


@pytest.mark.parametrize(
    "damage",
    [
        lambda stored: stored[:20],
        lambda stored: b"XXXX" + stored[4:],
        lambda stored: stored[:4] + b"\xff\xff" + stored[6:],
        lambda stored: stored[:-20],
        lambda stored: stored[:10] + b"\0" * 8 + stored[18:],
    ],
    ids=["short", "magic", "version", "cut", "digest"],
)
def test_damaged_bytes_are_refused(damage: object) -> None:
    with pytest.raises(encoding.EncodingError):
        Snapshot.from_bytes(damage(small().to_bytes()))  # type: ignore[operator]


def test_a_demand_charge_is_stored_where_there_is_one() -> None:
    """Snapshots of older rounds know none, and keep their bytes."""
    plain = small().to_bytes()
    assert "demand" not in encoding.decode(plain)[0]
    assert Snapshot.from_bytes(plain).demand_price_per_w == 0.0
    charged = dataclasses.replace(small(), peak_w=500.0, demand_price_per_w=0.01)
    again = Snapshot.from_bytes(charged.to_bytes())
    assert (again.peak_w, again.demand_price_per_w) == (500.0, 0.01)
    assert again.canonical() == charged.canonical()


def test_tables_are_frozen_and_typed() -> None:
    snapshot = small()
    assert snapshot.jobs.gpu_types.dtype == np.uint64
    assert snapshot.jobs.state.tolist() == [JobState.RUNNING, JobState.QUEUED]
    with pytest.raises(ValueError, match="read-only"):
        snapshot.jobs.priority[0] = 1


def test_building_leaves_the_callers_array_writeable() -> None:
    ids = np.arange(2, dtype=np.int64)
    table = JobTable.of(
        id=ids,
        tenant=[0, 0],
        submitted_s=[0, 0],
        min_gpus=[1, 1],
        max_gpus=[1, 1],
        gpu_types=[1, 1],
    )
    ids[0] = 5
    with pytest.raises(ValueError, match="read-only"):
        table.id[0] = 1


def test_wrong_columns_are_refused() -> None:
    good: dict[str, Any] = {"id": [1], "gpu_type": [0], "gpus": [8], "free_gpus": [255]}
    good |= {"cpus": [1], "free_cpus": [1], "mem_mib": [1], "free_mem_mib": [1]}
    assert len(NodeTable.of(**good)) == 1
    with pytest.raises(TypeError, match="is missing"):
        NodeTable.of(id=[1])
    with pytest.raises(TypeError, match="no column"):
        NodeTable.of(**good, colour=[1])
    with pytest.raises(ValueError, match="rows"):
        NodeTable.of(**{**good, "gpus": [8, 8]})
    with pytest.raises(ValueError, match="dimensions"):
        NodeTable.of(**{**good, "gpus": [[8]]})


def plan(**changes: object) -> Plan:
    parts = {
        "starts": (Start(1, (Piece(10, 0b11, 4, 100),)),),
        "waits": WaitTable.of(job=[2], reason=[WaitReason.QUOTA], evidence=[0], ahead=[3]),
        "evidence": (Evidence(nodes=4),),
    }
    return Plan(**{**parts, **changes})  # type: ignore[arg-type]


def test_equal_plans_do_not_differ() -> None:
    assert plan().diff(plan()) == []
    assert plan().digest() == plan().digest()


def test_differences_are_told_job_by_job() -> None:
    other = plan(
        starts=(Start(1, (Piece(11, 0b11, 4, 100),), 1200),),
        preempts=(Preempt(5, 2, 90.0),),
        clocks=(SetClock(6, 900),),
        objective=1.5,
    )
    assert plan().diff(other) == [
        "job 1: start on node 10 GPUs 0b11 4 CPUs 100 MiB -> "
        "start on node 11 GPUs 0b11 4 CPUs 100 MiB at 1200 MHz",
        "job 5: nothing -> preempt for job 2, losing 90 GPU-s",
        "job 6: nothing -> setclock 900 MHz",
        "objective: 0.0 -> 1.5",
    ]
    assert plan().digest() != other.digest()
