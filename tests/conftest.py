"""Real servers for the tests, thrown away afterwards; DATABASE_URL or BROKER_URL replace them."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connections

from scheduler_service import celery_app, environment
from scheduler_service.embedded import broker, postgres
from scheduler_service.embedded.ports import free_port
from scheduler_service.embedded.program import running


@pytest.fixture(scope="session")
def throwaway_directory() -> Iterator[Path]:
    """Short, because sockets' paths may have 107 bytes, and of this run alone."""
    with tempfile.TemporaryDirectory(prefix="fairwatt-test-", dir="/tmp") as directory:
        yield Path(directory)


@pytest.fixture(scope="session")
def database_url(throwaway_directory: Path) -> Iterator[str]:
    """A server of this run alone, as a role to which row-level security applies."""
    if configured := os.environ.get("DATABASE_URL"):
        yield configured
        return
    home, log = throwaway_directory / "postgres", throwaway_directory / "postgres.log"
    with (
        postgres.prepared(home, port=None, durable=False) as server,
        running(server.program, log),
    ):
        yield server.url


@pytest.fixture(scope="session")
def django_db_modify_db_settings(database_url: str) -> None:
    """pytest-django calls it before it makes the test database."""
    current = connections["default"].settings_dict
    wanted = environment.database(database_url, "all")
    current.update({key: wanted[key] for key in ("NAME", "USER", "PASSWORD", "HOST", "PORT")})


@pytest.fixture(scope="session")
def broker_url(throwaway_directory: Path) -> Iterator[str]:
    """A broker of this run alone, to which Celery and the cache point while it lives."""
    if configured := os.environ.get("BROKER_URL"):
        yield configured
        return
    home, log = throwaway_directory / "broker", throwaway_directory / "broker.log"
    with (
        broker.prepared(home, port=free_port(), durable=False) as server,
        running(server.program, log),
        pytest.MonkeyPatch.context() as patch,
    ):
        for name in ("BROKER_URL", "CACHE_URL", "CELERY_BROKER_URL"):
            patch.setattr(settings, name, server.url)
        patch.setattr(celery_app.conf, "broker_url", server.url)
        yield server.url
        celery_app.close()
