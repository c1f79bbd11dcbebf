"""check_plan: one plan per rule that breaks exactly that rule."""

from typing import Any

import pytest

from policies.contract.invariants import check_plan
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
from policies.contract.snapshot import JobState, NodeState, Span
from policies.explain.reasons import Evidence, WaitReason
from tests.policies.worlds import NOW_S, Node, World, queued, running


def world(**changes: Any) -> World:
    """Nodes 1 and 2 with four GPUs, node 3 off; job 1000 runs, 1001 and 1002 wait."""
    return World(
        **{
            "nodes": [
                Node(gpus=4, cpus=8, mem_mib=400, rack=0),
                Node(gpus=4, cpus=8, mem_mib=400, rack=1, gpu_type=0),
                Node(gpus=4, state=NodeState.OFF),
                Node(gpus=4, gpu_type=1),
                Node(gpus=4, partition=0),
                Node(gpus=4, partition=1),
            ],
            "jobs": [running((0, 0b0011)), queued(2), queued(1)],
            "gpu_types": ("A100", "H100"),
            "partitions": [True, False],
            **changes,
        }
    )


def waits(*jobs: int) -> dict[str, Any]:
    table = WaitTable.of(
        job=jobs, reason=[WaitReason.OUTRANKED] * len(jobs), evidence=[0] * len(jobs)
    )
    return {"waits": table, "evidence": (Evidence(),)}


def start(job: int, *pieces: tuple[int, int], cpus: int = 0, mem_mib: int = 0) -> Start:
    return Start(job, tuple(Piece(node, gpus, cpus, mem_mib) for node, gpus in pieces))


def codes(setting: World, plan: Plan) -> set[str]:
    return {violation.code for violation in check_plan(setting.snapshot(), plan)}


def with_job(**columns: Any) -> World:
    return world(jobs=[running((0, 0b0011)), queued(2, **columns), queued(1)])


GOOD_START = start(1001, (1, 0b1100))


def test_a_sound_plan_passes() -> None:
    assert codes(world(), Plan(starts=(GOOD_START,), **waits(1002))) == set()


STARTS: list[tuple[str, World, Start]] = [
    ("gpu_not_free", world(), start(1001, (1, 0b0110))),
    ("gpu_not_free", world(), start(1001, (1, 0b110000))),
    ("node_not_ready", world(), start(1001, (3, 0b11))),
    ("gang_size", world(), start(1001, (1, 0b0100))),
    ("gang_size", world(), start(1001, (2, 0b0111))),
    ("no_gpus", world(), start(1001, (1, 0b1100), (2, 0))),
    ("node_twice", world(), start(1001, (2, 0b01), (2, 0b10))),
    ("mixed_types", world(), start(1001, (1, 0b0100), (4, 0b1))),
    ("gpu_type", with_job(gpu_types=0b10), start(1001, (2, 0b11))),
    ("partition", world(), start(1001, (6, 0b11))),
    ("partition", with_job(preemptible=False), start(1001, (5, 0b11))),
    ("partition", with_job(partition=0), start(1001, (2, 0b11))),
    ("span", with_job(span=Span.NODE), start(1001, (1, 0b0100), (2, 0b1))),
    ("span", with_job(span=Span.RACK), start(1001, (1, 0b0100), (2, 0b1))),
    ("span", with_job(span=Span.SWITCH), start(1001, (1, 0b0100), (2, 0b1))),
    ("cpus", world(), start(1001, (1, 0b1100), cpus=9)),
    ("memory", world(), start(1001, (1, 0b1100), mem_mib=401)),
    ("negative", world(), start(1001, (1, 0b1100), cpus=-1)),
    ("blocked", with_job(blocked=1), GOOD_START),
    ("quota", world(quotas=[3]), GOOD_START),
    ("quota_of_type", world(type_quotas=[[3, -1]]), GOOD_START),
    ("energy_budget", world(energy_left_j=[0.0]), GOOD_START),
    ("power", world(power_budget_w=1000.0), GOOD_START),
    ("unknown_node", world(), start(1001, (99, 0b1100))),
]


@pytest.mark.parametrize(("code", "setting", "bad"), STARTS)
def test_a_bad_start_is_found(code: str, setting: World, bad: Start) -> None:
    assert codes(setting, Plan(starts=(bad,), **waits(1002))) == {code}


def test_borrowing_by_the_preemptible_is_fine() -> None:
    assert codes(world(), Plan(starts=(start(1001, (5, 0b11)),), **waits(1002))) == set()


def test_one_gpu_for_two_jobs() -> None:
    both = (GOOD_START, start(1002, (1, 0b0100)))
    assert codes(world(), Plan(starts=both, **waits())) == {"gpu_twice"}


def test_cpus_add_up_over_jobs() -> None:
    both = (start(1001, (1, 0b1100), cpus=5), start(1002, (1, 0b0100), cpus=5))
    assert "cpus" in codes(world(), Plan(starts=both, **waits()))


