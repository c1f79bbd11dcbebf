"""Reads the process environment once, with clear errors; settings.py is its only caller."""

import os
from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from policies import registry

# 32 bytes that everybody knows.
KNOWN_KEY = "aW5zZWN1cmUtZGV2ZWxvcG1lbnQtc2VjcmV0LWtleSE="


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


def networks(name: str) -> list[IPv4Network | IPv6Network]:
    try:
        return [ip_network(word) for word in words(name, "")]
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} names networks such as 10.0.0.0/8: {error}") from None


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


def sealing_keys(name: str, *, production: bool) -> list[str]:
    """Keys of texts at rest, the newest first; development has a known one."""
    keys = words(name, "" if production else KNOWN_KEY)
    try:
        for key in keys:
            Fernet(key)
    except ValueError:
        keys = []
    if not keys:
        raise ImproperlyConfigured(
            f"{name} must list one or more Fernet keys, the newest first; make one with: "
            "python3 -c 'import base64, secrets; "
            "print(base64.urlsafe_b64encode(secrets.token_bytes(32)).decode())'"
        )
    return keys


def policies(name: str) -> list[str]:
    """Modules with a site's own policies, taken into the registry before anybody asks it."""
    modules = words(name, "")
    try:
        registry.add(modules)
    except (ImportError, AttributeError, ValueError) as error:
        raise ImproperlyConfigured(
            f"{name} must name modules that can be imported, each with a dictionary POLICIES "
            f"(docs/add-a-policy.md): {error}"
        ) from error
    return modules


def database(url: str, scope: str, timeouts_s: Mapping[str, float]) -> Mapping[str, Any]:
    """Django's settings for a libpq URL; `scope` is what row-level security starts with."""
    try:
        parts = conninfo_to_dict(url)
    except ProgrammingError as error:
        raise ImproperlyConfigured(f"DATABASE_URL is not a Postgres URL: {error}") from None
    session = {"fairwatt.scope": scope}
    session |= {name: f"{1000 * seconds:.0f}ms" for name, seconds in timeouts_s.items()}
    known = {"dbname", "user", "password", "host", "port"}
    options = {key: value for key, value in parts.items() if key not in known}
    return {
        "ENGINE": "scheduler_service.database",
        "NAME": parts.get("dbname", "fairwatt"),
        "USER": parts.get("user", "fairwatt"),
        "PASSWORD": parts.get("password", ""),
        "HOST": parts.get("host", ""),
        "PORT": str(parts.get("port", "")),
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            # To each host; libpq takes no less than 2.
            "connect_timeout": 3,
            # Of several hosts, the one that takes writes.
            **({"target_session_attrs": "read-write"} if "," in str(parts.get("host", "")) else {}),
            # A server that vanished without a word is noticed after half a minute.
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": 30_000,
            **options,
            "options": " ".join(f"-c {name}={value}" for name, value in session.items()),
        },
    }
