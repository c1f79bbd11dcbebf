"""The time ahead in slots: fine where work will start, for as many jobs as are planned in time."""

import numpy as np

from lab.benchmarks.plans.snapshots import priced
from policies.fairwatt.horizon import NEAR_S
from policies.fairwatt.parameters import FairwattParameters
from policies.fairwatt.problem import problem_of


def test_a_thousand_queued_jobs_are_planned_in_slots_of_minutes() -> None:
    """What a start is put off by rounding, and what the bound gives away, is a slot's length."""
    edges_s = problem_of(priced(128, 1_000, 500), FairwattParameters()).ahead.edges_s
    length_s = np.diff(edges_s)
    assert (length_s <= 0.03 * (edges_s[:-1] + NEAR_S) + 60.0).all()
    assert length_s[edges_s[:-1] < 600].max() <= 60.0
