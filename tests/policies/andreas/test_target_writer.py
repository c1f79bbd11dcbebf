"""Hand-made targets become entries, where GPUs change hands at once and where they do not."""

from dataclasses import replace
from typing import Any

import numpy as np

from policies.andreas.target import Place, held_pieces
from policies.andreas.target_writer import TargetWriter
from policies.bench.draft import PlanDraft
from policies.bench.ledger import Ledger
from policies.bench.placement import pack
from policies.contract.plan import Move, Resize, Start
from policies.contract.snapshot import JobState
from tests.policies.worlds import Job, Node, World, queued, running


def write(
    jobs: list[Job], target: dict[int, tuple[int, int]], *, hands_over: bool = False, **world: Any
) -> PlanDraft:
    """Targets are (node row, GPUs) by job row; jobs come in the order of their rows."""
    nodes = [Node(gpus=4), Node(gpus=4)]
    snapshot = replace(World(nodes, jobs, **world).snapshot(), hands_over=hands_over)
    held = held_pieces(snapshot, np.flatnonzero(snapshot.jobs.state == JobState.RUNNING))
    draft = PlanDraft(Ledger(snapshot, pack))
    places = {row: Place(node, gpus, 60.0, 300.0) for row, (node, gpus) in target.items()}
    TargetWriter(draft, held, list(range(len(jobs)))).write(places)
    return draft


def entries(draft: PlanDraft) -> dict[int, tuple[type, int, int]]:
    """Kind, node and GPU mask by job row."""
    return {
        row: (one.kind, one.pieces[0][0], one.pieces[0][1]) for row, one in draft.placed.items()
    }


def test_what_fits_starts_and_what_stays_has_no_entry() -> None:
    draft = write([running((0, 0b0011)), queued(2)], {0: (0, 2), 1: (0, 2)})
    assert entries(draft) == {1: (Start, 0, 0b1100)}
    assert draft.preempted == {}


def test_on_its_node_a_job_keeps_what_it_can_of_its_gpus() -> None:
    assert entries(write([running((0, 0b0110))], {0: (0, 1)})) == {0: (Resize, 0, 0b0010)}
    assert entries(write([running((0, 0b0110))], {0: (0, 3)})) == {0: (Resize, 0, 0b0111)}


def test_a_job_moves_to_what_is_free_elsewhere() -> None:
    assert entries(write([running((0, 0b0011))], {0: (1, 2)})) == {0: (Move, 1, 0b0011)}


def test_who_leaves_a_node_is_stopped_for_who_comes_and_the_rest_is_kept() -> None:
    """Job 0 is in no target; job 1 wants the whole node and waits until it is gone."""
    draft = write([running((0, 0b0011)), queued(4)], {1: (0, 4)})
    assert draft.preempted == {0: 1}
    assert draft.reserved == [1]
    assert (draft.placed, draft.ledger.free[0]) == ({}, 0)


def test_nobody_is_stopped_where_that_is_not_enough() -> None:
    draft = write([running((0, 0b0011)), running((0, 0b0100)), queued(4)], {1: (0, 1), 2: (0, 4)})
    assert (draft.preempted, draft.reserved, draft.placed) == ({}, [], {})


def test_a_quota_bounds_what_a_job_waits_for() -> None:
    draft = write([running((0, 0b0011)), queued(4)], {1: (0, 4)}, quotas=[5])
    assert draft.preempted == {}


def test_where_gpus_change_hands_at_once_the_target_is_the_plan() -> None:
    draft = write([running((0, 0b0011)), queued(4)], {1: (0, 4)}, hands_over=True)
    assert entries(draft) == {1: (Start, 0, 0b1111)}
    assert draft.preempted == {0: 1}
    swap = [running((0, 0b1111)), running((1, 0b1111))]
    swapped = write(swap, {0: (1, 4), 1: (0, 4)}, hands_over=True)
    assert entries(swapped) == {0: (Move, 1, 0b1111), 1: (Move, 0, 0b1111)}


def test_who_is_stopped_for_nobody_is_stopped_for_itself() -> None:
    draft = write([running((0, 0b0011))], {}, hands_over=True)
    assert draft.preempted == {0: 0}


def test_watts_that_are_short_keep_a_job_from_its_place() -> None:
    """The running job draws 250 W above idle; another of the same leaves nothing."""
    idle_w = 8 * 50.0
    jobs, target = [running((0, 0b0001)), queued(1)], {0: (0, 1), 1: (1, 1)}
    assert entries(write(jobs, target, power_budget_w=idle_w + 499.0)) == {}
    assert entries(write(jobs, target, power_budget_w=idle_w + 500.0)) == {1: (Start, 1, 0b0001)}


def test_what_a_narrower_job_no_longer_draws_is_there_for_others() -> None:
    """Each GPU draws 250 W above idle: from two to one, and another job can start."""
    idle_w = 8 * 50.0
    jobs, target = [running((0, 0b0011)), queued(1)], {0: (0, 1), 1: (1, 1)}
    jobs[0].gpus = 1
    assert entries(write(jobs, target, power_budget_w=idle_w + 500.0)) == {
        0: (Resize, 0, 0b0001),
        1: (Start, 1, 0b0001),
    }
    assert entries(write(jobs, target, power_budget_w=idle_w + 499.0)) == {0: (Resize, 0, 0b0001)}
