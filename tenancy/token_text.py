"""Token texts: how they are made, recognised and hashed."""

import hashlib
import re
import secrets

from tenancy.roles import Role

_LETTERS = {
    Role.MEMBER: "m",
    Role.ADMIN: "a",
    Role.OPERATOR: "o",
    Role.NODE: "n",
    Role.ATTEMPT: "t",
}
# 43 characters of base64url are 256 random bits.
_SHAPE = re.compile(r"fw_[maont]_[A-Za-z0-9_-]{43}")
PREFIX_LENGTH = 13


def new_secret(role: Role) -> str:
    return f"fw_{_LETTERS[role]}_{secrets.token_urlsafe(32)}"


def looks_like_token(text: str) -> bool:
    return _SHAPE.fullmatch(text) is not None


def hash_of(secret: str) -> bytes:
    """Plain SHA-256: nothing to stretch in 256 random bits."""
    return hashlib.sha256(secret.encode()).digest()
