"""Passwords are not guessed: after a few wrong ones in a minute nobody is let in for its rest.

Counted by address and by name: one guesser tries many names, many guessers try one.
"""

import time
from typing import Any

import structlog
from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in, user_login_failed
from django.core.exceptions import PermissionDenied
from django.dispatch import receiver
from django.http import HttpRequest

from rest.problems import Problem
from tenancy import audit
from tenancy.callers import SYSTEM, Caller, staff
from tenancy.roles import Role
from tenancy.throttles import WrongSecrets, address, budgets, wrong_secrets

log = structlog.get_logger(__name__)
# Of all addresses and names together: the audit is kept for ever, and strangers fill this in.
FAILURES_PER_MINUTE = 60


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


@receiver(user_logged_in)
def _signed_in(user: User, request: HttpRequest | None = None, **_: Any) -> None:
    """Which of their tenants a member acts for is chosen later."""
    member = Caller(token_id=None, role=Role.MEMBER, user_id=user.pk)
    caller = staff(user.pk) if user.is_staff else member
    audit.record(caller, "user.sign_in", user, _from(request))


@receiver(user_login_failed)
def _failed(credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any) -> None:
    name, now_s = credentials.get("username", ""), time.time()
    for who in _who(request, name):
        _guesses().note(who, now_s)
    if _within(_who(request, name), now_s):
        # A name that nobody has is left out: it may be a password in the wrong field.
        known = User.objects.filter(username=str(name)[:150]).first()
        audit.record(SYSTEM, "user.sign_in_refused", known, _from(request))


def _within(whos: list[str], now_s: float) -> bool:
    """Whether the audit is told of one more: a minute's guesses are enough to know of it."""
    limits = {"all": FAILURES_PER_MINUTE, **dict.fromkeys(whos, settings.WRONG_SECRETS_PER_MINUTE)}
    taken = budgets(settings.CACHE_URL).take
    return all(taken(f"sign_in_refused:{who}", most, now_s) for who, most in limits.items())


def _from(request: HttpRequest | None) -> dict[str, str]:
    return {"address": address(request)} if request is not None else {}
