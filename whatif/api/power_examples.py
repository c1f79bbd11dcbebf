"""What the schema shows for each operation on power budgets."""

from typing import Any

from rest.views import Example

_ASKED: dict[str, Any] = {
    "watts": 42_000,
    "starts_at": "2026-02-01T17:00:00Z",
    "ends_at": "2026-02-01T19:00:00Z",
    "reason": "evening peak, call 118 of the grid operator",
    "dry_run": True,
}
_ESTIMATE: dict[str, Any] = {
    "from_at": "2026-02-01T17:00:00Z",
    "until_at": "2026-02-01T19:00:00Z",
    "baseline_w": 59_200.0,
    "expected_w": 41_100.0,
    "highest_w": 41_900.0,
    "shed_w": 18_100.0,
    "energy_not_drawn_j": 130_320_000.0,
    "feasible": True,
    "met_at": "2026-02-01T17:00:00Z",
    "within": 1.0,
    "jobs": 84,
    "jobs_delayed": 31,
    "mean_delay_s": 410.0,
    "worst_delay_s": 3150.0,
    "complete": True,
    "curve": [{"at": "2026-02-01T17:00:00Z", "baseline_w": 60_100.0, "expected_w": 41_900.0}],
}
_BUDGET: dict[str, Any] = {
    "id": 5,
    "cluster": "demo",
    "partition": None,
    "watts": 42_000,
    "starts_at": "2026-02-01T17:00:00Z",
    "ends_at": "2026-02-01T19:00:00Z",
    "from_minute": None,
    "to_minute": None,
    "timezone": "UTC",
    "reason": "evening peak, call 118 of the grid operator",
    "ordered_by": "grid desk",
    "estimate": _ESTIMATE,
    "version": 1,
}
_PROOF: dict[str, Any] = {
    "minutes": [
        {
            "at": "2026-02-01T17:00:00Z",
            "measured_w": 41_730.0,
            "budget_w": 42_000,
            "baseline_w": 60_100.0,
            "unread_gpus": 0,
        }
    ],
    "within": 1.0,
    "worst_w": 41_730.0,
    "mean_w": 41_730.0,
    "energy_j": 2_503_800.0,
    "energy_not_drawn_j": 1_102_200.0,
}
POWER_BUDGETS = {
    "create": Example(request=_ASKED, response={**_BUDGET, "id": None, "ordered_by": ""}),
    "list": Example(response=_BUDGET),
    "retrieve": Example(response={**_BUDGET, "proof": _PROOF}),
}
