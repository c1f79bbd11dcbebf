"""docker-compose.yml against the code: it sets nothing that nobody reads."""

import re
from typing import Any

import pytest
import yaml

from agent.cli import _parse
from scheduling import gaps
from tests.scheduler_service.environment_names import ROOT, names_read
from whatif import dispatch

OURS = ("migrate", "api", "door", "worker", "whatif", "beat", "ticker")
TEXT = (ROOT / "docker-compose.yml").read_text()
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(TEXT)["services"]


def test_it_has_the_production_shape() -> None:
    always = {name for name, service in SERVICES.items() if "profiles" not in service}
    assert always == {"postgres", "valkey", *OURS}


def test_the_demo_agent_is_asked_for_by_its_profile_and_parses_its_command() -> None:
    agent = SERVICES["agent"]
    assert agent["profiles"] == ["demo"]
    assert list(agent["environment"]) == ["FAIRWATT_JOIN_TOKEN"]
    assert "FAIRWATT_JOIN_TOKEN" in (ROOT / "agent" / "cli.py").read_text()
    python, dash_m, module, *arguments = agent["command"]
    assert (python, dash_m, module) == ("python", "-m", "agent")
    given = [re.sub(r"\$\{PUBLIC_HOST[^}]*\}", "fairwatt.example", text) for text in arguments]
    options, _ = _parse(given)
    assert (ROOT / options.devices.removeprefix("emulated:")).is_file()


@pytest.mark.parametrize("name", OURS)
def test_every_variable_it_sets_is_one_that_the_code_reads(name: str) -> None:
    assert set(SERVICES[name]["environment"]) <= names_read()


@pytest.mark.parametrize("name", OURS)
def test_every_part_runs_with_production_settings(name: str) -> None:
    environment = SERVICES[name]["environment"]
    assert environment["FAIRWATT_ENV"] == "production"
    assert {"SECRET_KEY", "SECRETS_KEYS", "ALLOWED_HOSTS", "DATABASE_URL", "BROKER_URL"} <= set(
        environment
    )


def test_no_secret_has_a_default() -> None:
    for name in ("SECRET_KEY", "SECRETS_KEYS", "PUBLIC_HOST", "POSTGRES_PASSWORD", "ROLE_PASSWORD"):
        assert re.search(rf"\$\{{{name}:\?", TEXT)
    assert set(re.findall(r"\$\{(\w+):-", TEXT)) == {
        "LOG_LEVEL",
        "PUBLISH",
        "PUBLISH_DOOR",
        # Needed once: afterwards the agent has a token of its own in its volume.
        "FAIRWATT_JOIN_TOKEN",
    }
    assert not re.findall(r"\$\{\w+\}", TEXT)


def test_the_services_role_is_not_the_images_superuser() -> None:
    url = SERVICES["api"]["environment"]["DATABASE_URL"]
    role = url.removeprefix("postgresql://").partition(":")[0]
    assert role == "fairwatt"
    assert SERVICES["postgres"]["environment"]["POSTGRES_USER"] != role
    creation = (ROOT / "deploy" / "create-role.sh").read_text()
    assert re.search(rf"CREATE ROLE {role} .*NOSUPERUSER NOBYPASSRLS", creation)


@pytest.mark.parametrize(
    "name", ["postgres", "valkey", "api", "door", "worker", "whatif", "beat", "ticker"]
)
def test_whatever_stays_up_is_watched(name: str) -> None:
    assert SERVICES[name]["healthcheck"]["test"]
    assert SERVICES[name]["restart"] == "unless-stopped"


@pytest.mark.parametrize("name", ["api", "door", "worker", "whatif", "beat", "ticker"])
def test_nothing_starts_before_the_migrations_are_applied(name: str) -> None:
    needs = SERVICES[name]["depends_on"]
    assert needs["migrate"]["condition"] == "service_completed_successfully"


def test_every_queue_has_a_worker_here_and_with_make_up() -> None:
    queues = ",".join(sorted({gaps.QUEUE, *dispatch.QUEUES.values()}))
    assert f"--queues={queues}" in SERVICES["whatif"]["command"]
    stack = ROOT / "scheduler_service" / "embedded" / "stack.py"
    assert f'("--queues", "{queues}", ' in stack.read_text()


def test_data_is_kept_in_volumes() -> None:
    declared = set(yaml.safe_load(TEXT)["volumes"])
    used = {
        volume.split(":")[0]
        for service in SERVICES.values()
        for volume in service.get("volumes", [])
        if not volume.startswith(".")
    }
    assert used == declared


def test_the_image_runs_as_an_ordinary_user_without_the_developers_tools() -> None:
    image = (ROOT / "Dockerfile").read_text()
    assert re.search(r"^USER fairwatt$", image, re.MULTILINE)
    assert "requirements-dev" not in image
