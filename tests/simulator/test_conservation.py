"""GPU-seconds, joules and money agree with a second, slow, obvious implementation."""

import numpy as np
import pytest

from policies.contract.columns import F64, I64
from simulator.energy import energy
from simulator.engine import Engine
from simulator.log import StretchEnd
from simulator.metrics.jobs import job_results
from tests.simulator.slow_world import SlowWorld
from tests.simulator.worlds import small_world

pytestmark = pytest.mark.slow

WORLDS = 200


@pytest.mark.parametrize("block", range(10))
def test_small_worlds_agree_with_the_slow_one(block: int) -> None:
    for seed in range(block, WORLDS, 10):
        setting, policy, pace = small_world(seed)
        outcome = Engine(setting, policy, pace).run()
        slow = SlowWorld(setting, policy, pace)
        slow.run()
        stretches = outcome.log.table()
        spent = energy(outcome, stretches)
        jobs = job_results(outcome, stretches, spent)

        def agree(
            fast: F64 | I64, attribute: str, seed: int = seed, slow: SlowWorld = slow
        ) -> None:
            obvious = np.array([getattr(job, attribute) for job in slow.jobs])
            np.testing.assert_allclose(
                fast, obvious, rtol=1e-9, atol=1e-9, err_msg=f"{attribute} in world {seed}"
            )

        assert outcome.rounds == slow.rounds, seed
        finished_s = [job.finished_s for job in slow.jobs]
        # Seconds since the epoch carry rounding of a quarter of a microsecond.
        np.testing.assert_allclose(outcome.finished_s, finished_s, rtol=0, atol=1e-6)
        agree(jobs.held_gpu_s, "held_gpu_s")
        agree(jobs.lost_gpu_s, "lost_gpu_s")
        agree(jobs.energy_j, "joules")
        agree(jobs.energy_cost, "money")
        agree(jobs.carbon_g, "grams")
        agree(jobs.preemptions, "preemptions")
        agree(jobs.migrations, "migrations")
        agree(jobs.failures, "failures")
        idle = (spent.idle_j, spent.idle_cost, spent.idle_carbon_g)
        obvious_idle = (slow.idle_joules, slow.idle_money, slow.idle_grams)
        np.testing.assert_allclose(idle, obvious_idle, rtol=1e-9, atol=1e-9)


def test_the_worlds_are_worth_comparing() -> None:
    """Among them are preemptions, failures, lost work, lending and jobs over several nodes."""
    preempted = moved = failed = lost = spread = unfinished = 0
    for seed in range(100):
        setting, policy, pace = small_world(seed)
        outcome = Engine(setting, policy, pace).run()
        stretches = outcome.log.table()
        preempted += int((stretches.end == StretchEnd.PREEMPTED).sum())
        moved += int((stretches.end == StretchEnd.MOVED).sum())
        failed += int((stretches.end == StretchEnd.FAILED).sum())
        lost += int((stretches.lost_work > 0).sum())
        spread += sum(len(pieces) > 1 for pieces in outcome.log.pieces)
        unfinished += int(np.isnan(outcome.finished_s).sum())
    assert min(preempted, failed, lost, spread) > 10
    assert moved > 3
    assert unfinished < 100
