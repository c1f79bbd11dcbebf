"""deploy/systemd/ against docker-compose.yml and `make up`: the same programs in three places."""

import json
import re
import shlex
import shutil
import subprocess
from configparser import ConfigParser
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from agent.cli import EXIT_FENCED, _parse
from agent.run.tenant_users import UidRange
from scheduler_service.embedded import stack
from tests.scheduler_service.environment_names import ROOT, names_read

UNITS = ROOT / "deploy" / "systemd"
SERVICE = ("api", "door", "worker", "whatif", "beat", "ticker")
COMPOSE: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())[
    "services"
]
FLAGS = {"--no-ws", "--quiet", "--respawn-failed-workers", "--trust-tenants"}
# Where a program listens, writes and what it is called there, and how much it says.
OF_THE_PLACE = {"--host", "--port", "--schedule", "--hostname", "--loglevel", "--log-level"}
# `make up` shares one machine with its nodes, stops at a key, and leaves the log to its console.
OF_MAKE_UP = {"--quiet", "--workers-kill-timeout", "--concurrency"}
HARDENING = re.compile(r"^(NoNew|Capab|Protect|Private|Restrict(?!PreventExit)|Lock|SystemCall)")


@dataclass(frozen=True)
class Command:
    program: str
    words: tuple[str, ...]
    options: dict[str, str]

    def but(self, names: set[str]) -> "Command":
        kept = {name: value for name, value in self.options.items() if name not in names}
        return Command(self.program, self.words, kept)


class _Unit(ConfigParser):
    """Names keep their letters."""

    def optionxform(self, optionstr: str) -> str:
        return optionstr


def unit(name: str) -> ConfigParser:
    """Of the settings that a unit gives more than once the last one counts here."""
    parsed = _Unit(interpolation=None, strict=False, delimiters=("=",), comment_prefixes=("#",))
    parsed.read_string((UNITS / f"fairwatt-{name}.service").read_text().replace("\\\n", " "))
    return parsed


def started(name: str) -> list[str]:
    return shlex.split(unit(name)["Service"]["ExecStart"].replace("%%", "%"))


def command(argv: list[str]) -> Command:
    """However it is spelled: by console script, `python -m` or manage.py; `=` or a blank."""
    program, rest = _program(argv)
    words, options = [], {}
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if not word.startswith("-"):
            words.append(word)
        elif equals or word in FLAGS:
            options[name] = value
        else:
            options[name] = rest.pop(0)
    return Command(program, tuple(words), options)


def _program(argv: list[str]) -> tuple[str, list[str]]:
    first, *rest = argv
    name = Path(first).name
    if name.startswith("python"):
        name, *rest = rest[1:] if rest[0] == "-m" else rest
    return {"manage.py": "fairwatt-service", "agent": "fairwatt-agent"}.get(name, name), rest


def composed(name: str) -> list[str]:
    """The API has the image's own command."""
    if "command" in COMPOSE[name]:
        return list(COMPOSE[name]["command"])
    image = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    found = re.search(r"^CMD (\[.*\])$", image, re.MULTILINE)
    assert found
    return list(json.loads(found[1]))


@pytest.fixture
def made_up(tmp_path: Path) -> dict[str, list[str]]:
    (tmp_path / "demo.json").write_text("{}")
    site = stack.Site(ROOT, tmp_path, "127.0.0.1", 8000, 8001, {}, lock=0)
    return {program.name: list(program.argv) for program in stack.services(site)}


def test_there_is_a_unit_for_every_program_and_no_other() -> None:
    names = {path.stem.removeprefix("fairwatt-") for path in UNITS.glob("*.service")}
    kept_up = {name for name, it in COMPOSE.items() if "image" in it and it["image"] == "fairwatt"}
    assert names == kept_up - {"migrate"} == {*SERVICE, "agent"}


@pytest.mark.parametrize("name", SERVICE)
def test_a_unit_runs_what_the_container_runs(name: str) -> None:
    of_unit, of_container = command(started(name)), command(composed(name))
    assert of_unit.but(OF_THE_PLACE) == of_container.but(OF_THE_PLACE)


@pytest.mark.parametrize("name", SERVICE)
def test_a_unit_runs_what_make_up_runs(name: str, made_up: dict[str, list[str]]) -> None:
    beside = OF_THE_PLACE | OF_MAKE_UP
    assert command(started(name)).but(beside) == command(made_up[name]).but(beside)


def test_a_command_that_differs_would_be_noticed() -> None:
    here = command(["/opt/bin/granian", "--backlog=4096", "app", "--no-ws"])
    assert here == command(["python", "-m", "granian", "--no-ws", "app", "--backlog", "4096"])
    assert here != command(["granian", "--no-ws", "app", "--backlog", "1"])
    assert here != command(["granian", "app", "--backlog", "4096"])


