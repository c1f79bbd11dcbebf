"""Who may do what, said once more and by hand: the code's own table is what is being tested."""

from dataclasses import dataclass

from tests.live.operations import SAFE, Operation

NOBODY = ("none", "malformed", "unknown", "expired", "revoked")
MEMBER, ADMIN, OPERATOR = "member", "admin", "operator"
ROLES = frozenset({MEMBER, ADMIN, OPERATOR, "node", "attempt"})
EVERYBODY = frozenset({MEMBER, ADMIN, OPERATOR})
MANAGERS = frozenset({ADMIN, OPERATOR})
OPERATORS = frozenset({OPERATOR})


@dataclass(frozen=True)
class Access:
    """`owned` rows belong to one tenant; the others belong to nobody in particular."""

    read: frozenset[str]
    write: frozenset[str] = frozenset()
    owned: bool = False


MACHINES = Access(EVERYBODY, OPERATORS)
RESOURCES = {
    "me": Access(ROLES),
    "tenants": Access(EVERYBODY, OPERATORS, owned=True),
    "memberships": Access(EVERYBODY, MANAGERS, owned=True),
    "tokens": Access(MANAGERS, MANAGERS, owned=True),
    "audit": Access(MANAGERS, owned=True),
    "secrets": Access(EVERYBODY, EVERYBODY, owned=True),
    "uploads": Access(EVERYBODY, EVERYBODY, owned=True),
    "blobs": Access(EVERYBODY, EVERYBODY, owned=True),
    "artifacts": Access(EVERYBODY, EVERYBODY, owned=True),
    "artifact_content": Access(EVERYBODY, owned=True),
    "job_artifacts": Access(EVERYBODY, owned=True),
    "gpu_quotas": Access(EVERYBODY, OPERATORS, owned=True),
    "profiles": Access(EVERYBODY, EVERYBODY, owned=True),
    "profile_points": Access(EVERYBODY, EVERYBODY, owned=True),
    "profile_fits": Access(EVERYBODY, owned=True),
    "profiling_runs": Access(EVERYBODY, EVERYBODY, owned=True),
    "jobs": Access(EVERYBODY, EVERYBODY, owned=True),
    "arrays": Access(EVERYBODY, EVERYBODY, owned=True),
    "attempts": Access(EVERYBODY, owned=True),
    "events": Access(EVERYBODY, owned=True),
    "job_events": Access(EVERYBODY, owned=True),
    "job_logs": Access(EVERYBODY, owned=True),
    "webhooks": Access(MANAGERS, MANAGERS, owned=True),
    "webhook_deliveries": Access(MANAGERS, MANAGERS, owned=True),
    "job_energy": Access(EVERYBODY, owned=True),
    "statements": Access(EVERYBODY, owned=True),
    "node_energy": Access(OPERATORS),
    "costs": Access(OPERATORS),
    "calibration": Access(OPERATORS),
    "reprice": Access(OPERATORS, OPERATORS),
    "cluster_power": Access(OPERATORS),
    "power_budgets": Access(OPERATORS, OPERATORS),
    "rounds": Access(OPERATORS),
    "shadow": Access(OPERATORS),
    "clusters": MACHINES,
    "partitions": MACHINES,
    "volumes": MACHINES,
    "switches": MACHINES,
    "racks": MACHINES,
    "gpu_types": MACHINES,
    "nodes": MACHINES,
    "gpus": MACHINES,
    "tariffs": MACHINES,
    "tariff_hours": MACHINES,
    "carbon_series": MACHINES,
    "carbon_hours": MACHINES,
    "join_tokens": Access(OPERATORS, OPERATORS),
    "policies": Access(EVERYBODY),
    "simulations": Access(EVERYBODY, EVERYBODY, owned=True),
    "quotes": Access(EVERYBODY, EVERYBODY),
    "forecast": Access(EVERYBODY, EVERYBODY),
    "forecasts": Access(EVERYBODY),
    "cluster_forecasts": Access(EVERYBODY),
    "forecast_jobs": Access(EVERYBODY),
}
# Operations that do not follow their resource.
OPERATIONS = {"rounds_decisions": Access(EVERYBODY)}


def access(operation: Operation) -> Access:
    if operation.id in OPERATIONS:
        return OPERATIONS[operation.id]
    resources = [name for name in RESOURCES if operation.id.startswith(f"{name}_")]
    if not resources:
        raise LookupError(f"tests/live/access.py must say who may use {operation.id}")
    return RESOURCES[max(resources, key=len)]


def allowed(operation: Operation) -> frozenset[str]:
    rule = access(operation)
    return rule.read if operation.method in SAFE else rule.write


@dataclass(frozen=True)
class Wrong:
    """Someone who must be refused, with whose ids they ask, and what they must hear."""

    caller: str
    whose: str
    status: int


def wrong_callers(operation: Operation) -> list[Wrong]:
    may = allowed(operation)
    wrong = [Wrong(caller, "ours", 401) for caller in NOBODY]
    wrong += [Wrong(caller, "ours", 403) for caller in sorted(ROLES - may)]
    if access(operation).owned and operation.names_a_row:
        for role in (MEMBER, ADMIN):
            status = 404 if role in may else 403
            wrong += [Wrong(role, "theirs", status), Wrong(f"their_{role}", "ours", status)]
    return wrong
