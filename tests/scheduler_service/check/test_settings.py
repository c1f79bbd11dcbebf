"""Each probe of settings and surroundings finds what it is there for."""

from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from scheduler_service import celery_app, environment
from scheduler_service.check import configuration, surroundings
from scheduler_service.check.probes import OF_SETTINGS
from scheduler_service.embedded.ports import free_port


@pytest.mark.parametrize(
    ("probe", "name", "value", "status"),
    [
        ("production", "PRODUCTION", False, "failed"),
        ("debug", "DEBUG", True, "failed"),
        ("secret_key", "SECRET_KEY", "short", "failed"),
        ("secret_key", "SECRET_KEY", "insecure" + 60 * "x", "failed"),
        ("secrets_keys", "SECRETS_KEYS", [environment.KNOWN_KEY], "failed"),
        ("allowed_hosts", "ALLOWED_HOSTS", ["*"], "failed"),
        ("allowed_hosts", "ALLOWED_HOSTS", ["localhost", "127.0.0.1"], "failed"),
        ("allowed_hosts", "ALLOWED_HOSTS", ["gpu.example.org"], "warning"),
        ("https", "SECURE_PROXY_SSL_HEADER", None, "failed"),
        ("https", "SESSION_COOKIE_SECURE", False, "failed"),
        ("https", "CSRF_TRUSTED_ORIGINS", ["http://gpu.example.org"], "failed"),
        ("metrics", "METRICS_TOKEN", "", "warning"),
        ("metrics", "METRICS_TOKEN", "guess", "failed"),
    ],
)
def test_a_setting_that_is_wrong(
    sound_settings: Settings, probe: str, name: str, value: Any, status: str
) -> None:
    assert OF_SETTINGS[probe]().status == "ok"
    setattr(sound_settings, name, value)
    found = OF_SETTINGS[probe]()
    assert found.status == status
    assert found.next_step


def test_no_secret_is_repeated(sound_settings: Settings) -> None:
    told = f"{configuration.secret_key()}{configuration.secrets_keys()}{configuration.metrics()}"
    for secret in (
        sound_settings.SECRET_KEY,
        *sound_settings.SECRETS_KEYS,
        sound_settings.METRICS_TOKEN,
    ):
        assert secret not in told


def test_storage_is_tried_and_left_as_it_was(sound_settings: Settings) -> None:
    assert surroundings.storage().status == "ok"
    assert list(Path(sound_settings.STORAGE_URL).iterdir()) == []


def test_storage_that_cannot_be_written(sound_settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    sound_settings.STORAGE_URL = str(tmp_path / "file")
    found = surroundings.storage()
    assert found.status == "failed"
    assert "STORAGE_URL" in found.next_step


def test_a_state_directory_that_is_not_there(sound_settings: Settings, tmp_path: Path) -> None:
    sound_settings.VAR_DIR = tmp_path / "nowhere"
    assert surroundings.state().status == "failed"


def test_static_files_that_were_not_collected(sound_settings: Settings, tmp_path: Path) -> None:
    sound_settings.WHITENOISE_USE_FINDERS = False
    sound_settings.STATIC_ROOT = tmp_path / "static"
    found = surroundings.static_files()
    assert found.status == "failed"
    assert "collectstatic" in found.next_step
    (tmp_path / "static" / "console").mkdir(parents=True)
    (tmp_path / "static" / "console" / "console.css").touch()
    assert surroundings.static_files().status == "ok"


def test_a_broker_that_is_away(broker_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert surroundings.broker().status == "ok"
    monkeypatch.setattr(celery_app.conf, "broker_url", f"redis://127.0.0.1:{free_port()}/0")
    found = surroundings.broker()
    assert found.status == "failed"
    assert "BROKER_URL" in found.next_step
