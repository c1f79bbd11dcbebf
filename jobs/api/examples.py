"""What the schema shows for each operation."""

from typing import Any

from rest.views import Example
from tariffs.api.examples import _crud

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


GPU_QUOTAS = _crud(
    {"id": 4, "tenant_id": 7, "gpu_type": "A100", "gpus": 32, "gpus_in_use": 12, "version": 1},
    create={"tenant_id": 7, "gpu_type": "A100", "gpus": 32},
    patch={"gpus": 48},
)


_STREAM = {"attempt": 1, "node": "node-1", "stream": "stdout", "size": 26, "closed": True}


LOGS = {
    "get": Example(
        response={
            **_STREAM,
            "job_id": 4711,
            "offset": 0,
            "next_offset": 26,
            "text": "starting at step 0\ndone: 7\n",
            "streams": [_STREAM],
        }
    )
}
