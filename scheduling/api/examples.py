"""What the schema shows for each operation on rounds."""

from typing import Any

from rest.views import Example

_EXPLANATION = {
    "job_id": 4711,
    "state": "queued",
    "reason": "outranked",
    "text": "The GPUs it needs are held by, or kept for, other jobs. 2 jobs rank before it. "
    "To start it sooner: ask for 2 GPUs.",
    "position": 3,
    "expected_start_at": None,
    "round_id": 88,
    "round_at": "2026-02-01T09:30:01Z",
    "evidence": {"nodes": 16, "exhausted": {"gpus": 16}, "facts": {"gpus_asked": 4}},
    "profile_basis": "neutral",
    "profile_text": "Nothing was measured of its kind: a neutral profile is used,"
    " and its own estimate of its run time.",
    "remedies": [{"action": "reduce_gpus", "to": 2, "text": "ask for 2 GPUs"}],
    "forecast": {
        "start_at": "2026-02-01T11:05:00Z",
        "low_at": "2026-02-01T10:40:00Z",
        "high_at": "2026-02-01T12:20:00Z",
        "made_at": "2026-02-01T09:30:10Z",
    },
}


_ROUND: dict[str, Any] = {
    "id": 88,
    "cluster": "demo",
    "policy": "fifo-backfill",
    "parameters": {},
    "seed": 1_769_938_201_000,
    "status": "done",
    "error": "",
    "started_at": "2026-02-01T09:30:01Z",
    "load_ms": 6.1,
    "plan_ms": 1.9,
    "check_ms": 0.4,
    "apply_ms": 8.8,
    "queued": 3,
    "running": 12,
    "started": 1,
    "preempted": 0,
    "moved": 0,
    "resized": 0,
    "switched": 0,
    "waiting": 2,
    "stale": 0,
    "objective": 0.0,
    "bound": None,
    "gap": None,
    "shown": {},
    "snapshot_digest": "9f2c",
    "plan_digest": "51aa",
    "shadow_policy": None,
    "shadow_ms": None,
}


_BOUNDED = {
    **_ROUND,
    "policy": "fairwatt",
    "objective": 42.5,
    "bound": 39.1,
    "gap": 0.08,
    "shown": {"planned_cost": 42.5},
}


_DECISION = {
    "job_id": 4711,
    "action": "wait",
    "reason": "outranked",
    "applied": True,
    "text": "The GPUs it needs are held by, or kept for, other jobs. 2 jobs rank before it.",
    "ahead": 2,
    "expected_start_at": None,
    "evidence": {"nodes": 16, "exhausted": {"gpus": 16}},
}


ROUNDS = {
    "list": Example(response=_ROUND),
    "retrieve": Example(response=_BOUNDED),
    "decisions": Example(response={"items": [_DECISION], "next": None}),
}


SHADOW = {
    "get": Example(
        response={
            "cluster": "demo",
            "policy": "fifo-backfill",
            "shadow_policy": "srtf",
            "rounds": 100,
            "first_round_id": 1,
            "last_round_id": 100,
            "failed": 0,
            "violating": 0,
            "starts": {"active": 240.0, "shadow": 251.0},
            "starts_in_both": 198,
            "preempts": {"active": 0.0, "shadow": 14.0},
            "objective": {"active": 0.0, "shadow": 0.0},
            "mean_plan_ms": {"active": 1.9, "shadow": 2.3},
            "last_error": "",
            "last_violations": [],
            "only_active": [],
            "only_shadow": [4711],
            "placed_elsewhere": [],
        }
    )
}
EXPLAIN = {"explain": Example(response=_EXPLANATION)}


_COST_SUMS = {
    "predicted_energy": "0.181200000000",
    "predicted_tardiness": "0.000000000000",
    "predicted": "0.181200000000",
    "actual_energy": "0.174000000000",
    "actual_tardiness": "0.012000000000",
    "actual": "0.186000000000",
    "deviation": 0.0265,
    "unpriced_mj": 0,
}


COSTS = {
    "get": Example(
        response={
            "cluster": "demo",
            "currency": "EUR",
            "from_at": "2026-01-01T00:00:00Z",
            "until_at": "2026-01-31T12:00:00Z",
            "jobs": 1,
            "totals": _COST_SUMS,
            "lines": [{**_COST_SUMS, "job_id": 4711, "name": "train-resnet"}],
        }
    )
}
