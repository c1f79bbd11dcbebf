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
}
CLUSTER_POWER = {"get": Example(response=_POWER)}
