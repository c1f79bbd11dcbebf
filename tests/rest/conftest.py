"""The conventions are tried on addresses of their own."""

import pytest
from pytest_django import Settings

from tests.api import Api


@pytest.fixture
def api(db: None, settings: Settings) -> Api:
    settings.ROOT_URLCONF = "tests.rest.urls"
    return Api()
