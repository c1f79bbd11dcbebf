"""Hand-made schedules become entries: who starts, who is stopped for whom, who keeps what."""

from dataclasses import replace

import numpy as np

from policies.bench.draft import PlanDraft
from policies.bench.ledger import Ledger
from policies.bench.placement import pack
from policies.contract.plan import Resize, Start
from policies.contract.snapshot import Snapshot
from policies.fairwatt.arrays import Made
from policies.fairwatt.parameters import FairwattParameters
from policies.fairwatt.plan_writer import PlanWriter
from policies.fairwatt.problem import FairwattProblem, problem_of
from policies.fairwatt.search import SlotSchedule
from policies.fairwatt.switching import Lack
from tests.policies.worlds import Job, Node, World, profiles_of, queued, running

HOUR_S = 3600.0
GIVEN = FairwattParameters(power_off=False, min_run_s=0.0)


def snapshot_of(*jobs: Job, gpus: int = 1, hands_over: bool = False) -> Snapshot:
    profiles = profiles_of([[[1.0], [1.9]]], [[[300.0], [300.0]]], counts=(1, 2), clocks=(1000,))
    world = World([Node(gpus=gpus)], list(jobs), profiles=profiles)
    return replace(world.snapshot(), hands_over=hands_over)


def way(problem: FairwattProblem, job: int, gpus: int = 1) -> int:
    low, high = int(problem.ways.first[job]), int(problem.ways.first[job + 1])
    return low + int(np.flatnonzero(problem.ways.gpus[low:high] == gpus)[0])


def write(
    snapshot: Snapshot, slots: list[int], order: list[int], gpus: list[int], *, most: int = 9
) -> PlanWriter:
    """Jobs on so many GPUs from their slots on, where slot 0 is now."""
    problem = problem_of(snapshot, GIVEN)
    chosen = np.array([way(problem, job, count) for job, count in enumerate(gpus)])
    count = len(slots)
    made = Made(chosen, np.array(slots), np.zeros(count), np.zeros(count, np.bool_))
    writer = PlanWriter(problem, PlanDraft(Ledger(snapshot, pack)), preempt=True, most=most)
    writer.write(SlotSchedule(np.array(order), made, 0.0, reserve=False, rents=np.zeros(0)))
    return writer


def hour(**columns: float) -> Job:
    return queued(1, **{"est_run_s": HOUR_S, **columns})


def test_only_what_is_due_now_starts() -> None:
    draft = write(snapshot_of(hour(), hour(), gpus=2), [1, 0], [0, 1], [1, 1]).draft
    assert list(draft.placed) == [1]


def test_the_order_decides_and_the_other_lacks_a_gpu() -> None:
    writer = write(snapshot_of(hour(), hour()), [0, 0], [1, 0], [1, 1])
    assert list(writer.draft.placed) == [1]
    assert list(writer.started) == [1]
    assert writer.lacks == [Lack(0, 1)]


def test_work_that_should_run_later_is_stopped_for_more_urgent_work() -> None:
    """An hour is more urgent than ten; the place is kept until the long job has gone."""
    long, short = running((0, 0b1), since_s=60.0, est_run_s=10 * HOUR_S), hour()
    draft = write(snapshot_of(long, short), [1, 0], [1, 0], [1, 1]).draft
    assert draft.preempted == {0: 1}
    assert draft.reserved == [1]
    assert draft.placed == {}


def test_nobody_is_stopped_for_less_urgent_work_or_beyond_the_allowance() -> None:
    short, long = running((0, 0b1), since_s=60.0, est_run_s=HOUR_S), hour(est_run_s=10 * HOUR_S)
    assert write(snapshot_of(short, long), [1, 0], [1, 0], [1, 1]).draft.preempted == {}
    long_runs = running((0, 0b1), since_s=60.0, est_run_s=10 * HOUR_S)
    none = write(snapshot_of(long_runs, hour()), [1, 0], [1, 0], [1, 1], most=0)
    assert none.draft.preempted == {}


def test_where_gpus_change_hands_at_once_the_urgent_job_starts() -> None:
    long = running((0, 0b1), since_s=60.0, est_run_s=10 * HOUR_S)
    draft = write(snapshot_of(long, hour(), hands_over=True), [1, 0], [1, 0], [1, 1]).draft
    assert draft.preempted == {0: 1}
    assert [(row, one.kind) for row, one in draft.placed.items()] == [(1, Start)]


def elastic(job: Job) -> Job:
    job.gpus, job.max_gpus = 1, 2
    job.columns |= {"profile": 0, "work_left": HOUR_S}
    return job


def test_a_job_grows_into_what_is_free_after_others_have_started() -> None:
    grows, starts = elastic(running((0, 0b001), since_s=60.0)), hour()
    draft = write(snapshot_of(grows, starts, gpus=3), [0, 0], [0, 1], [2, 1]).draft
    assert [(row, one.kind) for row, one in draft.placed.items()] == [(1, Start), (0, Resize)]
    assert sum(mask.bit_count() for _, mask, _, _ in draft.placed[0].pieces) == 2
    full = write(snapshot_of(grows, starts, gpus=2), [0, 0], [0, 1], [2, 1])
    assert list(full.draft.placed) == [1]
    assert full.lacks == [Lack(0, 1)]


def test_a_job_starts_on_fewer_gpus_where_there_are_no_more() -> None:
    writer = write(snapshot_of(elastic(queued(1)), gpus=1), [0], [0], [2])
    assert writer.draft.placed[0].pieces == [(0, 0b1, 0, 0)]
    assert writer.lacks == [Lack(0, 1)]
