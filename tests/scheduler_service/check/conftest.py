"""An installation that is sound; each test breaks one thing of it."""

import threading
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from pytest_django import Settings

from scheduler_service import health


@pytest.fixture
def sound_settings(settings: Settings, tmp_path: Path) -> Settings:
    settings.PRODUCTION = True
    settings.SECRET_KEY = "x1" * 32
    settings.SECRETS_KEYS = [Fernet.generate_key().decode()]
    settings.ALLOWED_HOSTS = ["gpu.example.org", "localhost"]
    settings.CSRF_TRUSTED_ORIGINS = ["https://gpu.example.org"]
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    settings.SECURE_SSL_REDIRECT = True
    settings.SECURE_HSTS_SECONDS = 3600
    settings.SESSION_COOKIE_SECURE = True
    settings.CSRF_COOKIE_SECURE = True
    settings.METRICS_TOKEN = "t" * 32
    settings.STORAGE_URL = str(tmp_path / "storage")
    settings.VAR_DIR = tmp_path
    return settings


@pytest.fixture(autouse=True)
def _freshly_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_migrated", threading.Event())
