"""What the schema shows for each operation."""

from rest.views import Example

_TENANT = {
    "id": 7,
    "name": "vision-lab",
    "display_name": "Vision Lab",
    "gpu_quota": 64,
    "gpus_in_use": 12,
    "weight": "1.500",
    "energy_budget_wh": 2_000_000,
    "suspended": False,
    "version": 3,
    "created_at": "2026-01-31T08:00:00Z",
    "updated_at": "2026-02-01T09:30:00Z",
}
TENANTS = {
    "list": Example(response=_TENANT),
    "retrieve": Example(response=_TENANT),
    "create": Example(
        request={"name": "vision-lab", "display_name": "Vision Lab", "gpu_quota": 64},
        response=_TENANT,
    ),
    "partial_update": Example(request={"gpu_quota": 96}, response={**_TENANT, "gpu_quota": 96}),
}

_MEMBERSHIP = {
    "id": 21,
    "tenant_id": 7,
    "username": "ada",
    "role": "member",
    "version": 1,
    "created_at": "2026-01-31T08:00:00Z",
}
MEMBERSHIPS = {
    "list": Example(response=_MEMBERSHIP),
    "retrieve": Example(response=_MEMBERSHIP),
    "create": Example(request={"username": "ada", "role": "member"}, response=_MEMBERSHIP),
    "partial_update": Example(request={"role": "admin"}, response={**_MEMBERSHIP, "role": "admin"}),
}

_TOKEN = {
    "id": 40,
    "prefix": "fw_m_Q2xhdWRp",
    "name": "nightly training",
    "role": "member",
    "tenant_id": 7,
    "user_id": None,
    "created_at": "2026-01-31T08:00:00Z",
    "expires_at": "2026-07-31T00:00:00Z",
    "revoked_at": None,
    "last_used_at": "2026-02-01T09:30:00Z",
    "rotated_from_id": None,
}
_SECRET = {**_TOKEN, "last_used_at": None, "secret": "fw_m_" + "x" * 43}
TOKENS = {
    "list": Example(response=_TOKEN),
    "retrieve": Example(response=_TOKEN),
    "create": Example(request={"name": "nightly training", "role": "member"}, response=_SECRET),
    "rotate": Example(request={"overlap_s": 3600}, response={**_SECRET, "rotated_from_id": 39}),
}

ME = {
    "get": Example(
        response={
            "token_id": 40,
            "token_name": "nightly training",
            "role": "member",
            "tenant_id": 7,
            "tenant_name": "vision-lab",
            "suspended": False,
            "expires_at": "2026-07-31T00:00:00Z",
            "rights": ["jobs.read", "jobs.submit"],
        }
    )
}

_AUDIT = {
    "id": 1001,
    "at": "2026-02-01T09:30:00Z",
    "token_id": 3,
    "user_id": None,
    "role": "operator",
    "tenant_id": 7,
    "action": "tenant.update",
    "object_type": "tenant",
    "object_id": 7,
    "request_id": "5f1c2a",
    "changes": {"gpu_quota": 96},
}
AUDIT = {"list": Example(response=_AUDIT), "retrieve": Example(response=_AUDIT)}
