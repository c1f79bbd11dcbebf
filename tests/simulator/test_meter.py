"""The meter of demand charges: what policies see of it, and that the bill agrees."""

import dataclasses
from decimal import Decimal

import numpy as np
import pytest

from policies.contract.plan import Plan, PowerNode
from policies.contract.snapshot import Snapshot
from policies.pricing.peak import Metered
from policies.pricing.periods import PricePeriod
from policies.pricing.tariff import FlatTariff, TimeOfUseTariff
from policies.registry import build
from simulator.engine import Engine, Outcome, Pace
from simulator.measure import measure
from simulator.meter import UtilityMeter
from simulator.setting import Setting
from tests.simulator.scripted import Scripted, jobs_of, machines_of, outcome_of, setting_of, start

FLAT = FlatTariff(Decimal("0.1"), Decimal(10))
QUARTER_S = 900.0
# 2024-02-01 at midnight in UTC.
FEBRUARY_S = 1_706_745_600.0


def halves(first: int, second: int) -> TimeOfUseTariff:
    """A charge until noon, and one after it."""
    every = frozenset(range(1, 13)), frozenset(range(7))
    price = Decimal("0.1")
    return TimeOfUseTariff(
        (
            PricePeriod(*every, 0, 720, price, demand_charge_per_kw=Decimal(first)),
            PricePeriod(*every, 720, 1440, price, demand_charge_per_kw=Decimal(second)),
        ),
        "UTC",
    )


def test_a_quarter_counts_when_it_is_over_by_its_mean() -> None:
    meter = UtilityMeter(FLAT, 0.0)
    meter.change(0.0, 1000.0)
    meter.change(300.0, 600.0)
    assert meter.seen(899.0) == (0.0, 0.01)
    assert meter.seen(900.0)[0] == pytest.approx(1400.0)
    meter.change(1000.0, -1600.0)
    assert meter.seen(10 * QUARTER_S)[0] == pytest.approx(1400.0)
    meter.change(10 * QUARTER_S, 1500.0)
    assert meter.seen(20 * QUARTER_S)[0] == pytest.approx(1500.0)


def test_a_month_begins_with_no_peak() -> None:
    meter = UtilityMeter(FLAT, FEBRUARY_S - 3600, peak_w=5000.0)
    meter.change(FEBRUARY_S - 3600, 1000.0)
    assert meter.seen(FEBRUARY_S - 1)[0] == 5000.0
    assert meter.seen(FEBRUARY_S)[0] == 0.0
    assert meter.seen(FEBRUARY_S + QUARTER_S)[0] == 1000.0
    long = UtilityMeter(FLAT, FEBRUARY_S - 3600, peak_w=5000.0)
    long.change(FEBRUARY_S - 3600, 1000.0)
    assert long.seen(FEBRUARY_S + QUARTER_S)[0] == 1000.0


def test_a_policy_sees_the_peak_and_its_price() -> None:
    """One node idles at 180 W; two GPUs add 440 W for half an hour, from 300 s on; PUE is 1.5."""
    setting = setting_of(jobs_of((0, 10_000, 2), (0, 1e9, 4)), machines_of(1))
    setting = dataclasses.replace(setting, tariff=FLAT, pue=1.5)
    policy = Scripted(Plan(), Plan(starts=(start(0, 0, 0b11),)))
    outcome_of(setting, policy, on_events=False, interval_s=300.0, until_s=1500.0)
    seen = [(one.peak_w, one.demand_price_per_w) for one in policy.seen]
    mean_w = 1.5 * (180 + 440 * 600 / 900)
    assert seen[:3] == [(0.0, 0.01)] * 3
    assert seen[3][0] == pytest.approx(mean_w)
    plain = Scripted()
    outcome_of(dataclasses.replace(setting, tariff=None), plain, until_s=100.0)
    assert {(one.peak_w, one.demand_price_per_w) for one in plain.seen} == {(0.0, 0.0)}


def random_run(
    tariff: Metered, seed: int, *, empty_nodes_off: bool = False
) -> tuple[Outcome, Engine]:
    """Jobs of minutes to hours for a day, the last of which never ends."""
    rng = np.random.default_rng(seed)
    jobs = [
        (float(at), float(work), int(gpus))
        for at, work, gpus in zip(
            np.sort(rng.uniform(0, 80_000, 60)),
            rng.uniform(60, 9000, 60),
            rng.integers(1, 5, 60),
            strict=True,
        )
    ]
    setting: Setting = dataclasses.replace(
        setting_of(jobs_of((0.0, 1e9, 1), *jobs)),
        tariff=tariff,
        pue=1.3,
        empty_nodes_off=empty_nodes_off,
        outages=((20_000.0, 1, 30_000.0),),
    )
    engine = Engine(setting, build("fifo", {}), Pace(until_s=86_400.0))
    return engine.run(), engine


@pytest.mark.slow
@pytest.mark.parametrize("empty_nodes_off", [False, True])
@pytest.mark.parametrize("tariff", [FLAT, halves(3, 7)])
def test_the_bill_is_for_the_peaks_that_were_metered(
    tariff: Metered, empty_nodes_off: bool
) -> None:
    for seed in range(3):
        outcome, engine = random_run(tariff, seed, empty_nodes_off=empty_nodes_off)
        meter = engine.world.consumption.meter
        assert meter is not None
        peak_w, per_w = meter.seen(86_399.0)
        cost = peak_w * per_w
        if isinstance(tariff, TimeOfUseTariff):
            cost = (meter.peaks_w[1] * 3 + meter.peaks_w[2] * 7) / 1000
        assert measure(outcome, tariff).summary["demand_cost"] == pytest.approx(cost)


def test_nodes_that_are_switched_off_are_not_metered() -> None:
    setting = dataclasses.replace(setting_of(jobs_of((0, 1e9, 1))), tariff=FLAT)
    policy = Scripted(Plan(power=(PowerNode(1, on=False),)))
    outcome_of(setting, policy, on_events=False, interval_s=900.0, until_s=3600.0)
    assert policy.seen[-1].peak_w == pytest.approx(180.0)


def test_fairwatt_keeps_a_run_below_the_peak_it_has_had() -> None:
    """Four jobs of an hour, two GPUs: at 1 a watt they run one after the other, else in pairs.

    Pairs wait 6 h for 0.6, the others 10 h for 1.0; a second GPU is 240 W more.
    """

    def peak_w(charge: int) -> float:
        tariff = FlatTariff(Decimal("0.1"), Decimal(charge))
        setting = setting_of(jobs_of(*[(0.0, 3600.0, 1)] * 4), machines_of(1, gpus=2))
        setting = dataclasses.replace(setting, tariff=tariff, price=tariff.curve(0, 30 * 86_400))
        policy = build("fairwatt", {"wait_price_per_h": 0.1, "power_off": False})
        measured = measure(Engine(setting, policy, Pace()).run(), tariff)
        assert measured.summary["finished"] == 4
        return measured.summary["demand_cost"] / charge * 1000

    assert peak_w(1) == pytest.approx(140 + 2 * (200 + 40))
    assert peak_w(1000) == pytest.approx(140 + 200 + 40)


def test_snapshots_keep_what_they_saw() -> None:
    setting = dataclasses.replace(setting_of(jobs_of((0, 1e9, 1))), tariff=FLAT, peak_w=77.0)
    policy = Scripted()
    outcome_of(setting, policy, until_s=10.0)
    again = Snapshot.from_bytes(policy.seen[0].to_bytes())
    assert (again.peak_w, again.demand_price_per_w) == (77.0, 0.01)
