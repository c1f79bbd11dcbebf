"""Real tariffs: a flat one is the paper's model, a cheap night is used, an unknown price is not."""

import numpy as np
import pytest

from lab.experiments.andreas.settings import ANDREAS
from policies.andreas.formulate import formulate
from policies.andreas.parameters import AndreasParameters
from policies.andreas.policy import Andreas
from policies.contract.invariants import check_plan
from policies.contract.plan import Plan
from policies.contract.snapshot import PriceTable, Snapshot
from policies.explain.reasons import WaitReason
from policies.pricing.price_line import price_line
from tests.policies.andreas.published import (
    CONV_NET,
    NOW_S,
    PRICE,
    PUE,
    TESLA,
    TURING,
    paper_snapshot,
)

PAPER = AndreasParameters(**ANDREAS)
NIGHT_S = 3600.0
RUN_S = 20.5382 * 160


def told(*prices: tuple[float, float]) -> PriceTable:
    """(seconds from now, price) in their order."""
    return PriceTable.of(
        from_s=[NOW_S + at for at, _ in prices], price_per_kwh=[price for _, price in prices]
    )


def by_day_and_night(due_s: float, prices: PriceTable | None = None, **job: float) -> Snapshot:
    """One ConvNet of 55 minutes on a TESLA; energy costs a quarter from an hour on."""
    night = told((-7200.0, 0.40), (NIGHT_S, 0.10))
    return paper_snapshot(
        [TESLA, TURING],
        [{"app": CONV_NET, "epochs": 160, "due_s": due_s, **job}],
        prices=night if prices is None else prices,
    )


def wait_of(plan: Plan) -> tuple[WaitReason, float | None]:
    (wait,) = plan.iter_waits()
    return wait.reason, wait.until_s


def test_a_flat_tariff_equals_the_papers_formula_and_the_default_price() -> None:
    jobs = [{"epochs": 120, "due_s": 5000 + at, "app": at % 4} for at in range(9)]
    # Cut at hours that change nothing.
    cut = told((-7200.0, PRICE), (600.0, PRICE), (1200.0, PRICE))
    plans = [
        Andreas(PAPER).plan(paper_snapshot([TESLA, TURING] * 2, jobs, prices=prices))
        for prices in (None, cut, PriceTable.unknown())
    ]
    assert plans[0].canonical() == plans[1].canonical() == plans[2].canonical()


def test_the_integral_of_the_price_is_what_energy_costs() -> None:
    """1 W for 2 h: an hour at 0.40, an hour at 0.10, PUE 1.33; and nothing for no time."""
    line = price_line(by_day_and_night(1e6), 0.2)
    assert line.cost(0.0, np.array(7200.0)) == pytest.approx((0.40 + 0.10) / 1000 * PUE)
    assert line.cost(3000.0, np.array(4200.0)) == pytest.approx((0.40 + 0.10) / 6000 * PUE)
    assert line.cost(50.0, np.array(50.0)) == 0.0


def test_a_job_with_slack_waits_for_the_cheap_night_and_starts_in_it() -> None:
    snapshot = by_day_and_night(due_s=30_000)
    plan = Andreas(PAPER).plan(snapshot)
    assert check_plan(snapshot, plan) == []
    assert wait_of(plan) == (WaitReason.TARIFF, NOW_S + NIGHT_S)
    by_night = by_day_and_night(30_000, told((-60.0, 0.10), (20_000.0, 0.40)))
    assert len(Andreas(PAPER).plan(by_night).starts) == 1


def test_a_job_whose_slowest_time_would_miss_the_due_date_starts_now() -> None:
    """From the night on a TURING would take 6601 s: due before 10201 s, waiting is a risk."""
    assert wait_of(Andreas(PAPER).plan(by_day_and_night(3600 + 41.2582 * 160 + 1)))[0] is (
        WaitReason.TARIFF
    )
    plan = Andreas(PAPER).plan(by_day_and_night(3600 + 41.2582 * 160 - 60, weight=0.001))
    assert len(plan.starts) == 1


@pytest.mark.parametrize(
    "snapshot",
    [
        by_day_and_night(np.inf),
        by_day_and_night(30_000, told((-60.0, 0.40), (NIGHT_S, np.nan), (7200.0, 0.01))),
        by_day_and_night(90_000, told((-60.0, 0.40), (50_000.0, 0.10))),
        by_day_and_night(30_000, told((-60.0, 0.40), (NIGHT_S, 0.39))),
        by_day_and_night(30_000, told((-60.0, 0.40), (NIGHT_S, 0.80))),
    ],
    ids=["no due date", "unknown night", "too far away", "hardly cheaper", "dearer"],
)
def test_nobody_waits_without_a_good_reason(snapshot: Snapshot) -> None:
    assert len(Andreas(PAPER).plan(snapshot).starts) == 1


def test_waiting_saves_what_it_says() -> None:
    """The expected cost of starting now and at night, by hand: 530 W for 3286 s."""
    now = Andreas(AndreasParameters(**{**ANDREAS, "most_deferral_s": 0.0, "post_process": False}))
    dear = now.plan(by_day_and_night(5000)).shown
    cheap_night = by_day_and_night(5000, told((-60.0, 0.10), (20_000.0, 0.40)))
    cheap = now.plan(cheap_night).shown
    kwh = 530 * RUN_S / 3.6e6 * PUE
    assert dear["energy_cost"] == pytest.approx(0.40 * kwh)
    assert cheap["energy_cost"] == pytest.approx(0.10 * kwh)


def test_a_dear_evening_makes_the_faster_configuration_the_cheaper_one() -> None:
    """ConvNet 160: one TESLA 530 W for 3286 s, two 700 W for 2849 s; after 2849 s energy is dear.

    One TESLA: 530 x (2849 x 0.1 + 437 x 3.0) = 846 k; two: 700 x 2849 x 0.1 = 199 k.
    """
    evening = told((-60.0, 0.1), (17.8042 * 160, 3.0))
    snapshot = by_day_and_night(30_000, evening)
    line = price_line(snapshot, 0.2)
    known = formulate(snapshot, np.arange(1), PAPER, line).configurations
    assert (known.ways.gpu_type[0], known.ways.gpus[0]) == (TESLA, 2)
    flat = by_day_and_night(30_000, told((-60.0, 0.1)))
    line = price_line(flat, 0.2)
    known = formulate(flat, np.arange(1), PAPER, line).configurations
    assert (known.ways.gpu_type[0], known.ways.gpus[0]) == (TESLA, 1)
