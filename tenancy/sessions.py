"""People who are signed in by a Django session, and what the connection shows them."""

from django.http import HttpRequest

from tenancy import rls
from tenancy.authentication import scope_opens
from tenancy.callers import Caller, staff
from tenancy.models import Membership
from tenancy.roles import Role

CHOSEN = "tenant_id"


def session_memberships(request: HttpRequest) -> list[Membership]:
    """Of the person; read with every tenant in sight, because none is chosen yet."""
    scope_opens(request)
    rows = Membership.objects.filter(user=request.user.pk).select_related("tenant")
    with rls.scope(rls.ALL):
        return list(rows.order_by("pk"))


def session_caller(request: HttpRequest) -> Caller | None:
    """Staff act as operators, members for the tenant they chose; the scope is opened for it.

    None is a person who belongs to no tenant, or nobody.
    """
    if not request.user.is_authenticated:
        return None
    if request.user.is_staff:
        scope_opens(request)
        rls.set_scope(rls.ALL)
        return staff(request.user.pk)
    found = session_memberships(request)
    chosen = request.session.get(CHOSEN)
    membership = next((row for row in found if row.tenant_id == chosen), next(iter(found), None))
    if membership is None:
        rls.set_scope(rls.NONE)
        return None
    rls.set_scope(str(membership.tenant_id))
    return Caller(
        token_id=None,
        role=Role(membership.role),
        tenant_id=membership.tenant_id,
        tenant_name=membership.tenant.name,
        user_id=request.user.pk,
        suspended=membership.tenant.suspended,
    )
