"""TUNE by hand: the demand, else the proportional share, else what others have beyond theirs."""

from policies.contract.snapshot import JobState
from policies.explain.reasons import WaitReason
from tests.policies.synergy.tables import (
    IMAGE,
    LANGUAGE,
    SPEECH,
    after,
    planned,
    shares,
    wants,
)
from tests.policies.worlds import Job, Node, Piece, World


def runs(*on: Piece, profile: int = -1, **columns: object) -> Job:
    gpus = sum(mask.bit_count() for _, mask, _, _ in on)
    facts = {"profile": profile, "started_s": 0.0, **columns}
    return Job(gpus=gpus, on=list(on), state=JobState.RUNNING, columns=facts)


# Proportional: three CPUs and 1000 MiB per GPU.
FOUR = Node(gpus=4, cpus=12, mem_mib=4000)


def test_everybody_gets_the_demand_where_there_is_room() -> None:
    plan = planned(World([FOUR], [wants(1, IMAGE), wants(1, LANGUAGE), wants(1, LANGUAGE)]))
    assert shares(plan) == {0: (9, 1000), 1: (1, 500), 2: (1, 500)}
    assert plan.shown["total_speed"] == 2.4 + 1 + 1


def test_memory_is_demanded_with_the_cpus_that_need_it() -> None:
    plan = planned(World([FOUR], [wants(1, SPEECH)]))
    assert shares(plan) == {0: (6, 2000)}


def test_what_does_not_fit_falls_back_to_the_proportional_share() -> None:
    world = World([Node(gpus=3, cpus=12, mem_mib=3000)], [wants(1, IMAGE), wants(1, IMAGE)])
    # Four CPUs per GPU are the proportional share here; three are left beside nine, so the first
    # gives back what it has beyond its own, and has then what is left of the twelve.
    assert planned(world).shown["total_speed"] == 1.7 + 1.7


def test_the_surplus_of_a_resident_is_taken_back() -> None:
    resident = runs((0, 0b0001, 9, 1000), profile=IMAGE)
    plan = planned(World([FOUR], [resident, wants(3, IMAGE)]))
    assert [retune.job for retune in plan.retunes] == [1000]
    assert shares(plan) == {0: (3, 1000), 1: (9, 3000)}
    assert plan.shown["total_speed"] == 1 + 1


def test_the_surplus_comes_from_who_has_the_most_and_no_more_than_is_needed() -> None:
    residents = [
        runs((0, 0b0001, 9, 1000), profile=IMAGE),
        runs((0, 0b0010, 6, 2000), profile=SPEECH),
    ]
    node = Node(gpus=5, cpus=15, mem_mib=5000)
    plan = planned(World([node], [*residents, wants(1, IMAGE)]))
    # The first falls from nine to three; of the six, three go to the newcomer, and three are again
    # the first one's, for the next measured point.
    assert shares(plan) == {0: (6, 1000), 2: (3, 1000)}


def test_a_job_that_states_requests_is_given_exactly_these_and_keeps_them() -> None:
    hard = runs((0, 0b0001, 9, 1000), cpus_per_gpu=9, mem_mib_per_gpu=1000)
    plan = planned(World([FOUR], [hard, wants(3, LANGUAGE), wants(1, -1, cpus_per_gpu=4)]))
    assert plan.retunes == ()
    assert shares(plan) == {1: (3, 1500)}
    alone = planned(World([FOUR], [wants(1, -1, cpus_per_gpu=4, mem_mib_per_gpu=100)]))
    assert shares(alone) == {0: (4, 100)}


def test_who_cannot_have_the_modest_share_waits() -> None:
    hard = runs((0, 0b0001, 11, 1000), cpus_per_gpu=11, mem_mib_per_gpu=1000)
    plan = planned(World([FOUR], [hard, wants(1, IMAGE)]))
    assert plan.starts == ()
    assert plan.retunes == ()


def test_greedy_strands_a_gpu_where_tune_does_not() -> None:
    world = World([Node(gpus=2, cpus=9, mem_mib=2000)], [wants(1, IMAGE), wants(1, IMAGE)])
    greedy = planned(world, packing="greedy")
    assert shares(greedy) == {0: (9, 1000)}
    tuned = planned(world, packing="tune")
    # Four CPUs each are proportional; what is measured at three is all they reach.
    assert set(shares(tuned)) == {0, 1}
    assert planned(world, packing="proportional").shown["total_speed"] == 1 + 1
    assert tuned.shown["total_speed"] >= 2