ENTRIES: list[tuple[str, dict[str, Any]]] = [
    ("no_entry", {**waits(1001)}),
    ("two_entries", {**waits(1001, 1002, 1002)}),
    ("two_entries", {"starts": (GOOD_START,), **waits(1001, 1002)}),
    ("not_queued", {**waits(1000, 1001, 1002)}),
    ("unknown_job", {**waits(1001, 1002, 77)}),
    ("not_running", {"clocks": (SetClock(1001, 900),), **waits(1001, 1002)}),
    ("two_entries", {"clocks": (SetClock(1000, 1), SetClock(1000, 2)), **waits(1001, 1002)}),
    ("claimant", {"preempts": (Preempt(1000, 1001, 0.0),), "starts": (GOOD_START,), **waits(1002)}),
    ("node_busy", {"power": (PowerNode(1, on=False),), **waits(1001, 1002)}),
    ("power_off", {"power": (PowerNode(2, on=False),), **waits(1001, 1002)}),
    ("node_not_off", {"power": (PowerNode(2, on=True),), **waits(1001, 1002)}),
    ("two_entries", {"power": (PowerNode(3, on=True),) * 2, **waits(1001, 1002)}),
]


@pytest.mark.parametrize(("code", "parts"), ENTRIES)
def test_bad_entries_are_found(code: str, parts: dict[str, Any]) -> None:
    assert codes(world(), Plan(**parts)) == {code}


def test_waits_need_their_evidence_and_a_reason_of_the_ladder() -> None:
    table = WaitTable.of(job=[1001, 1002], reason=[WaitReason.HELD, 3], evidence=[0, 1])
    found = codes(world(), Plan(waits=table, evidence=(Evidence(),)))
    assert found == {"evidence_missing", "unknown_reason"}


@pytest.mark.parametrize(
    ("code", "columns"),
    [
        ("not_preemptible", {"preemptible": False}),
        ("min_run", {"started_s": NOW_S - 10, "min_run_s": 11.0}),
        ("not_running", {"state": JobState.STOPPING}),
    ],
)
def test_only_the_preemptible_are_preempted(code: str, columns: dict[str, Any]) -> None:
    setting = world(jobs=[running((0, 0b0011), **columns), queued(2), queued(1)])
    plan = Plan(preempts=(Preempt(1000, 1001, 0.0),), **waits(1001, 1002))
    assert codes(setting, plan) == {code}


def test_a_resized_job_keeps_its_own_gpus_but_a_moved_one_must_leave() -> None:
    setting = world()
    setting.jobs[0].max_gpus = 3
    pieces = (Piece(1, 0b0111, 0, 0),)

    def check(**acts: Any) -> set[str]:
        return codes(setting, Plan(**acts, **waits(1001, 1002)))

    assert check(resizes=(Resize(1000, pieces),)) == set()
    assert check(moves=(Move(1000, pieces),)) == {"gpu_not_free"}
    assert check(moves=(Move(1000, (Piece(2, 0b11, 8, 400),)),)) == set()


def test_moved_jobs_may_change_places_but_nobody_starts_where_one_leaves() -> None:
    jobs = [running((0, 0b0011)), running((1, 0b0011)), queued(2)]
    there, back = Move(1000, (Piece(2, 0b0011, 0, 0),)), Move(1001, (Piece(1, 0b0011, 0, 0),))

    def check(*moves: Move, starts: tuple[Start, ...] = ()) -> set[str]:
        waiting = {} if starts else waits(1002)
        return codes(world(jobs=jobs), Plan(moves=moves, starts=starts, **waiting))

    assert check(there, back) == set()
    assert check(there) == {"gpu_not_free"}
    assert check(there, there) == {"two_entries", "gpu_twice", "node_twice", "gang_size"} | check(
        there
    )
    away = Move(1000, (Piece(2, 0b1100, 0, 0),))
    assert check(away, starts=(start(1002, (1, 0b0011)),)) == {"gpu_not_free"}


def test_retunes_stay_in_place_and_within_the_node_with_all_that_starts_there() -> None:
    """Node 1 has eight CPUs: the running job has six of them, or gives three up in the round."""
    job = running((0, 0b0011), cpus_per_gpu=3, mem_mib_per_gpu=100)
    setting = world(jobs=[job, queued(2), queued(1)])

    def check(pieces: tuple[Piece, ...], *starts: Start) -> set[str]:
        started = {act.job for act in starts}
        left = waits(*({1001, 1002} - started))
        return codes(setting, Plan(retunes=(Retune(1000, pieces),), starts=starts, **left))

    assert check((Piece(1, 0b0011, 8, 400),)) == set()
    assert check((Piece(1, 0b0011, 9, 401),)) == {"cpus", "memory"}
    assert check((Piece(1, 0b0001, 2, 100),)) == {"not_in_place"}
    assert check((Piece(2, 0b0011, 2, 100),)) == {"not_in_place"}
    five = start(1002, (1, 0b0100), cpus=5)
    assert check((Piece(1, 0b0011, 3, 100),), five) == set()
    assert check((Piece(1, 0b0011, 4, 100),), five) == {"cpus"}
    waiting = Plan(retunes=(Retune(1001, (Piece(1, 0b0100, 1, 1),)),), **waits(1001, 1002))
    assert "not_running" in codes(setting, waiting)


def test_quotas_already_exceeded_are_no_fault_of_a_plan_that_adds_nothing() -> None:
    assert codes(world(quotas=[1]), Plan(**waits(1001, 1002))) == set()


def test_power_already_exceeded_is_no_fault_of_a_plan_that_adds_nothing() -> None:
    assert codes(world(power_budget_w=1.0), Plan(**waits(1001, 1002))) == set()
