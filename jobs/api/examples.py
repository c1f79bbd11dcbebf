"""What the schema shows for each operation."""

from typing import Any

from rest.views import Example

_SUBMIT: dict[str, Any] = {
    "name": "resnet-50",
    "cluster": "demo",
    "argv": ["python3", "train.py", "--epochs", "90"],
    "gpus": 4,
    "gpu_types": ["A100"],
    "cpus_per_gpu": 8,
    "memory_mib_per_gpu": 65_536,
    "env": {"WANDB_MODE": "offline"},
    "deadline_at": "2026-02-01T18:00:00Z",
    "estimated_run_s": 14_400,
}
_JOB: dict[str, Any] = {
    "id": 4711,
    "name": "resnet-50",
    "tenant": "vision-lab",
    "cluster": "demo",
    "partition": None,
    "profile": None,
    "profile_basis": "neutral",
    "array_id": None,
    "array_index": None,
    "state": "queued",
    "reason": "submitted",
    "held": False,
    "unmet_dependencies": 0,
    "argv": ["python3", "train.py", "--epochs", "90"],
    "env_keys": ["WANDB_MODE"],
    "image": None,
    "min_gpus": 4,
    "max_gpus": 4,
    "gpu_types": ["A100"],
    "cpus_per_gpu": 8,
    "memory_mib_per_gpu": 65_536,
    "span": "any",
    "priority": 50,
    "deadline_at": "2026-02-01T18:00:00Z",
    "tardiness_price_per_h": "0.000000",
    "estimated_run_s": 14_400,
    "work_total": None,
    "work_done": 0.0,
    "attained_gpu_s": 0.0,
    "preemptible": True,
    "restartable": True,
    "restart_cost_s": 60,
    "checkpoint_at": None,
    "submitted_at": "2026-02-01T09:30:00Z",
    "placed_at": None,
    "started_at": None,
    "ended_at": None,
    "version": 1,
}
_REFUSED = {
    "index": 1,
    "status": 409,
    "id": None,
    "problem": {
        "code": "unknown_cluster",
        "detail": "There is no such cluster.",
        "errors": [
            {
                "pointer": "/jobs/1/cluster",
                "code": "unknown_cluster",
                "detail": "There is no such cluster.",
            }
        ],
    },
}
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
_CANCELLED = {**_JOB, "state": "cancelled", "reason": "cancelled", "version": 2}
JOBS = {
    "list": Example(response=_JOB),
    "retrieve": Example(
        response={**_JOB, "depends_on": [{"job": 4700, "kind": "succeeded", "met_at": None}]}
    ),
    "create": Example(request=_SUBMIT, response=_JOB),
    "bulk": Example(
        request={"jobs": [_SUBMIT, {**_SUBMIT, "cluster": "nowhere"}]},
        response={
            "stored": 1,
            "refused": 1,
            "items": [{"index": 0, "status": 201, "id": 4711, "problem": None}, _REFUSED],
        },
    ),
    "partial_update": Example(
        request={"priority": 80}, response={**_JOB, "priority": 80, "version": 2}
    ),
    "cancel": Example(
        response={**_CANCELLED, "ended_at": "2026-02-01T09:31:00Z"},
    ),
    "hold": Example(response={**_JOB, "held": True, "version": 2}),
    "release": Example(response={**_JOB, "version": 3}),
    "explain": Example(response=_EXPLANATION),
}

_EVENT = {
    "id": 90_210,
    "job_id": 4711,
    "at": "2026-02-01T09:30:01Z",
    "from_state": "queued",
    "to_state": "placed",
    "reason": "placed",
    "round_id": 88,
    "attempt": None,
    "detail": None,
}
EVENTS = {"list": Example(response=_EVENT)}
EVENT_STREAM = (
    'id: 90210\nevent: move\ndata: {"id":90210,"job_id":4711,"at":"2026-02-01T09:30:01Z",'
    '"from_state":"queued","to_state":"placed","reason":"placed","round_id":88,'
    '"attempt":null,"detail":null}\n\n'
)

_ARRAY = {
    "id": 12,
    "name": "sweep",
    "tenant": "vision-lab",
    "size": 100,
    "created_at": "2026-02-01T09:30:00Z",
}
_STATES = {
    "queued": 60,
    "placed": 0,
    "running": 8,
    "preempting": 0,
    "succeeded": 32,
    "failed": 0,
    "cancelled": 0,
}
ARRAYS = {
    "list": Example(response=_ARRAY),
    "retrieve": Example(response={**_ARRAY, "states": _STATES}),
    "create": Example(request={"name": "sweep", "size": 100, "job": _SUBMIT}, response=_ARRAY),
    "cancel": Example(response={"cancelled": 60, "stopping": 8}),
}

_ATTEMPT = {
    "id": 801,
    "job_id": 4711,
    "tenant": "vision-lab",
    "cluster": "demo",
    "round_id": 88,
    "number": 1,
    "state": "offered",
    "reason": "",
    "gpus": 1,
    "clock_mhz": None,
    "offered_at": "2026-02-01T09:30:01Z",
    "started_at": None,
    "ended_at": None,
}
_ALLOCATION = {
    "node": "gpu-node-1",
    "gpu_index": 0,
    "gpu_uuid": "GPU-5d6f1a2b",
    "cpus": 8,
    "memory_mib": 65_536,
    "held_at": "2026-02-01T09:30:01Z",
    "released_at": None,
}
ATTEMPTS = {
    "list": Example(response=_ATTEMPT),
    "retrieve": Example(response={**_ATTEMPT, "allocations": [_ALLOCATION]}),
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
