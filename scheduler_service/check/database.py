"""Probes of Postgres, as the service itself meets it: same URL, same role, same session."""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import connection
from django.utils import timezone

from scheduler_service import health
from scheduler_service.check.result import ProbeResult, failed, ok, warning

LEAST_VERSION = 15
# Times of several hosts are compared with each other; NTP keeps them a hundred times closer.
SKEW_TO_REMARK_S = 1.0

_ROLE = "SELECT rolname, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user"
# Postgres itself says whether policies bind this role, so that nothing here repeats its rules.
_UNGUARDED = """
SELECT count(*),
       array_agg(polrelid::regclass::text) FILTER (WHERE NOT row_security_active(polrelid))
FROM (SELECT DISTINCT polrelid FROM pg_policy) AS guarded
"""
_TIMEOUTS = "SELECT name, setting::float8 / 1000 FROM pg_settings WHERE name = ANY(%s)"


def database() -> ProbeResult:
    try:
        version = int(_row("SHOW server_version_num")[0]) // 10_000
    except Exception as error:  # noqa: BLE001 - whatever it is, nobody can work with it
        return failed(_first_line(error), "Start Postgres, or mend DATABASE_URL.")
    if version < LEAST_VERSION:
        return failed(f"Postgres {version}", f"Use Postgres {LEAST_VERSION} or later.")
    return ok(f"Postgres {version}")


def role() -> ProbeResult:
    name, superuser, bypasses = _row(_ROLE)
    rights = [word for word, has in (("SUPERUSER", superuser), ("BYPASSRLS", bypasses)) if has]
    if rights:
        return failed(
            f"{name} is {' and '.join(rights)}: row-level security does not bind it",
            f"As a superuser: ALTER ROLE {name} NOSUPERUSER NOBYPASSRLS; or make a role of its own "
            "as deploy/create-role.sh does, and name it in DATABASE_URL.",
        )
    return ok(f"{name} is neither superuser nor BYPASSRLS")


def row_security() -> ProbeResult:
    guarded, open_tables = _row(_UNGUARDED)
    if not guarded:
        return failed("no table has a policy", "Run: fairwatt-service migrate")
    if open_tables:
        return failed(
            f"no wall between tenants in {', '.join(sorted(open_tables)[:5])} "
            f"({len(open_tables)} of {guarded} tables)",
            "Mend the role; for each table, ALTER TABLE … ENABLE ROW LEVEL SECURITY, "
            "FORCE ROW LEVEL SECURITY.",
        )
    return ok(f"active on {guarded} tables")


def migrations() -> ProbeResult:
    missing = health.CHECKS["migrations"]()
    if missing:
        return failed(missing, "Run: STATEMENT_TIMEOUT_S=0 fairwatt-service migrate")
    return ok("all applied")


def timeouts() -> ProbeResult:
    """What the session has, not what was asked for: a pooler between may drop it."""
    asked = settings.DATABASE_TIMEOUTS_S
    with connection.cursor() as cursor:
        cursor.execute(_TIMEOUTS, [list(asked)])
        held = dict(cursor.fetchall())
    lost = sorted(name for name, seconds in asked.items() if abs(held[name] - seconds) > 0.001)
    if lost:
        return failed(
            f"asked for but not in force: {', '.join(lost)}",
            "Connect directly, or let the pooler pass on `options`, which also carries the scope.",
        )
    if unlimited := sorted(name for name, seconds in held.items() if not seconds):
        return warning(
            f"without a limit: {', '.join(unlimited)}",
            "Set STATEMENT_TIMEOUT_S, LOCK_TIMEOUT_S and IDLE_TRANSACTION_TIMEOUT_S above 0.",
        )
    return ok(", ".join(f"{name} {seconds:g} s" for name, seconds in sorted(held.items())))


def clock() -> ProbeResult:
    before = timezone.now()
    theirs: datetime = _row("SELECT clock_timestamp()")[0]
    after = timezone.now()
    # As far as the clocks certainly are apart, however long the question took.
    apart_s = max((before - theirs).total_seconds(), (theirs - after).total_seconds(), 0.0)
    return skew(apart_s)


def skew(apart_s: float) -> ProbeResult:
    detail = f"{apart_s:.1f} s between this host and the database"
    synchronize = "Let both hosts follow NTP (timedatectl, chronyc tracking)."
    if apart_s >= settings.RUN_MARGIN_S:
        return failed(f"{detail}: as much as RUN_MARGIN_S", synchronize)
    return warning(detail, synchronize) if apart_s >= SKEW_TO_REMARK_S else ok(detail)


def _row(statement: str) -> tuple[Any, ...]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        found: tuple[Any, ...] = cursor.fetchone()
    return found


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
