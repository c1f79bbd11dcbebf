"""Millijoules and money: nothing lost in sharing, one rounding in pricing."""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from energy.ledger.money import cost_mj, exact_cost, split_mj, to_money
from policies.pricing.curve import PriceWindow

KWH_MJ = 3_600_000_000


def windows_of(*lengths: float) -> list[PriceWindow]:
    ends = [sum(lengths[: i + 1]) for i in range(len(lengths))]
    return [PriceWindow(a, b, None) for a, b in pairwise([0, *ends])]


def test_a_kilowatt_hour_costs_its_price_to_the_last_place() -> None:
    assert cost_mj(KWH_MJ, Decimal("0.123456789012")) == Decimal("0.123456789012")
    assert cost_mj(7 * KWH_MJ, Decimal("-0.05")) == Decimal("-0.35")
    assert cost_mj(0, Decimal("0.3")) == 0


def test_a_millijoule_is_rounded_once_to_twelve_places() -> None:
    assert cost_mj(1, Decimal(1)) == Decimal("0.000000000278")
    assert str(cost_mj(1, Decimal("0.001"))) == "0E-12"


def test_halves_round_to_even() -> None:
    assert to_money(Fraction(1, 8), places=2) == Decimal("0.12")
    assert to_money(Fraction(3, 8), places=2) == Decimal("0.38")


def test_money_does_not_depend_on_the_decimal_context() -> None:
    with localcontext(prec=3):
        assert cost_mj(10**15 * KWH_MJ, Decimal("0.123456789012")) == Decimal(123456789012000)


@given(st.lists(st.tuples(st.integers(0, 10**15), st.decimals(-1000, 1000, places=12)), max_size=9))
def test_exact_costs_add_up_exactly(rows: list[tuple[int, Decimal]]) -> None:
    whole = sum((exact_cost(energy_mj, price) for energy_mj, price in rows), Fraction(0))
    by_hand = sum((energy_mj * Fraction(price) for energy_mj, price in rows), Fraction(0))
    assert whole * KWH_MJ == by_hand


@given(st.integers(0, 10**18), st.decimals(-1000, 1000, places=12))
def test_one_rounding_errs_by_half_the_last_place_at_most(energy_mj: int, price: Decimal) -> None:
    error = Fraction(cost_mj(energy_mj, price)) - exact_cost(energy_mj, price)
    assert abs(error) <= Fraction(1, 2 * 10**12)


@pytest.mark.parametrize(
    ("energy_mj", "lengths", "parts"),
    [
        (100, (1, 1), [50, 50]),
        (100, (1, 1, 1), [34, 33, 33]),
        (10, (3600, 1800, 1800), [5, 3, 2]),
        (7, (0.25, 0.5, 0.25), [2, 3, 2]),
        (5, (0, 10), [0, 5]),
        (0, (1, 2), [0, 0]),
    ],
)
def test_parts_by_hand(energy_mj: int, lengths: tuple[float, ...], parts: list[int]) -> None:
    assert split_mj(energy_mj, windows_of(*lengths)) == parts


@given(st.integers(0, 10**18), st.lists(st.floats(0.001, 1e6), min_size=1, max_size=30))
def test_parts_add_up_and_stay_within_one_of_their_share(
    energy_mj: int, lengths: list[float]
) -> None:
    windows = windows_of(*lengths)
    parts = split_mj(energy_mj, windows)
    assert sum(parts) == energy_mj
    whole = Fraction(windows[-1].end_s)
    for window, part in zip(windows, parts, strict=True):
        share = energy_mj * (Fraction(window.end_s) - Fraction(window.start_s)) / whole
        assert abs(part - share) < 1


def test_energy_needs_time_and_a_sign() -> None:
    with pytest.raises(ValueError, match="length"):
        split_mj(5, [])
    with pytest.raises(ValueError, match="length"):
        split_mj(5, [PriceWindow(3, 3, None)])
    with pytest.raises(ValueError, match="length"):
        split_mj(5, [PriceWindow(0, 9, None), PriceWindow(4, 3, None)])
    with pytest.raises(ValueError, match="negative"):
        split_mj(-1, windows_of(1))
