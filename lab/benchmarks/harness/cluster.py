"""A tenant and a cluster that emulated nodes may join."""

from typing import Any, NamedTuple

from django.utils import timezone

from clusters.services.clusters import cluster_create
from clusters.services.join_tokens import join_token_create
from tenancy.callers import SYSTEM
from tenancy.roles import Role
from tenancy.services import tenant_create
from tenancy.tokens import token_create

LIFETIME_S = 3600


class JoinableCluster(NamedTuple):
    tenant_token: str
    """Of an admin of the tenant."""
    join_tokens: list[str]


def joinable(name: str, *, nodes: int, **values: Any) -> JoinableCluster:
    """The tenant is called as the cluster; a join token per node."""
    tenant = tenant_create(SYSTEM, {"name": name, "display_name": name.title()})
    cluster_create(caller=SYSTEM, values={"name": name, **values})
    token = token_create(SYSTEM, name="bench", role=Role.ADMIN, tenant_id=tenant.pk)
    return JoinableCluster(token.secret, [_join_token(name) for _ in range(nodes)])


def _join_token(cluster: str) -> str:
    made = join_token_create(
        caller=SYSTEM, cluster=cluster, lifetime_s=LIFETIME_S, now=timezone.now()
    )
    return made.secret
