"""A secret for every kind of caller, also for those who are nobody any more."""

from datetime import datetime

from tenancy.models import ApiToken
from tenancy.roles import Role
from tenancy.token_text import PREFIX_LENGTH, hash_of, new_secret
from tests.live.seed_tenant import Owned


def secrets(ours: Owned, theirs: Owned, now: datetime) -> dict[str, str]:
    """Dead tokens were operators': had they any life left, they could do everything."""
    return {
        "operator": _secret(Role.OPERATOR),
        "admin": _secret(Role.ADMIN, ours),
        "member": _secret(Role.MEMBER, ours),
        "their_admin": _secret(Role.ADMIN, theirs),
        "their_member": _secret(Role.MEMBER, theirs),
        "node": _secret(Role.NODE),
        "attempt": _secret(Role.ATTEMPT),
        "expired": _secret(Role.OPERATOR, expires_at=now),
        "revoked": _secret(Role.OPERATOR, revoked_at=now),
        "malformed": "fw_o_" + "=" * 43,
        "unknown": "fw_o_" + "x" * 43,
    }


def _secret(role: Role, owner: Owned | None = None, **ends: datetime) -> str:
    """Without the service, whose audit row would be in words of its own."""
    secret = new_secret(role)
    ApiToken.objects.create(
        prefix=secret[:PREFIX_LENGTH],
        hash=hash_of(secret),
        name=owner.marks.text(role) if owner else role,
        role=role,
        tenant_id=owner.tenant_id if owner else None,
        **ends,
    )
    return secret
