"""Who is asking."""

from dataclasses import dataclass
from datetime import datetime

from tenancy.roles import RIGHTS, Role


@dataclass(frozen=True, slots=True)
class Caller:
    """The identity behind a request; `tenant_id` is set for a tenant's roles only."""

    token_id: int | None
    role: Role
    tenant_id: int | None = None
    tenant_name: str | None = None
    user_id: int | None = None
    token_name: str = ""
    expires_at: datetime | None = None
    suspended: bool = False

    is_authenticated = True
    is_active = True
    is_staff = False

    @property
    def identity(self) -> str:
        return f"token:{self.token_id}"

    def may(self, right: str) -> bool:
        return self.role in RIGHTS[right]


def staff(user_id: int | None) -> Caller:
    """A person in the Django admin, who acts as an operator."""
    return Caller(token_id=None, role=Role.OPERATOR, user_id=user_id)


SYSTEM = Caller(token_id=None, role=Role.OPERATOR)
