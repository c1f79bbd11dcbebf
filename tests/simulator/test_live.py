"""The live queue as a world: it looks to a policy as the snapshot did, and runs on from there."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from policies.contract.snapshot import Blocked, JobState, NodeState, ProfileTable, Snapshot
from policies.pricing.tariff import FlatTariff
from policies.registry import build
from simulator.budgets import Allowance
from simulator.engine import Outcome, Pace
from simulator.live import OVERRUN, SHORTEST_S, EnergyTerms, Guess, Live, engine_from
from tests.policies.worlds import NOW_S, Job, Node, World
from tests.simulator.scripted import Scripted

FIFO = build("fifo", {})
EVENTS = Pace()


def live(world: World, **more: Any) -> Live:
    return engine_from(world.snapshot(), more.pop("policy", FIFO), EVENTS, **more)


def run(world: World, **more: Any) -> tuple[dict[int, float], Outcome]:
    """Finish by job id, in seconds from now."""
    started = live(world, **more)
    outcome = started.engine.run()
    times = (outcome.finished_s - NOW_S).tolist()
    return dict(zip(started.job_ids.tolist(), times, strict=True)), outcome


def running(gpus: int = 8, est_s: float = 100.0, ran_s: float = 40.0, **columns: Any) -> Job:
    facts = {"est_total_s": est_s, "attained_gpu_s": gpus * ran_s, "started_s": NOW_S - ran_s}
    mask = (1 << gpus) - 1
    return Job(gpus, on=[(0, mask, 0, 0)], state=JobState.RUNNING, columns={**facts, **columns})


def queued(gpus: int = 8, est_s: float = 100.0, **columns: Any) -> Job:
    return Job(gpus, columns={"est_total_s": est_s, "est_run_s": est_s, **columns})


def test_what_runs_goes_on_where_it_is_and_the_queue_follows() -> None:
    finished, outcome = run(World([Node()], [running(), queued(est_s=30), queued(est_s=7)]))
    assert finished == pytest.approx({1000: 60.0, 1001: 90.0, 1002: 97.0})
    assert outcome.first_start_s.tolist() == [NOW_S - 40, NOW_S + 60, NOW_S + 90]


def test_without_an_estimate_the_guess_counts() -> None:
    jobs = [running(est_s=np.nan), queued(est_s=np.nan)]
    finished, _ = run(World([Node()], jobs), guess=Guess(run_s=50.0))
    assert finished == pytest.approx({1000: 10.0, 1001: 60.0})


def test_what_has_outlived_its_estimate_runs_a_little_longer() -> None:
    finished, _ = run(World([Node()], [running(est_s=40.0, ran_s=60.0)]))
    assert finished[1000] == pytest.approx(60.0 * OVERRUN + 1)


@pytest.mark.parametrize("blocked", [Blocked.HELD, Blocked.DEPENDENCY])
def test_what_may_not_start_does_not_take_part(blocked: Blocked) -> None:
    started = live(World([Node()], [queued(), queued(blocked=blocked), queued()]), left_out={1002})
    assert started.job_ids.tolist() == [1000]


def test_what_is_stopping_holds_its_gpus_a_little_longer_and_is_then_back_in_the_queue() -> None:
    job = running()
    job.state = JobState.STOPPING
    for guess in (Guess(), Guess(end_s=5.0)):
        stop_s = max(guess.end_s, SHORTEST_S)
        finished, outcome = run(World([Node()], [job, queued(est_s=30)]), guess=guess)
        assert outcome.first_start_s.tolist() == [NOW_S - 40, NOW_S + stop_s + 60 + guess.end_s]
        assert finished[1000] == pytest.approx(stop_s + 60.0 + guess.end_s)


def test_energy_of_the_period_runs_out_until_the_next_one_begins() -> None:
    """Each job draws 250 W beside 400 W of idle GPUs; for ten minutes there is enough for one."""
    jobs = [running(gpus=1, est_s=3600), queued(gpus=1), queued(gpus=1)]
    left_j = 600 * (400.0 + 250.0 + 10.0)
    world = World([Node()], jobs, cluster_energy_left_j=left_j, energy_until_s=NOW_S + 600)
    for later, started_s in (None, 600.0), (Allowance(period_j=6e6, period_s=6000.0), 600.0):
        terms = EnergyTerms(allowance=later)
        ticks = Pace(interval_s=100.0, until_s=NOW_S + 700)
        engine = engine_from(world.snapshot(), FIFO, ticks, terms=terms).engine
        assert engine.run().first_start_s[1] - NOW_S == started_s


def test_energy_of_later_periods_is_what_the_terms_say() -> None:
    world = World([Node()], [queued(), queued()], cluster_energy_left_j=5e5, energy_until_s=NOW_S)
    world.energy_until_s = NOW_S + 100
    policy, terms = Scripted(), EnergyTerms(allowance=Allowance(period_j=7e6, period_s=300.0))
    pace = Pace(interval_s=100.0, until_s=NOW_S + 500)
    engine_from(world.snapshot(), policy, pace, terms=terms).engine.run()
    seen = [(round(one.energy_left_j), one.energy_until_s - NOW_S) for one in policy.seen]
    spent = [7_000_000 - 40_000 * steps for steps in range(3)]
    assert seen == [
        (500_000, 100),
        *((left_j, 400) for left_j in spent),
        (7_000_000, 700),
        (6_960_000, 700),
    ]


def test_what_boots_comes_up_a_little_later_and_is_then_used() -> None:
    nodes = [Node(state=NodeState.BOOTING), Node(state=NodeState.UNAVAILABLE)]
    finished, outcome = run(World(nodes, [queued(est_s=30)]))
    assert finished == pytest.approx({1000: SHORTEST_S + 30.0})
    assert outcome.first_start_s.tolist() == [NOW_S + SHORTEST_S]


def test_draining_nodes_end_what_they_run_and_get_nothing_new() -> None:
    nodes = [Node(state=NodeState.DRAINING), Node()]
    finished, outcome = run(World(nodes, [running(), queued(), queued()]))
    assert finished == pytest.approx({1000: 60.0, 1001: 100.0, 1002: 200.0})
    assert [piece[0] for pieces in outcome.log.pieces for piece in pieces] == [0, 1, 1]


def test_broken_gpus_stay_broken() -> None:
    _, outcome = run(World([Node(broken=0b1)], [queued(gpus=8)]))
    assert np.isnan(outcome.first_start_s[0])


def test_gpus_held_in_other_clusters_count_against_the_quota() -> None:
    world = World([Node()], [running(gpus=2), queued(gpus=6)], quotas=[9])
    snapshot = world.snapshot()
    elsewhere = dict(snapshot.tenants.columns())
    elsewhere["used_gpus"] = np.array([5], np.int32)
    tenants = type(snapshot.tenants).of(**elsewhere)
    started = engine_from(_with(snapshot, tenants=tenants), FIFO, EVENTS)
    outcome = started.engine.run()
    # Two here and three elsewhere leave four of nine; once ours are free, six.
    assert outcome.first_start_s[1] == NOW_S + 60


def test_work_counted_in_steps_is_taken_from_the_profile() -> None:
    world = World([Node()], [queued(profile=0, work_total=1000.0, work_left=600.0, est_s=np.nan)])
    snapshot = _with(world.snapshot(), profiles=_profile(10.0))
    outcome = engine_from(snapshot, FIFO, EVENTS).engine.run()
    assert outcome.finished_s[0] - NOW_S == pytest.approx(60.0)


def test_a_type_that_was_not_measured_runs_as_fast_as_the_others() -> None:
    job = queued(profile=0, work_total=1000.0, work_left=1000.0)
    world = World([Node(gpu_type=1)], [job], gpu_types=("A100", "H100"))
    snapshot = _with(world.snapshot(), profiles=_profile(10.0, np.nan))
    outcome = engine_from(snapshot, FIFO, EVENTS).engine.run()
    assert outcome.finished_s[0] - NOW_S == pytest.approx(100.0)


def test_a_demand_charge_goes_on_from_the_peak_of_the_snapshot() -> None:
    snapshot = replace(World([Node()], [queued(), queued()]).snapshot(), peak_w=5000.0)
    policy = Scripted()
    tariff = FlatTariff(Decimal("0.1"), Decimal(10))
    terms = EnergyTerms(tariff=tariff)
    engine_from(snapshot, policy, Pace(until_s=NOW_S + 60), terms=terms).engine.run()
    assert (policy.seen[0].peak_w, policy.seen[0].demand_price_per_w) == (5000.0, 0.01)


def test_seeds_change_run_times_and_none_keeps_them() -> None:
    world = World([Node()], [queued(), queued()])
    spread = {seed: run(world, guess=Guess(spread=0.5, seed=seed))[0] for seed in (1, 2)}
    assert run(world, guess=Guess(spread=0.5))[0] == pytest.approx({1000: 100.0, 1001: 200.0})
    assert spread[1] != spread[2]
    assert spread[1] == run(world, guess=Guess(spread=0.5, seed=1))[0]


def test_an_empty_cluster_has_nothing_to_run() -> None:
    assert run(World([Node()], []))[0] == {}


def _with(snapshot: Snapshot, **tables: Any) -> Snapshot:
    kept = {name: getattr(snapshot, name) for name in snapshot.__dataclass_fields__}
    return Snapshot(**{**kept, **tables})


def _profile(*steps_per_s: float) -> ProfileTable:
    kinds = len(steps_per_s)
    shape = (1, kinds, 1, 1)
    return ProfileTable.of(
        id=[7],
        gpu_counts=[8],
        clocks_mhz=np.full((kinds, 1), 1000),
        throughput=np.reshape(steps_per_s, shape),
        watts_per_gpu=np.full(shape, 200.0),
        cpus_per_gpu=[],
        mem_mib_per_gpu=[],
        relative_speed=np.empty((1, 0, 0)),
    )
