"""What the bills come to, in a sentence, and the jobs where it mattered most."""

from collections.abc import Sequence

import numpy as np

from simulator.advice.advise import Advice
from simulator.advice.replay import Bill, Bounds
from simulator.report.conclusion import ALIKE

MOST_JOBS = 10


def conclusion(advice: Advice) -> str:
    """What it cost, what the cheapest policy would have, and the cheapest that delays nobody."""
    ran = advice.ran
    lead = f"As it ran, {advice.period}, energy cost {_spread(ran.cost, advice.currency)}"
    whole = [bill for bill in advice.bills if not bill.unfinished]
    best = min(whole, key=lambda each: each.cost.expected, default=None)
    if best is None:
        return f"{lead}; no policy asked for would have finished every job.{_unfinished(advice)}"
    if not _cheaper(ran, best):
        soonest = min(whole, key=lambda each: each.wait_h)
        return (
            f"{lead}; no policy asked for would have been more than {percent(ALIKE)} cheaper. "
            f"Jobs wait least under {soonest.label}: {waiting(ran, soonest)}.{_unfinished(advice)}"
        )
    said = [f"{lead}. Under {best.label} it would have cost {_saved(ran, best, advice.currency)}."]
    patient = [bill for bill in whole if bill.wait_h <= ran.wait_h and _cheaper(ran, bill)]
    if patient and best.wait_h > ran.wait_h:
        other = min(patient, key=lambda each: each.cost.expected)
        cost = _saved(ran, other, advice.currency)
        said.append(f"Without longer waits {other.label} would have cost {cost}.")
    return " ".join(said) + _unfinished(advice)


def named(advice: Advice) -> Bill | None:
    """Of which policy the jobs are shown: the cheapest."""
    return min(advice.bills, key=lambda each: (each.unfinished, each.cost.expected), default=None)


def money(value: float, currency: str = "") -> str:
    text = f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:,.2f}"
    return f"{text} {currency}".strip()


def percent(share: float) -> str:
    return f"{share:.1%}".replace("-0.0%", "0.0%").replace("%", " %")


def spread(bounds: Bounds) -> str:
    low, high = bounds.ends()
    return f"{money(low)} to {money(high)}"


def waiting(ran: Bill, other: Bill) -> str:
    hours = other.wait_h - ran.wait_h
    word = "more" if hours > 0 else "less"
    return f"{abs(hours):,.1f} h {word} waiting in all"


def mattered(advice: Advice, bill: Bill) -> list[int]:
    """Rows of the jobs that saved or cost the most money; where none did, that waited otherwise."""
    saved = np.abs(advice.ran.jobs.energy_cost - bill.jobs.energy_cost).round(2)
    waited = np.abs(advice.ran.jobs.wait_s - bill.jobs.wait_s) * bill.jobs.gpus
    order = np.lexsort((-np.nan_to_num(waited), -np.nan_to_num(saved)))[:MOST_JOBS]
    return [row for row in order.tolist() if saved[row] or waited[row]]


def tenant_sums(advice: Advice, bill: Bill) -> list[tuple[float, float]]:
    """Money for their own jobs and hours waited, of every tenant."""
    count = len(advice.tenants)
    cost = np.bincount(bill.jobs.tenant, bill.jobs.energy_cost, minlength=count)
    wait_s = np.bincount(bill.jobs.tenant, np.nan_to_num(bill.jobs.wait_s), minlength=count)
    return list(zip(cost.tolist(), (wait_s / 3600).tolist(), strict=True))


def dearest_first(advice: Advice) -> list[int]:
    costs = [cost for cost, _ in tenant_sums(advice, advice.ran)]
    return sorted(range(len(costs)), key=lambda row: (-costs[row], row))


def _cheaper(ran: Bill, other: Bill) -> bool:
    return ran.cost.expected - other.cost.expected > ALIKE * abs(ran.cost.expected)


def _spread(bounds: Bounds, currency: str) -> str:
    return f"{money(bounds.expected, currency)} ({spread(bounds)})"


def _saved(ran: Bill, other: Bill, currency: str) -> str:
    less = ran.cost.less(other.cost)
    share = percent(less.expected / ran.cost.expected)
    return (
        f"{money(other.cost.expected, currency)}: {money(less.expected)} less "
        f"({share}; {spread(less)}), {waiting(ran, other)}"
    )


def _unfinished(advice: Advice) -> str:
    left: Sequence[Bill] = [bill for bill in advice.bills if bill.unfinished]
    said = "; ".join(f"{bill.label} leaves {bill.unfinished} jobs unfinished" for bill in left)
    return f" {said}." if said else ""
