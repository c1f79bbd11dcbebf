"""What the schema shows for each operation."""

from policies import registry
from rest.views import Example
from tariffs.api.examples import _crud

_AT = "2026-01-31T08:00:00Z"


CLUSTERS = _crud(
    {
        "id": 1,
        "name": "berlin",
        "policy": "priority",
        "policy_parameters": {"ageing_s": 1800},
        "shadow_policy": "fifo-backfill",
        "shadow_parameters": {},
        "round_interval_s": 30,
        "pue": "1.20",
        "power_budget_w": 250_000,
        "energy_budget_wh": 4_000_000,
        "energy_period": "day",
        "currency": "EUR",
        "tariff": "de-2026",
        "carbon_series": "de-lu",
        "brake_since_at": None,
        "version": 4,
        "created_at": _AT,
        "updated_at": "2026-02-01T09:30:00Z",
    },
    create={
        "name": "berlin",
        "policy": "priority",
        "policy_parameters": {"ageing_s": 1800},
        "pue": "1.20",
        "tariff": "de-2026",
    },
    patch={"policy": "edf", "policy_parameters": {"preempt": True}},
)
PARTITIONS = _crud(
    {
        "id": 3,
        "cluster": "berlin",
        "name": "prod",
        "lends": True,
        "version": 1,
        "created_at": _AT,
    },
    create={"cluster": "berlin", "name": "prod", "lends": True},
    patch={"lends": False},
)
SWITCHES = _crud(
    {"id": 2, "cluster": "berlin", "name": "leaf-1", "version": 1},
    create={"cluster": "berlin", "name": "leaf-1"},
    patch={"name": "leaf-01"},
)
RACKS = _crud(
    {"id": 5, "cluster": "berlin", "name": "r12", "switch": "leaf-1", "version": 1},
    create={"cluster": "berlin", "name": "r12", "switch": "leaf-1"},
    patch={"switch": None},
)
GPU_TYPES = _crud(
    {
        "id": 1,
        "name": "A100",
        "memory_mib": 81_920,
        "idle_w": 60,
        "max_w": 400,
        "clocks_mhz": [705, 1095, 1410],
        "version": 1,
    },
    create={
        "name": "A100",
        "memory_mib": 81_920,
        "idle_w": 60,
        "max_w": 400,
        "clocks_mhz": [705, 1095, 1410],
    },
    patch={"idle_w": 55},
)

_NODE = {
    "id": 9,
    "cluster": "berlin",
    "name": "node-09.berlin",
    "partition": "prod",
    "rack": "r12",
    "gpu_type": "A100",
    "state": "ready",
    "state_reason": "",
    "cpus": 64,
    "cpus_used": 16,
    "memory_mib": 524_288,
    "memory_used_mib": 131_072,
    "host_idle_w": 180,
    "host_peak_w": 700,
    "driver": "570.86.15",
    "agent_version": "0.1.0",
    "last_sync_at": "2026-01-31T08:00:05Z",
    "gpus": [
        {
            "id": 65,
            "index": 0,
            "uuid": "GPU-5f1c2a8e-77aa-4b0c-9d3e-2f6f0b1c4d5e",
            "healthy": True,
            "health_reason": "",
            "fault": "",
            "remark": "",
        }
    ],
    "version": 2,
    "created_at": _AT,
    "updated_at": _AT,
}
NODES = {
    **_crud(
        _NODE,
        create={
            "cluster": "berlin",
            "name": "node-09.berlin",
            "partition": "prod",
            "rack": "r12",
            "gpu_type": "A100",
            "gpu_count": 1,
            "cpus": 64,
            "memory_mib": 524_288,
            "host_idle_w": 180,
            "host_peak_w": 700,
            "state": "ready",
        },
        patch={"partition": None},
    ),
    "drain": Example(
        request={"reason": "new fans"},
        response={**_NODE, "state": "draining", "state_reason": "new fans"},
    ),
    "resume": Example(response=_NODE),
}

_GPU = {
    "id": 65,
    "cluster": "berlin",
    "node_id": 9,
    "node": "node-09.berlin",
    "gpu_type": "A100",
    "index": 0,
    "uuid": "GPU-5f1c2a8e-77aa-4b0c-9d3e-2f6f0b1c4d5e",
    "healthy": True,
    "health_reason": "",
    "fault": "",
    "remark": "",
    "version": 1,
}
_UNHEALTHY = {"healthy": False, "health_reason": "uncorrectable memory errors"}
GPUS = {
    "list": Example(response=_GPU),
    "retrieve": Example(response=_GPU),
    "partial_update": Example(request=_UNHEALTHY, response={**_GPU, **_UNHEALTHY}),
}

_JOIN_TOKEN = {
    "id": 7,
    "cluster": "berlin",
    "partition": None,
    "rack": "rack-1",
    "prefix": "fw_j_Q2xhdWRp",
    "created_at": _AT,
    "expires_at": "2026-02-01T08:00:00Z",
    "used_at": None,
    "used_by_node_id": None,
    "revoked_at": None,
}
JOIN_TOKENS = {
    "list": Example(response=_JOIN_TOKEN),
    "retrieve": Example(response=_JOIN_TOKEN),
    "create": Example(
        request={"cluster": "berlin", "lifetime_s": 86_400},
        response={**_JOIN_TOKEN, "secret": "fw_j_" + "x" * 43},
    ),
}


_POLICY = {
    "name": "fifo",
    "summary": registry.summary("fifo"),
    "promises": [],
    "parameters": registry.parameter_schema("fifo"),
}
POLICIES = {
    "all": Example(response={"items": [_POLICY], "next": None}),
    "retrieve": Example(response=_POLICY),
}
