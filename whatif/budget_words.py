"""What a power budget is expected to do, in a sentence."""

from collections.abc import Mapping
from typing import Any

from rest.quantities import length_of, watts


def budget_words(estimate: Mapping[str, Any]) -> str:
    """Of an estimate as whatif/budget_response.py keeps it."""
    drawn = (
        f"{watts(estimate['expected_w'])} instead of {watts(estimate['baseline_w'])} on average, "
        f"{watts(estimate['highest_w'])} at most"
    )
    if not estimate["feasible"]:
        drawn += "; the draw does not stay within the budget"
    delayed = f"{estimate['jobs_delayed']} of {estimate['jobs']} jobs end later"
    if estimate["jobs_delayed"] and estimate["worst_delay_s"] is not None:
        delayed += f", at worst by {length_of(estimate['worst_delay_s'])}"
    return f"{drawn}. {delayed}."
