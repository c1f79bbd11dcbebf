"""Probes of settings: what is known to everybody, left open, or meant for development."""

from django.conf import settings

from scheduler_service.check.result import ProbeResult, failed, ok, warning
from scheduler_service.environment import KNOWN_KEY

LEAST_SECRET_LETTERS = 50
LEAST_TOKEN_LETTERS = 20
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
_HTTPS = ("SECURE_PROXY_SSL_HEADER", "SECURE_SSL_REDIRECT", "SECURE_HSTS_SECONDS",
          "SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE")  # fmt: skip


def production() -> ProbeResult:
    if not settings.PRODUCTION:
        return failed("FAIRWATT_ENV is not production", "Set FAIRWATT_ENV=production.")
    return ok("FAIRWATT_ENV is production")


def debug() -> ProbeResult:
    if settings.DEBUG:
        return failed("DEBUG is on: errors show settings to strangers", "Turn it off.")
    return ok("off")


def secret_key() -> ProbeResult:
    key = settings.SECRET_KEY
    if len(key) < LEAST_SECRET_LETTERS or key.startswith("insecure"):
        return failed(
            "SECRET_KEY is short or the known one of development",
            "Set it to what this prints: "
            "python3 -c 'import secrets; print(secrets.token_urlsafe(64))'",
        )
    return ok(f"{len(key)} characters")


def secrets_keys() -> ProbeResult:
    if KNOWN_KEY in settings.SECRETS_KEYS:
        return failed(
            "SECRETS_KEYS holds the known key of development",
            "Put a new key first, run `fairwatt-service reseal`, then take the known one out "
            "(docs/access.md).",
        )
    return ok(f"keys: {len(settings.SECRETS_KEYS)}")


def allowed_hosts() -> ProbeResult:
    hosts = set(settings.ALLOWED_HOSTS)
    named = "Set ALLOWED_HOSTS to the name that clients use, and localhost for health checks."
    if "*" in hosts:
        return failed("ALLOWED_HOSTS lets every name in", named)
    if hosts <= _LOOPBACK:
        return failed("ALLOWED_HOSTS names this machine only: clients are answered 400", named)
    if not hosts & _LOOPBACK:
        return warning("health checks of this machine are answered 400", named)
    return ok(", ".join(settings.ALLOWED_HOSTS))


def https() -> ProbeResult:
    """The proxy ends TLS; without its header the service would redirect for ever."""
    missing = [name for name in _HTTPS if not getattr(settings, name)]
    if missing:
        return failed(
            f"off: {', '.join(missing)}", "Set FAIRWATT_ENV=production, which turns them on."
        )
    plain = [origin for origin in settings.CSRF_TRUSTED_ORIGINS if not origin.startswith("https:")]
    if plain:
        return failed(
            f"CSRF_TRUSTED_ORIGINS trusts {', '.join(plain)}, which anybody between can speak for",
            "Name origins with https:// only.",
        )
    return ok("redirects, secure cookies and HSTS; the proxy must set X-Forwarded-Proto")


def metrics() -> ProbeResult:
    token = settings.METRICS_TOKEN
    if not token:
        return warning(
            "/metrics is closed to scrapers", "Set METRICS_TOKEN, and give it to the scraper."
        )
    if len(token) < LEAST_TOKEN_LETTERS:
        return failed(
            "METRICS_TOKEN can be guessed", f"Take {LEAST_TOKEN_LETTERS} random letters or more."
        )
    return ok("/metrics is for who has METRICS_TOKEN")
