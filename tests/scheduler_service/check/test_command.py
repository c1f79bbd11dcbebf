"""`check_service` as people and programs call it."""

import json
import sys
from io import StringIO
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import OperationalError, connection
from pytest_django import Settings

from scheduler_service import command
from scheduler_service.check import database, probes, report
from scheduler_service.check.result import ok, warning


def checked(*flags: str) -> tuple[int, str]:
    out = StringIO()
    try:
        call_command("check_service", *flags, stdout=out)
    except SystemExit as end:
        return int(str(end.code)), out.getvalue()
    return 0, out.getvalue()


@pytest.mark.django_db
def test_a_sound_installation_passes_every_probe(sound_settings: Settings, broker_url: str) -> None:
    code, text = checked("--json")
    told: dict[str, Any] = json.loads(text)
    assert [probe for probe in told["probes"] if probe["status"] != "ok"] == []
    assert (code, told["sound"]) == (0, True)
    names = {*probes.OF_SETTINGS, "database", *probes.OF_DATABASE, *probes.OF_SURROUNDINGS}
    assert {probe["name"] for probe in told["probes"]} == names


@pytest.mark.django_db
def test_one_failure_is_an_exit_code_and_says_what_to_do(
    sound_settings: Settings, broker_url: str
) -> None:
    sound_settings.ALLOWED_HOSTS = ["*"]
    code, text = checked()
    assert code == 1
    assert [line.split()[1] for line in text.splitlines() if line.startswith("failed")] == [
        "allowed_hosts"
    ]
    assert "→ Set ALLOWED_HOSTS" in text


@pytest.mark.django_db
def test_a_database_that_is_away_is_told_once_and_hides_nothing_else(
    sound_settings: Settings, broker_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise OperationalError("connection refused\nIs the server running?")

    monkeypatch.setattr(connection, "cursor", refuse)
    results = probes.run_all()
    assert results["database"].detail == "connection refused"
    assert {results[name].detail for name in probes.OF_DATABASE} == {
        "not tried: the database failed"
    }
    assert results["broker"].status == results["storage"].status == "ok"


@pytest.mark.django_db
def test_a_probe_that_breaks_has_failed_and_the_others_go_on(
    sound_settings: Settings, broker_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_ROLE", "SELECT 1 FROM pg_roles WHERE false")
    results = probes.run_all()
    assert [name for name, result in results.items() if result.status == "failed"] == ["role"]


def test_warnings_do_not_fail() -> None:
    assert report.sound({"a": ok("well"), "b": warning("so", "do")})


def test_settings_that_refuse_to_load_are_a_finding_not_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(argv: list[str]) -> None:
        raise ImproperlyConfigured("SECRET_KEY must be set")

    monkeypatch.setattr(command, "execute_from_command_line", refuse)
    monkeypatch.setattr(sys, "argv", ["/opt/fairwatt/bin/fairwatt-service", "check", "--json"])
    with pytest.raises(SystemExit) as end:
        command.main()
    assert end.value.code == 1
    (probe,) = json.loads(capsys.readouterr().out)["probes"]
    assert (probe["name"], probe["status"]) == ("settings", "failed")
    assert probe["detail"] == "SECRET_KEY must be set"


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["/opt/bin/fairwatt-service", "check", "--json"], ["check_service", "--json"]),
        (["manage.py", "check"], ["check"]),
        (["fairwatt-service", "migrate"], ["migrate"]),
        (["fairwatt-service"], []),
    ],
)
def test_check_means_the_installation_only_where_it_is_packaged(
    given: list[str], meant: list[str]
) -> None:
    assert command.spelled(given)[1:] == meant
