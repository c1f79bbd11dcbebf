"""What `make dist` packs: one version, every file of every room, commands that are there."""

import re
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from agent import __version__
from tests.test_house import ROOT, _layers


def _project(folder: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text())


SERVICE = _project(".")
PACKING = SERVICE["tool"]["setuptools"]


def test_service_agent_and_client_have_one_version() -> None:
    version = SERVICE["project"]["version"]
    assert {_project(folder)["project"]["version"] for folder in ("agent", "client")} == {version}
    assert __version__ == version
    assert f"\nfairwatt-agent=={version}\n" in (ROOT / "requirements-agent.in").read_text()


def test_their_names_differ() -> None:
    names = [_project(folder)["project"]["name"] for folder in (".", "agent", "client")]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("folder", [".", "agent"])
def test_every_command_is_there(folder: str) -> None:
    for target in _project(folder)["project"]["scripts"].values():
        module, _, name = target.partition(":")
        assert callable(getattr(import_module(module), name))


def test_every_room_is_packed_and_nothing_beside_them() -> None:
    assert PACKING["packages"]["find"]["include"] == [f"{room}*" for room in _layers()]


def _folders(room: str) -> list[Path]:
    return sorted({path.parent for path in (ROOT / room).rglob("*.py")})


def test_every_folder_of_a_room_is_a_package() -> None:
    """Folders that are none would be left out without a word."""
    rooms = [folder for room in (*_layers(), "agent") for folder in _folders(room)]
    assert [str(folder) for folder in rooms if not (folder / "__init__.py").exists()] == []


def test_the_agents_wheel_has_all_of_its_folders() -> None:
    packed = set(_project("agent")["tool"]["setuptools"]["packages"])
    folders = {".".join(folder.relative_to(ROOT).parts) for folder in _folders("agent")}
    assert packed == {name for name in folders if not name.startswith("agent.build")}


def test_every_other_file_of_a_room_is_packed_as_data() -> None:
    packed = {
        path
        for room in _layers()
        for folder in _folders(room)
        for pattern in PACKING["package-data"]["*"]
        for path in folder.glob(pattern)
    }
    others = [
        path
        for room in _layers()
        for path in (ROOT / room).rglob("*")
        if path.is_file() and path.suffix not in {".py", ".pyc", ".nbc", ".nbi"}
    ]
    assert [str(path.relative_to(ROOT)) for path in others if path not in packed] == []


def test_what_is_installed_beside_the_packages_exists() -> None:
    for patterns in PACKING["data-files"].values():
        assert [pattern for pattern in patterns if not list(ROOT.glob(pattern))] == []


def test_units_name_a_page_that_the_wheel_installs() -> None:
    shared = {Path(name).name for name in PACKING["data-files"]["share/fairwatt"]}
    for unit in (ROOT / "deploy" / "systemd").glob("*.service"):
        page = re.search(r"^Documentation=file:/opt/fairwatt/share/fairwatt/(.*)$",
                         unit.read_text(), re.MULTILINE)  # fmt: skip
        assert page
        assert page[1] in shared
