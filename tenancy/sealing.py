"""Texts at rest, sealed with keys that are not in the database.

Every sealed text names what it is of: a row copied over another row's cannot be opened there.
Keys are listed newest first: the first seals, all of them open.
"""

from functools import cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

_END_OF_NAME = b"\0"


class SealBroken(Exception):
    """No key opens it, or it was sealed as something else."""

    def __init__(self, of: str) -> None:
        super().__init__(f"{of} cannot be opened: is its key still among SECRETS_KEYS?")


def seal(text: str, of: str) -> str:
    return _box().encrypt(of.encode() + _END_OF_NAME + text.encode()).decode()


def unseal(sealed: str, of: str) -> str:
    try:
        opened = _box().decrypt(sealed.encode())
    except InvalidToken:
        raise SealBroken(of) from None
    name, _, text = opened.partition(_END_OF_NAME)
    if name != of.encode():
        raise SealBroken(of)
    return text.decode()


def reseal(sealed: str) -> str:
    """The same text under the newest key."""
    return _box().rotate(sealed.encode()).decode()


def newest_key_sealed(sealed: str) -> bool:
    try:
        Fernet(settings.SECRETS_KEYS[0]).decrypt(sealed.encode())
    except InvalidToken:
        return False
    return True


@cache
def _box() -> MultiFernet:
    return MultiFernet([Fernet(key) for key in settings.SECRETS_KEYS])
