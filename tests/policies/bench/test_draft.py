"""Every change of a draft by hand: what is written, what the ledger has left, and the way back."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from policies.bench.draft import PlanDraft
from policies.bench.ledger import Ledger
from policies.bench.placement import pack
from policies.contract.invariants import check_plan
from policies.contract.plan import Move, Plan, PowerNode, Preempt, Resize, Retune, SetClock, Start
from policies.contract.snapshot import NodeState, PriceTable
from policies.explain.reasons import WaitReason
from tests.policies.worlds import Node, World, queued, running

RUNS, TWO, ONE = 0, 1, 2
# A GPU in use draws 300 W, 50 W of them anyway; its host adds 100 W on node 0 and 50 W on node 1.
NODES = [
    Node(gpus=4, host_idle_w=100.0, host_peak_w=500.0),
    Node(gpus=4, host_idle_w=0.0, host_peak_w=200.0),
    Node(gpus=4, host_idle_w=100.0, host_peak_w=500.0, state=NodeState.OFF),
]
# Idle, nodes 0 and 1 draw 300 W and 200 W; the running job adds 2 x 350 W.
DRAWN_W = 1200.0


def draft_of(spare_w: float = 8800.0, **world: Any) -> PlanDraft:
    """A job runs on two GPUs of node 0 for an hour; one of two GPUs and one of one are queued."""
    jobs = [running((0, 0b0011), clock_mhz=1400), queued(2), queued(1)]
    jobs[RUNS].gpus, jobs[RUNS].max_gpus = 1, 2
    given = {"power_budget_w": DRAWN_W + spare_w, "power_off": True}
    return PlanDraft(Ledger(World(NODES, jobs, **{**given, **world}).snapshot(), pack))


def written(draft: PlanDraft) -> Plan:
    plan = draft.plan(np.array([TWO, ONE]), objective=0.0, shown={})
    assert check_plan(draft.snapshot, plan) == []
    return plan


def start(draft: PlanDraft, row: int, gpus: int, clock_mhz: int = 0) -> bool:
    return draft.start(row, draft.ask(row, -1, 0, gpus, gpu_w=300.0), clock_mhz)


def test_a_job_starts_where_there_is_room_and_takes_gpus_quota_and_watts() -> None:
    draft = draft_of()
    assert start(draft, TWO, 2, clock_mhz=900)
    assert draft.ledger.free[:2] == [0, 0b1111]
    assert draft.ledger.used == [4]
    assert draft.ledger.watts_left == 8800.0 - 700.0
    (entry,) = written(draft).starts
    assert (entry.job, entry.clock_mhz) == (1001, 900)
    assert [(piece.node, piece.gpus) for piece in entry.pieces] == [(1, 0b1100)]


def test_a_job_does_not_start_beyond_the_watts_or_the_quota() -> None:
    assert not start(draft_of(spare_w=599.0), TWO, 2)
    assert start(draft_of(spare_w=600.0), TWO, 2), "node 1 takes 2 x 300 W"
    assert not start(draft_of(quotas=[3]), TWO, 2)
    assert start(draft_of(quotas=[4]), TWO, 2)


def test_an_ask_without_watts_is_not_held_back_by_them() -> None:
    draft = draft_of(spare_w=0.0)
    assert draft.start(TWO, draft.ask(TWO, -1, 0, 2))


def test_a_moved_job_keeps_its_clock_and_draws_another_host() -> None:
    draft = draft_of()
    draft.ledger.take([(1, 0b0011, 0, 0)])
    draft.move(RUNS, [(1, 0b0011, 0, 0)])
    assert draft.ledger.watts_left == 8800.0 + 2 * (100.0 - 50.0)
    assert draft.ledger.free[0] == 0b1100, "what it leaves is free in a later round"
    (entry,) = written(draft).moves
    assert (entry.job, entry.clock_mhz, entry.pieces[0].node) == (1000, 1400, 2)


def test_a_resized_job_pays_the_difference() -> None:
    draft = draft_of()
    draft.resize(RUNS, [(0, 0b0001, 0, 0)], gpu_w=300.0, clock_mhz=1200)
    assert draft.ledger.watts_left == 8800.0 + 350.0
    assert draft.ledger.used == [1]
    (entry,) = written(draft).resizes
    assert (entry.clock_mhz, entry.pieces[0].gpus) == (1200, 0b0001)


def test_a_clock_is_changed_within_the_watts() -> None:
    draft = draft_of()
    assert draft.held_w(RUNS) == [700.0]
    assert draft.set_clock(RUNS, 200.0, 1000)
    assert draft.ledger.watts_left == 8800.0 + 200.0
    assert written(draft).clocks == (SetClock(1000, 1000),)
    short = draft_of(spare_w=10.0)
    assert not short.set_clock(RUNS, 306.0, 1500)
    assert not short.set_clock(RUNS, 305.0, 1500, slack_w=1.0)
    assert short.set_clock(RUNS, 305.0, 1500)


def test_without_a_budget_watts_are_nothing() -> None:
    draft = draft_of(power_budget_w=float("inf"))
    assert draft.held_w(RUNS) == draft.added_w(draft.held(RUNS), 300.0) == [0.0]
    assert draft.set_clock(RUNS, 1e9, 1500)
    assert draft.wake(2)


def test_stopping_a_job_loses_its_work_on_all_its_gpus() -> None:
    draft = draft_of()
    draft.preempt(RUNS, TWO)
    assert draft.lost_gpu_s() == 7200.0
    assert written(draft).preempts == (Preempt(1000, 1001, 7200.0),)


def test_what_is_free_of_a_kept_place_is_nobody_elses() -> None:
    draft = draft_of()
    draft.preempt(RUNS, TWO)
    draft.keep([(0, 0b0110, 0, 0)], TWO)
    assert draft.ledger.free[0] == 0b1000
    wait = written(draft).wait_of(1001)
    assert wait is not None
    assert wait.reason is WaitReason.PREEMPTED_WORK


def test_nodes_are_switched_within_the_watts() -> None:
    draft = draft_of()
    assert draft.sleep(1)
    assert draft.wake(2)
    assert draft.ledger.watts_left == 8800.0 - (100.0 + 4 * 50.0)
    assert draft.plan(np.array([TWO, ONE]), objective=0.0, shown={}).power == (
        PowerNode(2, on=False),
        PowerNode(3, on=True),
    )
    assert not draft_of(spare_w=299.0).wake(2)


def test_a_lifted_job_can_be_put_back() -> None:
    draft = draft_of()
    draft.lift(RUNS)
    assert (draft.ledger.free[0], draft.ledger.used, draft.ledger.watts_left) == (15, [0], 9500.0)
    draft.lift(RUNS, sign=-1)
    assert (draft.ledger.free[0], draft.ledger.used, draft.ledger.watts_left) == (12, [2], 8800.0)


def state(draft: PlanDraft) -> tuple[Any, ...]:
    ledger = draft.ledger
    counts = {key: list(index.by_count) for key, index in ledger.indexes.items()}
    return (
        ledger.free.copy(),
        ledger.cpus.copy(),
        ledger.used.copy(),
        [row.copy() for row in ledger.used_by_type],
        ledger.watts_left,
        ledger.partition_watts_left.copy(),
        counts,
        draft.placed.copy(),
        draft.clocks.copy(),
        draft.preempted.copy(),
        draft.reserved.copy(),
        draft.switched.copy(),
    )


def test_back_is_exactly_where_the_mark_was() -> None:
    """Watts of thirds: added and taken away again they would not sum to what they were."""
    draft = draft_of(spare_w=8800.1 / 3)
    assert start(draft, ONE, 1)
    before, mark = state(draft), draft.mark()
    draft.lift(RUNS)
    assert draft.start(TWO, draft.ask(TWO, -1, 0, 2, gpu_w=1000 / 7))
    draft.lift(RUNS, sign=-1)
    assert draft.wake(2)
    draft.sleep(1)
    draft.preempt(RUNS, TWO)
    draft.keep([(0, 0b1111, 0, 0)], TWO)
    assert state(draft) != before
    draft.back(mark)
    assert state(draft) == before


def test_marks_are_given_up_latest_first() -> None:
    draft = draft_of()
    first, empty = draft.mark(), state(draft)
    assert start(draft, TWO, 2)
    second, one = draft.mark(), state(draft)
    assert start(draft, ONE, 1)
    draft.back(second)
    assert state(draft) == one
    draft.back(first)
    assert state(draft) == empty


def test_after_going_back_an_ask_looks_at_every_node_again() -> None:
    draft = draft_of()
    ask = draft.ask(ONE, -1, 0, 1, gpu_w=300.0)
    mark = draft.mark()
    draft.ledger.take([(0, 0b1100, 0, 0), (1, 0b1111, 0, 0)])
    assert not draft.start(ONE, ask)
    draft.back(mark)
    assert draft.start(ONE, ask)


def test_written_again_a_job_keeps_its_turn() -> None:
    draft = draft_of()
    draft.write(Start, TWO, [(0, 0b1100, 0, 0)])
    draft.write(Start, ONE, [(1, 0b0001, 0, 0)])
    draft.write(Start, TWO, [(1, 0b1100, 0, 0)])
    assert [(entry.job, entry.pieces[0].node) for entry in written(draft).starts] == [
        (1001, 2),
        (1002, 2),
    ]


def test_each_kind_of_entry_stands_in_its_own_column() -> None:
    for kind, column in ((Move, "moves"), (Resize, "resizes"), (Retune, "retunes")):
        draft = draft_of()
        draft.write(kind, RUNS, [(0, 0b0011, 0, 0)])
        plan = draft.plan(np.array([TWO, ONE]), objective=0.0, shown={})
        assert [entry.job for entry in getattr(plan, column)] == [1000]
        assert draft.acted(RUNS)
        assert not draft.acted(TWO)


def test_every_queued_job_waits_unless_it_starts() -> None:
    """In the order of the queue; who could not have started comes after all, with nobody ahead."""
    jobs = [queued(2), queued(1), queued(1, blocked=1)]
    draft = PlanDraft(Ledger(World(NODES, jobs).snapshot(), pack))
    until_s = np.array([5.0, np.nan, np.nan])
    plan = draft.plan(np.array([1, 0]), objective=1.5, shown={"x": 2.0}, until_s=until_s)
    assert [(w.job, w.ahead, w.until_s) for w in plan.iter_waits()] == [
        (1001, 0, None),
        (1000, 1, 5.0),
        (1002, 0, None),
    ]
    assert (plan.objective, plan.shown) == (1.5, {"x": 2.0})


@pytest.mark.parametrize("waits_for_price", [True, False])
def test_a_job_may_wait_for_a_price(waits_for_price: bool) -> None:
    prices = PriceTable.of(from_s=[0.0], price_per_kwh=[0.3])
    draft = PlanDraft(Ledger(replace(draft_of().snapshot, prices=prices), pack))
    for_tariff = np.array([False, waits_for_price, False])
    plan = draft.plan(np.array([TWO, ONE]), objective=0.0, shown={}, for_tariff=lambda: for_tariff)
    wait = plan.wait_of(1001)
    assert wait is not None
    assert (wait.reason is WaitReason.TARIFF) == waits_for_price
