"""What is put off or kept between rounds changes no plan: reasons read late, layouts used again."""

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from policies.bench.machine_layout import LayoutCache, MachineLayout
from policies.contract.plan import Plan, WaitTable
from policies.contract.snapshot import NodeState, Snapshot
from policies.explain.reasons import Evidence, WaitReason
from policies.registry import build
from tests.examples import examples
from tests.policies.random_worlds import any_size
from tests.policies.test_properties import every_policy
from tests.policies.worlds import Node, World, queued, running


def late() -> tuple[Plan, list[int]]:
    """A plan whose wait is explained on demand, and how often that was."""
    asked: list[int] = []

    def explain() -> tuple[WaitTable, tuple[Evidence, ...]]:
        asked.append(1)
        return WaitTable.of(job=[7], reason=[WaitReason.OUTRANKED], evidence=[0]), (Evidence(),)

    return Plan(explain=explain), asked


def test_waits_are_explained_once_and_only_when_read() -> None:
    plan, asked = late()
    assert (plan.starts, asked) == ((), [])
    assert plan.evidence == (Evidence(),)
    assert plan.waits.job.tolist() == [7]
    assert [wait.job for wait in plan.iter_waits()] == [7]
    assert asked == [1]
    with pytest.raises(AttributeError):
        _ = plan.nothing_of_the_sort  # type: ignore[attr-defined]


def test_a_plan_explained_late_is_the_plan_explained_at_once() -> None:
    told = Plan(
        waits=WaitTable.of(job=[7], reason=[WaitReason.OUTRANKED], evidence=[0]),
        evidence=(Evidence(),),
    )
    assert late()[0].canonical() == told.canonical()
    assert late()[0].diff(told) == []
    assert Plan.from_bytes(late()[0].to_bytes()).digest() == told.digest()
    assert replace(late()[0], objective=1.0).waits.job.tolist() == [7]
    settled = late()[0].settled()
    assert settled.explain is None
    assert pickle.loads(pickle.dumps(settled)).digest() == told.digest()


@pytest.mark.slow
@every_policy
def test_what_a_policy_keeps_of_rounds_changes_no_later_plan(
    name: str, parameters: dict[str, Any]
) -> None:
    """One policy plans world after world; a new one plans each of them the same."""
    policy, seeds = build(name, parameters), range(examples(30))
    snapshots = [any_size(seed).snapshot() for seed in seeds]
    plans = [policy.plan(snapshot) for snapshot in snapshots]
    for seed, kept, snapshot in zip(seeds, plans, snapshots, strict=True):
        # Its reasons are read only here, after all later rounds have been planned.
        fresh = build(name, parameters).plan(snapshot)
        assert kept.canonical() == fresh.canonical(), f"seed={seed}"


def later(snapshot: Snapshot, **columns: Any) -> Snapshot:
    """The same machines, as the simulator shows them: only what changed is another array."""
    return replace(snapshot, nodes=replace(snapshot.nodes, **columns))


def test_a_layout_serves_while_only_free_gpus_change() -> None:
    nodes = [Node(gpus=4), Node(gpus=4), Node(gpus=4, state=NodeState.OFF)]
    snapshot = World(nodes=nodes, jobs=[running((0, 0b0011)), queued(2)]).snapshot()
    shelf = LayoutCache()
    layout = shelf.layout(snapshot, keeps_blocks=False)
    fuller = later(snapshot, free_gpus=np.array([0b0100, 0b1111, 0b1111], np.uint64))
    assert shelf.layout(fuller, keeps_blocks=False) is layout
    (index,) = layout.indexes(fuller.nodes.free_gpus).values()
    assert [index.by_count[count] for count in (1, 2, 4)] == [0b01, 0, 0b10]
    index.change(1, 0b1111, 0, 4)
    (untouched,) = layout.indexes(fuller.nodes.free_gpus).values()
    assert untouched.by_count[4] == 0b10


def test_a_layout_does_not_serve_other_machines_or_states() -> None:
    snapshot = World(nodes=[Node(gpus=4), Node(gpus=4)], jobs=[queued(2)]).snapshot()
    layout = MachineLayout(snapshot, keeps_blocks=False)
    same = snapshot.nodes.state.copy()
    lost = np.array([NodeState.READY, NodeState.UNAVAILABLE], np.uint8)
    assert layout.fits(later(snapshot, state=same), keeps_blocks=False)
    assert not layout.fits(later(snapshot, state=lost), keeps_blocks=False)
    assert not layout.fits(later(snapshot, gpus=snapshot.nodes.gpus.copy()), keeps_blocks=False)
    assert not layout.fits(snapshot, keeps_blocks=True)
