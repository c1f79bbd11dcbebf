"""The runbook says the same four things of every alarm, by commands and addresses that exist."""

import re
from typing import Any

import pytest
from django.core.management import get_commands
from django.urls import resolve
from fairwatt.cli.main import app
from typer.main import get_command

from tests.deploy.known import SERVICES, routes, series
from tests.deploy.pages import METRICS_PAGE, RUNBOOK, code_spans, sections
from tests.scheduler_service.environment_names import ROOT

# Another test compares that page with what the code reads.
SETTINGS = set(re.findall(r"^\| `(\w+)`", (ROOT / "docs/settings.md").read_text(), re.MULTILINE))
SPANS = sorted({*code_spans(RUNBOOK), *code_spans(METRICS_PAGE)})


def _beginning(with_: str) -> list[str]:
    found = [span for span in SPANS if span.startswith(with_)]
    assert found, f"nothing on the pages begins with {with_!r}"
    return found


@pytest.mark.parametrize("alarm", [each for each in sections() if each.startswith("Fairwatt")])
def test_a_section_says_meaning_sight_and_steps(alarm: str) -> None:
    heads = re.findall(r"^- \*\*(.+?)\.\*\*", sections()[alarm], re.MULTILINE)
    assert heads == ["Means", "See", "First", "Next"]


def test_what_a_section_refers_to_is_one() -> None:
    assert set(re.findall(r"\bFairwatt[A-Z]\w+", RUNBOOK)) <= set(sections())


@pytest.mark.parametrize("span", _beginning("fairwatt "))
def test_commands_of_the_client_exist_with_their_options(span: str) -> None:
    _, *words = span.split()
    group: Any = get_command(app)
    with group.make_context("fairwatt", list(words), resilient_parsing=True) as context:
        name, command, rest = group.resolve_command(context, words)
    if commands := getattr(command, "commands", None):
        command, rest = commands[rest[0]], rest[1:]
    known = {option for each in command.params for option in each.opts}
    assert {word for word in rest if word.startswith("-")} <= known, name


def test_a_command_that_does_not_exist_is_noticed() -> None:
    group: Any = get_command(app)
    with group.make_context("fairwatt", ["mend"], resilient_parsing=True) as context:
        assert group.get_command(context, "mend") is None


@pytest.mark.parametrize("span", _beginning("manage.py "))
def test_commands_of_the_service_exist(span: str) -> None:
    assert span.split()[1] in get_commands()


@pytest.mark.parametrize("span", _beginning("docker compose "))
def test_commands_of_compose_name_services_that_exist(span: str) -> None:
    _, _, verb, *words = span.split()
    assert verb in {"logs", "ps", "restart", "up"}
    assert {word for word in words if not word.startswith("-")} <= set(SERVICES)


@pytest.mark.parametrize("span", [*_beginning("GET /"), *_beginning("/")])
def test_addresses_exist(span: str) -> None:
    path = re.sub(r"\{\w+\}", "1", span.removeprefix("GET ").partition("?")[0])
    assert span in routes() or resolve(path).route


def test_settings_and_words_of_the_code_exist() -> None:
    words = {span for span in SPANS if re.fullmatch(r"[A-Za-z]+(_[A-Za-z]+)+", span)}
    settings = {word for word in words if word.isupper()}
    assert settings
    assert settings - SETTINGS == set()
    rooms = {path.parent for path in ROOT.glob("[a-z]*/__init__.py")} - {ROOT / "tests"}
    code = "\n".join(path.read_text() for room in rooms for path in room.rglob("*.py"))
    assert {word for word in words - settings - set(series()) if word not in code} == set()
