"""The demo that `make up` starts with: two tenants, one cluster of two GPU types, and tokens."""

import json
import secrets
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction

from clusters.models import Cluster
from clusters.services.clusters import cluster_create
from clusters.services.join_tokens import join_token_create
from clusters.services.topology import rack_create
from tariffs.services.tariffs import tariff_create
from tenancy.authentication import login
from tenancy.callers import SYSTEM
from tenancy.models import Tenant
from tenancy.rls import ALL, scope
from tenancy.roles import Role
from tenancy.services import tenant_create
from tenancy.token_text import hash_of
from tenancy.tokens import token_create

CLUSTER = "demo"
TENANTS = ("acme", "globex")
# Two racks, a node of each type in each; the files say what the emulated nodes are made of.
NODES = {
    "node-1": ("rack-1", "a100x8"),
    "node-2": ("rack-1", "v100x8"),
    "node-3": ("rack-2", "a100x8"),
    "node-4": ("rack-2", "v100x8"),
}
NIGHT_IS_CHEAP = ((0, 420, "0.16"), (420, 1260, "0.29"), (1260, 1440, "0.16"))
# Who tries the demo wants to see jobs run: no job is kept for a cheaper hour.
AT_ONCE = {"max_shift_s": 0}
JOIN_TOKEN_LIFETIME_S = 365 * 86_400
SECRETS = ("operator_token", "tenant_token", "other_tenant_token")


def seed(path: Path, *, url: str, now: datetime) -> None:
    """Make the demo once and write its tokens; what is already there is kept."""
    with transaction.atomic():
        for name in TENANTS:
            if not Tenant.objects.filter(name=name).exists():
                tenant_create(SYSTEM, {"name": name, "display_name": name.title()})
        if not Cluster.objects.filter(name=CLUSTER).exists():
            _make_cluster()
        known = json.loads(path.read_text()) if path.exists() else {}
        if not all(_alive(known.get(name)) for name in SECRETS):
            known = _make_secrets(now)
    _write(path, {**known, "url": url, "cluster": CLUSTER})


def _make_cluster() -> None:
    periods = [
        {
            "months": list(range(1, 13)),
            "weekdays": list(range(7)),
            "from_minute": start,
            "to_minute": end,
            "price_per_kwh": Decimal(price),
        }
        for start, end, price in NIGHT_IS_CHEAP
    ]
    tariff = {"name": "day-night", "kind": "time_of_use", "timezone": "Europe/Berlin"}
    tariff_create(caller=SYSTEM, values={**tariff, "periods": periods})
    cluster_create(
        caller=SYSTEM,
        values={
            "name": CLUSTER,
            "pue": Decimal("1.2"),
            "tariff": "day-night",
            "round_interval_s": 5,
            "policy": "fairwatt",
            "policy_parameters": AT_ONCE,
        },
    )
    for rack in sorted({rack for rack, _ in NODES.values()}):
        rack_create(caller=SYSTEM, values={"cluster": CLUSTER, "name": rack})


def _alive(secret: str | None) -> bool:
    """Whether the token still opens the door: the database may be newer than the file."""
    with scope(ALL):
        return secret is not None and login(hash_of(secret)) is not None


def _make_secrets(now: datetime) -> dict[str, Any]:
    acme, globex = (Tenant.objects.get(name=name).pk for name in TENANTS)
    password = secrets.token_urlsafe(12)
    user, _ = get_user_model().objects.get_or_create(
        username="admin", defaults={"is_staff": True, "is_superuser": True}
    )
    user.set_password(password)
    user.save(update_fields=["password"])
    return {
        "operator_token": token_create(SYSTEM, name="demo", role=Role.OPERATOR).secret,
        "tenant_token": _tenant_token(acme),
        "other_tenant_token": _tenant_token(globex),
        "join_token": _join_token(now),
        "agents": [
            {"name": name, "devices": devices, "join_token": _join_token(now, rack=rack)}
            for name, (rack, devices) in NODES.items()
        ],
        "admin_user": "admin",
        "admin_password": password,
    }


def _tenant_token(tenant_id: int) -> str:
    return token_create(SYSTEM, name="demo", role=Role.ADMIN, tenant_id=tenant_id).secret


def _join_token(now: datetime, rack: str | None = None) -> str:
    token = join_token_create(
        caller=SYSTEM, cluster=CLUSTER, lifetime_s=JOIN_TOKEN_LIFETIME_S, now=now, rack=rack
    )
    return token.secret


def _write(path: Path, known: dict[str, Any]) -> None:
    """Whole or not at all, and for its owner's eyes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".tmp")
    draft.touch(mode=0o600)
    draft.write_text(json.dumps(known, indent=2) + "\n")
    draft.replace(path)
