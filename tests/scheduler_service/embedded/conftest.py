"""Short directories for tests that start servers: of their own, or one of the whole service."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def home() -> Iterator[Path]:
    """Closed to everybody but us, as a home or a temporary directory is."""
    with tempfile.TemporaryDirectory(prefix="fairwatt-test-", dir="/tmp") as directory:
        yield Path(directory)


@pytest.fixture(scope="package")
def lived_in() -> Iterator[Path]:
    """Where the whole service runs: one start from nothing is dear, later ones keep the data."""
    with tempfile.TemporaryDirectory(prefix="fairwatt-test-", dir="/tmp") as directory:
        yield Path(directory)
