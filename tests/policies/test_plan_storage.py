"""A stored plan comes back as it was, and one job's wait is found without reading all of them."""

from dataclasses import replace

import msgspec
import numpy as np
from numpy.testing import assert_array_equal

from policies.contract import encoding
from policies.contract.plan import (
    Move,
    Piece,
    Plan,
    PowerNode,
    Preempt,
    Resize,
    Retune,
    SetClock,
    Start,
    WaitTable,
)
from policies.explain.reasons import Evidence, Remedy, WaitReason

STORED_DIGEST = "0d7a5eaf623f262140196d85f8d774a52ebbb24557e6878126eb63e09672bad9"
PLAN = Plan(
    starts=(Start(1, (Piece(10, 0b11, 4, 1024), Piece(11, 1 << 63, 2, 512)), 1410),),
    preempts=(Preempt(2, for_job=7, lost_gpu_s=12.5),),
    moves=(Move(3, (Piece(12, 0b1, 1, 1),)),),
    resizes=(Resize(4, (Piece(13, 0b1, 1, 1),)),),
    clocks=(SetClock(5, 900),),
    power=(PowerNode(14, on=False),),
    waits=WaitTable.of(
        job=[7, 9],
        reason=[WaitReason.PREEMPTED_WORK, WaitReason.QUOTA],
        evidence=[1, 0],
        ahead=[0, 3],
        until_s=[100.5, np.nan],
    ),
    evidence=(Evidence(remedies=(Remedy("raise_quota", by=2.0),)), Evidence(nodes=4)),
    objective=0.1 + 0.2,
    shown={"gap": 1 / 3},
)


def test_stored_plan_is_the_same_plan() -> None:
    again = Plan.from_bytes(PLAN.to_bytes())

    assert again.canonical() == PLAN.canonical()
    assert again.digest() == PLAN.digest()
    assert again.diff(PLAN) == []
    assert again.starts == PLAN.starts
    assert again.objective == PLAN.objective
    assert_array_equal(again.waits.until_s, PLAN.waits.until_s)


def test_wait_of_one_job() -> None:
    wait = PLAN.wait_of(9)

    assert wait is not None
    assert (wait.reason, wait.ahead, wait.until_s) == (WaitReason.QUOTA, 3, None)
    assert wait.evidence.remedies[0].action == "raise_quota"
    assert PLAN.wait_of(1) is None


def test_retunes_are_stored_and_plans_without_them_stay_as_they_were() -> None:
    tuned = replace(PLAN, retunes=(Retune(6, (Piece(10, 0b100, 9, 2048),)),))
    again = Plan.from_bytes(tuned.to_bytes())
    assert again.retunes == tuned.retunes
    assert again.canonical() != PLAN.canonical()
    assert PLAN.diff(tuned) == [
        "job 6: nothing -> retune on node 10 GPUs 0b100 9 CPUs 2048 MiB",
    ]
    # Written before there were retunes: six kinds of entries, and the digest of that time.
    columns, _ = encoding.decode(PLAN.to_bytes())
    acts, *_ = msgspec.json.decode(columns["rest"].tobytes())
    assert len(acts) == 6
    assert PLAN.digest() == STORED_DIGEST
