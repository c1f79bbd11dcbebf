"""Reads the process environment once, with clear errors; settings.py is its only caller."""

import os
from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict


def text(name: str, default: str) -> str:
    return os.environ.get(name) or default


def words(name: str, default: str) -> list[str]:
    return [word.strip() for word in text(name, default).split(",") if word.strip()]


def integer(name: str, default: int) -> int:
    raw = text(name, str(default))
    try:
        return int(raw)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a whole number, not {raw!r}") from None


def number(name: str, default: float) -> float:
    raw = text(name, str(default))
    try:
        return float(raw)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a number, not {raw!r}") from None


def secret(name: str, *, production: bool) -> str:
    """The secret, or a development default that production refuses to boot with."""
    value = os.environ.get(name, "")
    if not production:
        return value or "insecure-development-secret"
    if len(value) < 50 or value.startswith("insecure"):
        raise ImproperlyConfigured(
            f"{name} must be set to at least 50 random characters in production; "
            "make one with: python3 -c 'import secrets; print(secrets.token_urlsafe(64))'"
        )
    return value


def database(url: str, scope: str) -> Mapping[str, Any]:
    """Django's settings for a libpq URL; `scope` is what row-level security starts with."""
    try:
        parts = conninfo_to_dict(url)
    except ProgrammingError as error:
        raise ImproperlyConfigured(f"DATABASE_URL is not a Postgres URL: {error}") from None
    known = {"dbname", "user", "password", "host", "port"}
    options = {key: value for key, value in parts.items() if key not in known}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts.get("dbname", "fairwatt"),
        "USER": parts.get("user", "fairwatt"),
        "PASSWORD": parts.get("password", ""),
        "HOST": parts.get("host", ""),
        "PORT": str(parts.get("port", "")),
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {**options, "options": f"-c fairwatt.scope={scope}"},
    }
