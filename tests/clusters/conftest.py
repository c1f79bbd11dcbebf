"""Callers of every kind, and a cluster small enough to know by heart."""

from datetime import UTC, datetime
from typing import Any

import pytest

from clusters import services
from clusters.models import Cluster, GpuType, Node
from tenancy import services as tenancy_services
from tenancy import tokens
from tenancy.callers import SYSTEM
from tenancy.models import Tenant
from tenancy.roles import Role
from tests.clusters.http import ClusterApi

NOW = datetime(2026, 1, 31, 8, tzinfo=UTC)


@pytest.fixture
def tenant(db: None) -> Tenant:
    return tenancy_services.tenant_create(SYSTEM, {"name": "acme", "display_name": "Acme"})


@pytest.fixture
def other_tenant(db: None) -> Tenant:
    return tenancy_services.tenant_create(SYSTEM, {"name": "other", "display_name": "Other"})


def api_of(role: Role, tenant: Tenant | None = None) -> ClusterApi:
    tenant_id = None if tenant is None else tenant.pk
    made = tokens.token_create(SYSTEM, name=f"{role} test", role=role, tenant_id=tenant_id)
    return ClusterApi(made.secret)


@pytest.fixture
def operator(db: None) -> ClusterApi:
    return api_of(Role.OPERATOR)


@pytest.fixture
def member(tenant: Tenant) -> ClusterApi:
    return api_of(Role.MEMBER, tenant)


@pytest.fixture
def cluster(db: None) -> Cluster:
    return services.cluster_create(caller=SYSTEM, values={"name": "berlin"})


@pytest.fixture
def gpu_type(db: None) -> GpuType:
    values = {"name": "A100", "memory_mib": 81_920, "idle_w": 60, "max_w": 400}
    return services.gpu_type_create(caller=SYSTEM, values=values)


@pytest.fixture
def node(cluster: Cluster, gpu_type: GpuType) -> Node:
    return make_node("n1")


def make_node(name: str, *, cluster: str = "berlin", gpu_count: int = 2, **values: Any) -> Node:
    defaults: dict[str, Any] = {
        "gpu_type": "A100",
        "cpus": 64,
        "memory_mib": 4096,
        "state": Node.State.READY,
    }
    named = {"cluster": cluster, "name": name, "gpu_count": gpu_count}
    return services.node_create(caller=SYSTEM, values={**named, **defaults, **values})
