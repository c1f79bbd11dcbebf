"""A member with storage of its own, in a directory of the test's."""

from pathlib import Path

import pytest
from pytest_django import Settings

from tests.tenancy.conftest import (  # noqa: F401  # fixtures
    _local_throttle,
    admin,
    api_for,
    member,
    operator,
    world,
)


@pytest.fixture(autouse=True)
def store(settings: Settings, tmp_path: Path) -> Path:
    settings.STORAGE_URL = str(tmp_path / "storage")
    return tmp_path / "storage"
