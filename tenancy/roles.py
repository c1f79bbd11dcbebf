"""Who may do what, in one table."""

from enum import StrEnum


class Role(StrEnum):
    MEMBER = "member"
    ADMIN = "admin"
    OPERATOR = "operator"
    NODE = "node"
    ATTEMPT = "attempt"


TENANT_ROLES = frozenset({Role.MEMBER, Role.ADMIN})

_EVERYBODY = frozenset({Role.MEMBER, Role.ADMIN, Role.OPERATOR})
_MANAGERS = frozenset({Role.ADMIN, Role.OPERATOR})
_OPERATOR = frozenset({Role.OPERATOR})
_ALL_TOKENS = frozenset(Role)

# A tenant's roles reach only rows of that tenant, whatever stands here.
RIGHTS: dict[str, frozenset[Role]] = {
    "me.read": _ALL_TOKENS,
    "tenants.read": _EVERYBODY,
    "tenants.write": _OPERATOR,
    "memberships.read": _EVERYBODY,
    "memberships.write": _MANAGERS,
    "tokens.read": _MANAGERS,
    "tokens.write": _MANAGERS,
    "secrets.read": _EVERYBODY,
    "secrets.write": _EVERYBODY,
    "audit.read": _MANAGERS,
    "uploads.read": _EVERYBODY,
    "uploads.write": _EVERYBODY,
    "blobs.read": _EVERYBODY,
    "blobs.write": _EVERYBODY,
    "volumes.read": _EVERYBODY,
    "volumes.write": _OPERATOR,
    "clusters.read": _EVERYBODY,
    "clusters.write": _OPERATOR,
    "partitions.read": _EVERYBODY,
    "partitions.write": _OPERATOR,
    "switches.read": _EVERYBODY,
    "switches.write": _OPERATOR,
    "racks.read": _EVERYBODY,
    "racks.write": _OPERATOR,
    "gpu_types.read": _EVERYBODY,
    "gpu_types.write": _OPERATOR,
    "nodes.read": _EVERYBODY,
    "nodes.write": _OPERATOR,
    "gpus.read": _EVERYBODY,
    "gpus.write": _OPERATOR,
    "gpu_quotas.read": _EVERYBODY,
    "gpu_quotas.write": _OPERATOR,
    "tariffs.read": _EVERYBODY,
    "tariffs.write": _OPERATOR,
    "carbon_series.read": _EVERYBODY,
    "carbon_series.write": _OPERATOR,
    "join_tokens.read": _OPERATOR,
    "join_tokens.write": _OPERATOR,
    "policies.read": _EVERYBODY,
    "profiles.read": _EVERYBODY,
    "profiles.write": _EVERYBODY,
    "jobs.read": _EVERYBODY,
    "jobs.submit": _EVERYBODY,
    "jobs.write": _EVERYBODY,
    "jobs.cancel": _EVERYBODY,
    "jobs.hold": _EVERYBODY,
    "job_events.read": _EVERYBODY,
    "job_logs.read": _EVERYBODY,
    "webhooks.read": _MANAGERS,
    "webhooks.write": _MANAGERS,
    "artifacts.read": _EVERYBODY,
    "artifacts.write": _EVERYBODY,
    "job_energy.read": _EVERYBODY,
    "statements.read": _EVERYBODY,
    "node_energy.read": _OPERATOR,
    "costs.read": _OPERATOR,
    "ledger.write": _OPERATOR,
    "power.read": _OPERATOR,
    "power.write": _OPERATOR,
    "rounds.read": _OPERATOR,
    "decisions.read": _EVERYBODY,
    "simulations.read": _EVERYBODY,
    "simulations.write": _EVERYBODY,
    "simulations.live": _OPERATOR,
    "forecasts.read": _EVERYBODY,
    "forecasts.make": _EVERYBODY,
    "agents.sync": frozenset({Role.NODE}),
    "attempts.report": frozenset({Role.NODE, Role.ATTEMPT}),
}


def rights_of(role: Role) -> list[str]:
    return sorted(right for right, roles in RIGHTS.items() if role in roles)
