"""Is this process alive, and could it serve a request now?"""

import threading
from collections.abc import Callable
from functools import wraps

from django.conf import settings
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse

from rest.problems import Fault, Problem, response
from scheduler_service import celery_app

BROKER_TIMEOUT_S = 2
# What the ticker does without.
SPARED = frozenset({"broker"})
# Comparing files with the database takes long, and nobody unapplies migrations under a service.
_migrated = threading.Event()
_View = Callable[[HttpRequest], HttpResponse]


def read_only(view: _View) -> _View:
    @wraps(view)
    def guarded(request: HttpRequest) -> HttpResponse:
        if request.method in {"GET", "HEAD"}:
            return view(request)
        problem = Problem(
            "This resource does not have that method; see Allow.",
            code="method_not_allowed",
            status=405,
            headers={"Allow": "GET, HEAD"},
        )
        return response(problem, request.path)

    return guarded


@read_only
def healthz(request: HttpRequest) -> HttpResponse:
    """Alive; it asks nobody, so that a database's trouble never restarts the API."""
    return JsonResponse({"status": "ok"})


@read_only
def readyz(request: HttpRequest) -> HttpResponse:
    """Whether requests can be served; without a broker they can, and rounds go on more slowly."""
    found = {name: fault for name, check in CHECKS.items() if (fault := _fault(name, check))}
    faults = [fault for name, fault in found.items() if name not in SPARED]
    if not faults:
        missing = [{"name": name, "detail": fault.detail} for name, fault in found.items()]
        status = "degraded" if missing else "ready"
        return JsonResponse({"status": status, "checks": list(CHECKS), "missing": missing})
    problem = Problem(
        "Not ready; `errors` says what is missing.",
        code="not_ready",
        status=503,
        errors=faults,
        headers={"Retry-After": "5"},
    )
    return response(problem, request.path)


def _fault(name: str, check: Callable[[], str]) -> Fault | None:
    try:
        trouble = check()
    except Exception as error:  # noqa: BLE001 - whatever it is, it means not ready
        # The error's text may name hosts and users; its kind is enough for a stranger.
        trouble = f"The check failed: {type(error).__name__}."
    return Fault("", name, trouble) if trouble else None


def _database() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return ""


def _migrations() -> str:
    if _migrated.is_set():
        return ""
    executor = MigrationExecutor(connection)
    missing = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    if missing:
        return f"{missing} migrations are not applied."
    _migrated.set()
    return ""


def _broker() -> str:
    options = {
        **settings.CELERY_BROKER_TRANSPORT_OPTIONS,
        "socket_connect_timeout": BROKER_TIMEOUT_S,
        "socket_timeout": BROKER_TIMEOUT_S,
    }
    with celery_app.connection_for_read(
        connect_timeout=BROKER_TIMEOUT_S, transport_options=options
    ) as link:
        link.connect()
    return ""


CHECKS: dict[str, Callable[[], str]] = {
    "database": _database,
    "migrations": _migrations,
    "broker": _broker,
}
