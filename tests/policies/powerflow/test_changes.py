"""What jobs are to have is set by hand; the changes that bring them there are looked at."""

from policies.bench.draft import PlanDraft
from policies.bench.ladder import Ladders
from policies.bench.ledger import Ledger
from policies.bench.placement import buddy
from policies.contract.plan import Resize, Start
from policies.powerflow.candidates import (
    WAITS,
    Candidate,
    candidates_of,
    movable_jobs,
    tuned_jobs,
)
from policies.powerflow.changes import Changes
from policies.powerflow.pools import PoolRoom
from tests.policies.test_powerflow_greedy import PERFECT_JOB, at, elastic, world
from tests.policies.worlds import Job, Node, World

LOW, HIGH = 0, 1


def changed(
    given: World, wanted: dict[int, tuple[int, int]], *, preempts: bool = True
) -> tuple[PlanDraft, dict[int, Candidate]]:
    """Jobs get (rung, clock) by their rows; who is not named waits."""
    snapshot = given.snapshot()
    tuned = tuned_jobs(snapshot)
    movable = movable_jobs(snapshot, tuned, 0.0)
    room = PoolRoom(snapshot, movable, tuned, switches=False)
    candidates = candidates_of(room, Ladders(snapshot, "chosen"), movable, tuned)
    for one in candidates:
        one.rung, one.clock = wanted.get(one.row, (WAITS, 0))
    draft = PlanDraft(Ledger(snapshot, buddy, keeps_blocks=True))
    Changes(draft, candidates, preempts=preempts).run()
    return draft, {one.row: one for one in candidates}


def holding(*on: tuple[int, int], clock_mhz: int = 500, work: float = 1e6) -> Job:
    return at(PERFECT_JOB, *on, work=work, clock_mhz=clock_mhz)


def masks(draft: PlanDraft) -> dict[int, tuple[type, int]]:
    return {row: (one.kind, one.pieces[0][1]) for row, one in draft.placed.items()}


def test_a_queued_job_starts_with_its_rung_and_clock() -> None:
    draft, _ = changed(world([Node(gpus=8)], [elastic(PERFECT_JOB)]), {0: (2, HIGH)})
    assert masks(draft) == {0: (Start, 0b1111)}
    assert draft.placed[0].clock_mhz == 1000


def test_it_starts_smaller_where_its_block_is_not_to_be_had() -> None:
    jobs = [holding((0, 0b0001_0000)), elastic(PERFECT_JOB)]
    draft, _ = changed(world([Node(gpus=8)], jobs), {0: (0, LOW), 1: (3, LOW)})
    assert masks(draft) == {1: (Start, 0b1111)}


def test_a_job_shrinks_to_an_aligned_block_of_its_own() -> None:
    draft, _ = changed(world([Node(gpus=8)], [holding((0, 0b1111_0000))]), {0: (1, LOW)})
    assert masks(draft) == {0: (Resize, 0b0011_0000)}


def test_a_job_grows_where_that_gains_more_than_it_costs() -> None:
    """1e6 of work at 1 a second; four GPUs save 750,000 s. What was done in 3600 s is lost."""
    nodes = [Node(gpus=8)]
    draft, _ = changed(world(nodes, [holding((0, 0b1))]), {0: (2, LOW)})
    assert masks(draft) == {0: (Resize, 0b1111)}
    soon_done = at(PERFECT_JOB, (0, 0b1), work=4000.0, clock_mhz=500)
    draft, _ = changed(world(nodes, [soon_done]), {0: (2, LOW)})
    assert masks(draft) == {}


def test_a_job_that_grows_has_its_own_gpus_in_its_quota_already() -> None:
    """From two GPUs to four the tenant needs two more."""
    for quota, grows in ((4, True), (3, False)):
        given = world([Node(gpus=8)], [holding((0, 0b11))], quotas=[quota])
        assert masks(changed(given, {0: (2, LOW)})[0]) == ({0: (Resize, 0b1111)} if grows else {})


def test_a_clock_changes_in_place() -> None:
    draft, _ = changed(world([Node(gpus=8)], [holding((0, 0b1))]), {0: (0, HIGH)})
    assert (draft.clocks, draft.placed) == ({0: 1000}, {})


def test_who_is_to_wait_is_stopped_for_a_shorter_job_only() -> None:
    """The long job has 1e6 s left, less what stopping it costs; the queued one 1e5 s."""
    jobs = [holding((0, 0b1111_1111), work=1e6), elastic(PERFECT_JOB, work=1e5)]
    draft, _ = changed(world([Node(gpus=8)], jobs), {1: (0, LOW)})
    assert draft.preempted == {0: 1}
    assert draft.reserved == [1]
    longer = [jobs[0], elastic(PERFECT_JOB, work=1e7)]
    assert changed(world([Node(gpus=8)], longer), {1: (0, LOW)})[0].preempted == {}
    kept, _ = changed(world([Node(gpus=8)], jobs), {1: (0, LOW)}, preempts=False)
    assert kept.preempted == {}


def test_a_search_for_victims_leaves_the_ledger_as_it_was() -> None:
    jobs = [holding((0, 0b1111_1111), work=1e6), elastic(PERFECT_JOB, work=1e7)]
    draft, _ = changed(world([Node(gpus=8)], jobs), {1: (0, LOW)})
    assert draft.ledger.free == [0]
    assert draft.ledger.used == [8]


def test_above_the_budget_clocks_fall_first() -> None:
    """Idle 400 W; the job adds 8 x (200 - 50) W at 1000 MHz and 8 x 50 W at 500 MHz."""
    jobs = [holding((0, 0b1111_1111), clock_mhz=1000)]
    draft, _ = changed(world([Node(gpus=8)], jobs, power_budget_w=1000.0), {0: (3, HIGH)})
    assert draft.clocks == {0: 500}
    tight, _ = changed(world([Node(gpus=8)], jobs, power_budget_w=1600.0), {0: (3, HIGH)})
    assert (tight.clocks, tight.placed) == ({}, {})
