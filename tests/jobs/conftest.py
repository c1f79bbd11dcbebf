"""Two tenants, a small cluster, and clients that use them; nudges are collected, not sent."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.conf import LazySettings

from clusters.models import Cluster, Node, Partition
from jobs import nudge
from jobs.models import Job
from scheduler_service.factories import make_cluster, make_gpu_type, make_nodes, make_tenant
from tenancy import throttles, tokens
from tenancy.callers import SYSTEM, Caller
from tenancy.models import Tenant
from tenancy.roles import TENANT_ROLES, Role
from tests.api import Api

JOBS = "/api/v1/jobs/"
SUBMIT: dict[str, Any] = {"name": "train", "cluster": "demo", "argv": ["python3", "train.py"]}


@dataclass
class World:
    ours: Tenant
    theirs: Tenant
    cluster: Cluster
    partition: Partition
    nodes: list[Node]
    nudged: list[int] = field(default_factory=list)

    def api(self, role: Role = Role.MEMBER, tenant: Tenant | None = None) -> Api:
        """A client with a fresh token, of our tenant unless another is named."""
        owner = (tenant or self.ours).pk if role in TENANT_ROLES else None
        made = tokens.token_create(SYSTEM, name=f"{role} test", role=role, tenant_id=owner)
        return Api(made.secret)

    def caller(self, tenant: Tenant | None = None) -> Caller:
        owner = tenant or self.ours
        return Caller(1, Role.MEMBER, tenant_id=owner.pk, tenant_name=owner.name)


@pytest.fixture
def world(db: None, settings: LazySettings, monkeypatch: pytest.MonkeyPatch) -> World:
    settings.CACHE_URL = "local:"
    throttles.budgets.cache_clear()
    cluster = make_cluster("demo", policy="fifo")
    made = World(
        ours=make_tenant("ours", max_tardiness_price_per_h=5),
        theirs=make_tenant("theirs"),
        cluster=cluster,
        partition=Partition.objects.create(cluster=cluster, name="prod"),
        nodes=make_nodes(cluster, make_gpu_type("A100"), 2, gpus=4),
    )
    monkeypatch.setattr(nudge, "_send", made.nudged.append)
    return made


@pytest.fixture
def member(world: World) -> Api:
    return world.api()


@pytest.fixture
def stranger(world: World) -> Api:
    """A member of the other tenant."""
    return world.api(tenant=world.theirs)


@pytest.fixture
def operator(world: World) -> Api:
    return world.api(Role.OPERATOR)


Submit = Callable[..., Job]


@pytest.fixture
def submit(world: World, member: Api) -> Submit:
    """Submit a job over HTTP and read it back."""

    def make(**fields: Any) -> Job:
        answer = member.post(JOBS, {**SUBMIT, **fields})
        assert answer.status_code == 201, answer.content
        return Job.objects.get(pk=answer.json()["id"])

    return make
