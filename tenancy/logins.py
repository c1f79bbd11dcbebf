"""Passwords are not guessed: after a few wrong ones in a minute nobody is let in for its rest.

Counted by address and by name: one guesser tries many names, many guessers try one.
"""

import time
from typing import Any

import structlog
from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_login_failed
from django.core.exceptions import PermissionDenied
from django.dispatch import receiver
from django.http import HttpRequest

from rest.problems import Problem
from tenancy.throttles import WrongSecrets, address, wrong_secrets

log = structlog.get_logger(__name__)


def _guesses() -> WrongSecrets:
    return wrong_secrets(settings.CACHE_URL, "login", settings.WRONG_SECRETS_PER_MINUTE)


def _who(request: HttpRequest | None, name: object) -> list[str]:
    peers = [f"address:{address(request)}"] if request is not None else []
    return [*peers, f"name:{str(name)[:150]}"]


class GuardedPasswords(ModelBackend):
    """Django's own, which is not asked where too many wrong ones came from."""

    def authenticate(self, request: HttpRequest | None, **credentials: Any) -> User | None:  # type: ignore[override]  # by name, as Django calls it
        for who in _who(request, credentials.get("username", "")):
            try:
                _guesses().refuse_if_many(who, time.time())
            except Problem:
                log.warning("too_many_wrong_passwords", who=who.partition(":")[0])
                raise PermissionDenied from None
        return super().authenticate(request, **credentials)


@receiver(user_login_failed)
def _failed(credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any) -> None:
    for who in _who(request, credentials.get("username", "")):
        _guesses().note(who, time.time())
