"""Real servers for the tests, thrown away afterwards; DATABASE_URL or BROKER_URL replace them."""

import gc
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.db import connections

from scheduler_service import celery_app, environment
from scheduler_service.embedded import broker, postgres
from scheduler_service.embedded.ports import free_port
from scheduler_service.embedded.program import running

pytest_plugins = ["tests.compile_kernels", "tests.emptying", "tests.examples", "tests.kinds"]


def pytest_configure() -> None:
    """People of the tests sign in often, and nobody guesses their passwords."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def pytest_collection_finish() -> None:
    """What is loaded by now stays; looking through it for garbage took a fifth of the time."""
    gc.freeze()
    gc.set_threshold(50_000)


@pytest.fixture(scope="session")
def throwaway_directory() -> Iterator[Path]:
    """Short, because sockets' paths may have 107 bytes, and of this run alone."""
    with tempfile.TemporaryDirectory(prefix="fairwatt-test-", dir="/tmp") as directory:
        yield Path(directory)


@pytest.fixture(scope="session")
def database_url(throwaway_directory: Path) -> Iterator[str]:
    """A server of this process alone, as a role to which row-level security applies."""
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
def django_db_modify_db_settings(database_url: str, request: pytest.FixtureRequest) -> None:
    """pytest-django calls it before it makes the test database, one for each worker."""
    current = connections["default"].settings_dict
    wanted = environment.database(database_url, "all", settings.DATABASE_TIMEOUTS_S)
    current.update({key: wanted[key] for key in ("NAME", "USER", "PASSWORD", "HOST", "PORT")})
    request.getfixturevalue("django_db_modify_db_settings_parallel_suffix")


@pytest.fixture(scope="session")
def broker_url(throwaway_directory: Path, worker_id: str) -> Iterator[str]:
    """A broker of this process alone, to which Celery and the cache point while it lives."""
    with _broker(throwaway_directory, worker_id) as url, pytest.MonkeyPatch.context() as patch:
        for name in ("BROKER_URL", "CACHE_URL", "CELERY_BROKER_URL"):
            patch.setattr(settings, name, url)
        patch.setattr(celery_app.conf, "broker_url", url)
        yield url
        celery_app.close()


@contextmanager
def _broker(directory: Path, worker_id: str) -> Iterator[str]:
    if configured := os.environ.get("BROKER_URL"):
        # Workers share the server, each with a numbered database of its own.
        address, number = urlsplit(configured), worker_id.removeprefix("gw")
        yield address._replace(path=f"/{number}").geturl() if number.isdigit() else configured
        return
    with (
        broker.prepared(directory / "broker", port=free_port(), durable=False) as server,
        running(server.program, directory / "broker.log"),
    ):
        yield server.url
