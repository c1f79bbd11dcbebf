"""What the schema shows of measured power."""

from typing import Any

from rest.views import Example

_POWER: dict[str, Any] = {
    "cluster": "demo",
    "states": [
        {
            "partition": None,
            "budget_w": 42_000.0,
            "planned_w": 42_000.0,
            "measured_w": 41_730.0,
            "measured_at": "2026-02-01T17:12:00Z",
            "unread_gpus": 0,
            "correction_w": 310.0,
            "corrected_at": "2026-02-01T17:03:00Z",
        }
    ],
    "breaches": [
        {
            "id": 9,
            "partition": None,
            "budget_w": 42_000.0,
            "worst_w": 42_310.0,
            "began_at": "2026-02-01T17:01:50Z",
            "ended_at": "2026-02-01T17:04:10Z",
        }
    ],
    "energy": {
        "period": "day",
        "from_at": "2026-01-31T23:00:00Z",
        "until_at": "2026-02-01T23:00:00Z",
        "budget_wh": 1_000_000,
        "drawn_wh": 716_400.0,
        "left_wh": 283_600.0,
        "counted_at": "2026-02-01T17:07:00Z",
    },
}
CLUSTER_POWER = {"get": Example(response=_POWER)}
