"""A tenant and a cluster that emulated nodes may join, for the benchmark of profiles."""

from dataclasses import dataclass

from django.utils import timezone

from clusters.services.clusters import cluster_create
from clusters.services.join_tokens import join_token_create
from tenancy.callers import SYSTEM
from tenancy.models import Tenant
from tenancy.roles import Role
from tenancy.services import tenant_create
from tenancy.tokens import token_create

LIFETIME_S = 3600


@dataclass(frozen=True)
class Place:
    token: str
    agents: list[dict[str, str]]


def build(nodes: int) -> Place:
    tenant_create(SYSTEM, {"name": "bench", "display_name": "Bench"})
    cluster_create(caller=SYSTEM, values={"name": "bench", "round_interval_s": 2})
    owner = Tenant.objects.get(name="bench").pk
    token = token_create(SYSTEM, name="bench", role=Role.ADMIN, tenant_id=owner)
    return Place(
        token.secret,
        [
            {"name": f"emulated-{number}", "devices": "../node-a100", "join_token": _join()}
            for number in range(nodes)
        ],
    )


def _join() -> str:
    made = join_token_create(
        caller=SYSTEM, cluster="bench", lifetime_s=LIFETIME_S, now=timezone.now()
    )
    return made.secret
