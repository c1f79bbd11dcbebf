"""When rounds are held, and when a run is over."""

import numpy as np

from policies.contract.plan import Plan, Preempt
from tests.simulator.scripted import Scripted, jobs_of, outcome_of, setting_of, start


def rounds_at(policy: Scripted) -> list[float]:
    return [snapshot.now_s for snapshot in policy.seen]


def test_rounds_since_which_nothing_has_changed_can_be_left_out() -> None:
    """A job that nobody starts waits from 0 on; another comes at 450 and is started at once."""
    setting = setting_of(jobs_of((0, 100, 1), (450, 100, 1)))
    asked = {"interval_s": 100.0, "on_events": False, "until_s": 750.0}
    begins = (Plan(), Plan(starts=(start(1),)))

    held = Scripted(*(Plan(),) * 5, begins[1])
    outcome_of(setting, held, **asked)
    assert rounds_at(held) == [0, 100, 200, 300, 400, 500, 600, 700]

    changed = Scripted(*begins)
    outcome_of(setting, changed, **asked, unchanged="none")
    assert rounds_at(changed) == [0, 500, 600]

    queued = Scripted(*(Plan(),) * 5, begins[1])
    outcome_of(setting, queued, **asked, unchanged="queued")
    assert rounds_at(queued) == rounds_at(held)


def test_work_that_stops_at_once_is_followed_by_a_round_at_once() -> None:
    plans = (
        Plan(starts=(start(0),)),
        Plan(preempts=(Preempt(0, 1, 0.0),)),
        Plan(starts=(start(1),)),
        Plan(starts=(start(0),)),
    )
    setting = setting_of(jobs_of((0, 500, 1), (50, 30, 1)))
    asked = {"interval_s": 100.0, "on_events": False}
    later = outcome_of(setting, Scripted(*plans), **asked)
    assert later.first_start_s.tolist() == [0, 200]
    at_once = outcome_of(setting, Scripted(*plans), **asked, follow_up=True)
    assert at_once.first_start_s.tolist() == [0, 100]


def test_a_run_about_the_first_jobs_ends_with_the_last_of_them() -> None:
    starts = [Plan(starts=(start(row, gpus=1 << row),)) for row in range(3)]
    setting = setting_of(jobs_of((0, 300, 1), (10, 50, 1), (20, 5000, 1)))
    outcome = outcome_of(setting, Scripted(*starts), first_jobs=2)
    assert outcome.ended_s == 300
    assert np.isnan(outcome.finished_s).tolist() == [False, False, True]
