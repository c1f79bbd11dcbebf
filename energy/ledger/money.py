"""Integer millijoules into money: shared out without loss, priced with a single rounding."""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from policies.pricing.curve import PriceWindow

MJ_PER_KWH = 3_600_000_000
# A millijoule at 0.10 per kWh costs 2.8e-11: twelve places keep even the smallest ledger row.
MONEY_PLACES = 12


def exact_cost(energy_mj: int, price_per_kwh: Decimal) -> Fraction:
    """Sums of this are exact; no decimal is, since a kWh is 3.6e9 mJ and nine divides it."""
    return energy_mj * Fraction(price_per_kwh) / MJ_PER_KWH


def to_money(exact: Fraction, places: int = MONEY_PLACES) -> Decimal:
    """Rounded half to even; independent of the decimal context."""
    return Decimal(f"{round(exact * 10**places)}E-{places}")


def cost_mj(energy_mj: int, price_per_kwh: Decimal) -> Decimal:
    return to_money(exact_cost(energy_mj, price_per_kwh))


def split_mj(energy_mj: int, windows: Sequence[PriceWindow]) -> list[int]:
    """Energy per window in proportion to its length; the parts add up to energy_mj exactly.

    Largest remainder: whole parts first, what is left one by one to the largest fractions, the
    earlier window winning a tie.
    """
    if energy_mj < 0:
        raise ValueError("energy is never negative")
    lengths = [Fraction(window.end_s) - Fraction(window.start_s) for window in windows]
    whole = sum(lengths)
    if any(length < 0 for length in lengths) or whole == 0:
        raise ValueError("windows need a length to share energy over")
    parts, remainders = [], []
    for length in lengths:
        part, remainder = divmod(energy_mj * length, whole)
        parts.append(int(part))
        remainders.append(remainder)
    by_remainder = sorted(range(len(parts)), key=lambda i: -remainders[i])
    for i in by_remainder[: energy_mj - sum(parts)]:
        parts[i] += 1
    return parts