def test_proportional_gives_everybody_the_same_per_gpu() -> None:
    world = World([FOUR], [wants(1, IMAGE), wants(2, LANGUAGE)])
    assert shares(planned(world, packing="proportional")) == {0: (3, 1000), 1: (6, 2000)}


def test_what_a_job_leaves_goes_to_who_is_below_its_demand() -> None:
    hungry = runs((0, 0b0001, 3, 1000), profile=IMAGE)
    assert shares(planned(World([FOUR], [hungry]))) == {0: (9, 1000)}
    beside = runs((0, 0b0010, 6, 1000), cpus_per_gpu=6, mem_mib_per_gpu=1000)
    assert shares(planned(World([FOUR], [hungry, beside]))) == {0: (6, 1000)}


def test_what_a_resident_does_not_need_goes_to_another_in_the_same_round() -> None:
    hungry, content = (
        runs((0, 0b0001, 3, 1000), profile=IMAGE),
        runs((0, 0b1110, 9, 3000), profile=LANGUAGE),
    )
    assert shares(planned(World([FOUR], [hungry, content]))) == {0: (9, 1000), 1: (3, 1500)}


def test_a_spread_job_takes_in_proportion_to_its_gpus() -> None:
    filled = runs((0, 0b0111, 3, 1500), profile=LANGUAGE)
    plan = planned(World([FOUR, Node(gpus=2, cpus=6, mem_mib=2000)], [filled, wants(3, LANGUAGE)]))
    (start,) = plan.starts
    assert {(p.node, p.gpus.bit_count(), p.cpus) for p in start.pieces} == {(2, 2, 2), (1, 1, 1)}


def test_a_spread_resident_gives_back_on_all_its_nodes_and_last() -> None:
    spread = runs((0, 0b0001, 9, 1000), (1, 0b0001, 9, 1000), profile=IMAGE)
    single = runs((0, 0b0010, 3, 1000), profile=IMAGE)
    plan = planned(World([FOUR, FOUR], [spread, single, wants(2, -1, cpus_per_gpu=3)]))
    (retune,) = plan.retunes
    assert [piece.cpus for piece in retune.pieces] == [3, 3]


def test_the_order_decides_who_runs_and_the_others_are_told() -> None:
    jobs = [
        runs((0, 0b1111, 4, 2000), profile=LANGUAGE, est_run_s=9000.0),
        wants(4, IMAGE, est_run_s=100.0),
    ]
    world = World([FOUR], jobs)
    first = planned(world, ordering="srtf")
    assert [(p.job, p.for_job) for p in first.preempts] == [(1000, 1001)]
    assert [wait.reason for wait in first.iter_waits()] == [WaitReason.PREEMPTED_WORK]
    second = after(after(world, first), planned(after(world, first), ordering="srtf"))
    assert [start.job for start in planned(second, ordering="srtf").starts] == [1001]
    assert planned(world, ordering="fifo").preempts == ()
    assert planned(world, ordering="srtf", preempt=False).preempts == ()


def test_two_jobs_change_places_when_one_gains_and_the_other_does_not_lose() -> None:
    crowded = [
        runs((0, 0b0001, 3, 1000), profile=IMAGE),
        runs((0, 0b0010, 9, 1000), cpus_per_gpu=9, mem_mib_per_gpu=1000, preemptible=False),
        runs((1, 0b0001, 1, 500), profile=LANGUAGE),
    ]
    world = World([FOUR, FOUR], crowded)
    assert planned(world).moves == ()
    plan = planned(world, migration=True)
    moved = {move.job: move.pieces[0] for move in plan.moves}
    assert (moved[1000].node, moved[1000].gpus, moved[1000].cpus) == (2, 0b0001, 9)
    assert (moved[1002].node, moved[1002].gpus, moved[1002].cpus) == (1, 0b0001, 1)


def test_what_a_stopped_job_holds_is_not_given_away_before_it_has_stopped() -> None:
    jobs = [
        runs((0, 0b01, 4, 1000), profile=LANGUAGE, est_run_s=9000.0),
        runs((0, 0b10, 4, 1000), profile=IMAGE, est_run_s=50.0),
        wants(1, LANGUAGE, est_run_s=100.0),
    ]
    world = World([Node(gpus=2, cpus=8, mem_mib=2000)], jobs)
    plan = planned(world, ordering="srtf")
    assert [preempt.job for preempt in plan.preempts] == [1000]
    assert plan.retunes == ()
