"""Two tenants, a token of every role, and clients that use them."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from django.test import Client

from tenancy import services, tokens
from tenancy.callers import SYSTEM
from tenancy.models import Tenant
from tenancy.roles import TENANT_ROLES, Role


@dataclass(frozen=True)
class World:
    ours: Tenant
    theirs: Tenant


@pytest.fixture
def world(db: None) -> World:
    ours = services.tenant_create(SYSTEM, {"name": "ours", "display_name": "Ours"})
    theirs = services.tenant_create(SYSTEM, {"name": "theirs", "display_name": "Theirs"})
    return World(ours, theirs)


ClientFor = Callable[..., Client]


def client_with(secret: str) -> Client:
    return Client(headers={"Authorization": f"Bearer {secret}"})


@pytest.fixture
def client_for(world: World) -> ClientFor:
    """A client with a fresh token of the role, of our tenant unless another is named."""

    def make(role: Role, tenant: Tenant | None = None) -> Client:
        owner = (tenant or world.ours).pk if role in TENANT_ROLES else None
        made = tokens.token_create(SYSTEM, name=f"{role} test", role=role, tenant_id=owner)
        return client_with(made.secret)

    return make
