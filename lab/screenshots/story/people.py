"""Who works there: tenants with quotas and tokens, an operator and a member of one tenant."""

from dataclasses import dataclass

from django.contrib.auth.models import User

from jobs.models import GpuQuota
from scheduler_service.factories import make_gpu_type, make_tenant
from tenancy.callers import SYSTEM
from tenancy.models import Membership, Tenant
from tenancy.roles import Role
from tenancy.tokens import token_create

NAMES = {
    "vision": "Vision Lab",
    "speech": "Speech",
    "biology": "Structural Biology",
    "ranking": "Search and Ranking",
}


@dataclass(frozen=True, slots=True)
class People:
    tenants: dict[str, Tenant]
    operator: User
    member: User


def make_people() -> People:
    tenants = {name: make_tenant(name) for name in NAMES}
    for name, shown in NAMES.items():
        Tenant.objects.filter(pk=tenants[name].pk).update(display_name=shown)
    Tenant.objects.filter(name="biology").update(gpu_quota=16, weight=2)
    Tenant.objects.filter(name="vision").update(gpu_quota=48, weight=3, energy_budget_wh=5_000_000)
    GpuQuota.objects.create(tenant=tenants["vision"], gpu_type=make_gpu_type("H100"), gpus=24)
    for name in ("ci pipeline", "notebook of ada"):
        token_create(SYSTEM, name=name, role=Role.MEMBER, tenant_id=tenants["vision"].pk)
    operator = User.objects.create_user("maria", is_staff=True)
    member = User.objects.create_user("ada")
    Membership.objects.create(user=member, tenant=tenants["vision"], role="admin")
    for colleague in ("grace", "alan"):
        Membership.objects.create(
            user=User.objects.create_user(colleague), tenant=tenants["vision"]
        )
    return People(tenants, operator, member)
