"""Two tenants, and clients with a token of any role."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from pytest_django import Settings

from tenancy import services, throttles, tokens
from tenancy.callers import SYSTEM
from tenancy.models import Tenant
from tenancy.roles import TENANT_ROLES, Role
from tests.api import Api


@dataclass(frozen=True)
class World:
    ours: Tenant
    theirs: Tenant


@pytest.fixture(autouse=True)
def _local_throttle(settings: Settings) -> None:
    """No broker is needed to try the rest; each test starts with full budgets."""
    settings.CACHE_URL = "local:"
    throttles.budgets.cache_clear()


@pytest.fixture
def world(db: None) -> World:
    ours = services.tenant_create(SYSTEM, {"name": "ours", "display_name": "Ours"})
    theirs = services.tenant_create(SYSTEM, {"name": "theirs", "display_name": "Theirs"})
    return World(ours, theirs)


ApiFor = Callable[..., Api]


def new_token(role: Role, tenant: Tenant | None = None) -> tokens.NewToken:
    owner = tenant.pk if tenant and role in TENANT_ROLES else None
    return tokens.token_create(SYSTEM, name=f"{role} test", role=role, tenant_id=owner)


@pytest.fixture
def api_for(world: World) -> ApiFor:
    """A client with a fresh token of the role, of our tenant unless another is named."""

    def make(role: Role, tenant: Tenant | None = None) -> Api:
        return Api(new_token(role, tenant or world.ours).secret)

    return make


@pytest.fixture
def operator(api_for: ApiFor) -> Api:
    return api_for(Role.OPERATOR)


@pytest.fixture
def admin(api_for: ApiFor) -> Api:
    return api_for(Role.ADMIN)


@pytest.fixture
def member(api_for: ApiFor) -> Api:
    return api_for(Role.MEMBER)
