"""A short directory of its own for every test that starts a server."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def home() -> Iterator[Path]:
    """Closed to everybody but us, as a home or a temporary directory is."""
    with tempfile.TemporaryDirectory(prefix="fairwatt-test-", dir="/tmp") as directory:
        yield Path(directory)