def test_two_workers_of_one_host_have_two_names() -> None:
    assert command(started("whatif")).options["--hostname"] == "whatif@%h"
    assert "--hostname" not in command(started("worker")).options


def test_the_agent_understands_its_unit() -> None:
    program, *arguments = started("agent")
    assert Path(program).name == command(composed("agent")).program == "fairwatt-agent"
    values = {"${FAIRWATT_SERVER}": "https://gpu.example.org", "${FAIRWATT_NODE}": "node-1"}
    for variable, value in values.items():
        arguments = [word.replace(variable, value) for word in arguments]
    options, _ = _parse([word for word in arguments if word != "$FAIRWATT_AGENT_OPTIONS"])
    assert options.name == "node-1"
    assert options.tenant_uids == UidRange.parse(stack.TENANT_UIDS)
    folder = unit("agent")["Service"]["StateDirectory"]
    assert options.state_path == Path("/var/lib") / folder


def test_attempts_are_not_ended_with_their_agent() -> None:
    """Only the agent is told to end, and nothing that it started is counted against it."""
    agent = unit("agent")["Service"]
    assert agent["KillMode"] == "process"
    assert (agent["Delegate"], agent["OOMPolicy"]) == ("yes", "continue")
    assert (agent["Restart"], agent["RestartPreventExitStatus"]) == ("always", str(EXIT_FENCED))
    assert not [name for name in agent if HARDENING.match(name)], "attempts would inherit it"


def test_all_parts_of_the_service_are_walled_in_alike() -> None:
    walls = [
        {name: value for name, value in unit(part)["Service"].items() if HARDENING.match(name)}
        for part in SERVICE
    ]
    assert all(wall == walls[0] for wall in walls)
    assert walls[0]["NoNewPrivileges"] == "yes"
    assert walls[0]["ProtectSystem"] == "strict"


@pytest.mark.parametrize("name", [*SERVICE, "agent"])
def test_nothing_is_given_up_after_a_few_starts(name: str) -> None:
    assert unit(name)["Unit"]["StartLimitIntervalSec"] == "0"


@pytest.mark.parametrize("name", SERVICE)
def test_a_part_of_the_service_comes_back_as_an_ordinary_user(name: str) -> None:
    service = unit(name)["Service"]
    assert (service["Restart"], service["User"]) == ("always", "fairwatt")
    assert service["EnvironmentFile"] == "/etc/fairwatt/service.env"
    assert unit(name)["Unit"]["PartOf"] == unit(name)["Install"]["WantedBy"] == "fairwatt.target"


@pytest.mark.parametrize("name", ["worker", "whatif"])
def test_it_has_as_long_to_stop_as_the_container(name: str) -> None:
    assert f"{unit(name)['Service']['TimeoutStopSec']}s" == COMPOSE[name]["stop_grace_period"]


def test_the_door_may_hold_as_many_connections_as_the_container() -> None:
    assert (
        int(unit("door")["Service"]["LimitNOFILE"]) == COMPOSE["door"]["ulimits"]["nofile"]["soft"]
    )


def test_the_environment_file_has_what_containers_get_and_nothing_unknown() -> None:
    text = (UNITS / "service.env").read_text()
    names = set(re.findall(r"^([A-Z_]+)=", text, re.MULTILINE))
    assert set(COMPOSE["worker"]["environment"]) - {"LOG_LEVEL"} <= names
    assert names - {"NUMBA_CACHE_DIR"} <= names_read()
    assert re.findall(r"^(SECRET\w*|METRICS_TOKEN)=(.+)$", text, re.MULTILINE) == []


def test_the_agents_file_has_what_its_unit_asks_for() -> None:
    names = set(re.findall(r"^([A-Z_]+)=", (UNITS / "agent.env").read_text(), re.MULTILINE))
    asked = set(re.findall(r"\$\{?([A-Z_]+)", unit("agent")["Service"]["ExecStart"]))
    assert names == asked | {"FAIRWATT_JOIN_TOKEN"}


@pytest.mark.process
@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
def test_systemd_finds_no_fault(tmp_path: Path) -> None:
    """With a program that is there, because ours are not installed where tests run."""
    for path in (*UNITS.glob("*.service"), *UNITS.glob("*.target")):
        text = re.sub(r"/opt/fairwatt/bin/[\w-]+", "/bin/true", path.read_text())
        (tmp_path / path.name).write_text(text)
    told = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", *tmp_path.iterdir()],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    ours = [line for line in told.stderr.splitlines() if "fairwatt" in line]
    assert (told.returncode, ours) == (0, [])
