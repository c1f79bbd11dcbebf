"""A migrated throwaway database for a benchmark, durable as in production."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import django
from django.core.management import call_command

from scheduler_service.embedded import postgres
from scheduler_service.embedded.program import running


@contextmanager
def database() -> Iterator[str]:
    """Django is set up and migrated inside; import models only there."""
    with tempfile.TemporaryDirectory(prefix="fairwatt-bench-", dir="/tmp") as directory:
        home = Path(directory) / "postgres"
        with (
            postgres.prepared(home, port=None) as server,
            running(server.program, home / "log"),
        ):
            os.environ["DATABASE_URL"] = server.url
            os.environ["DJANGO_SETTINGS_MODULE"] = "scheduler_service.settings"
            django.setup()
            call_command("migrate", verbosity=0)
            yield server.url
