"""The tree is what the docs say: every room stands in the layers, and nothing else does."""

import configparser
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
# Top-level folders with Python in them that are not rooms of the service.
BESIDE = {"agent", "examples", "lab", "tests"}


def _layers() -> set[str]:
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter")
    names = contracts["importlinter:contract:rooms"]["layers"].split()
    return {name.strip("()") for name in names if name != "|"}


def _folders_with_python() -> set[str]:
    return {
        path.parts[0]
        for path in (found.relative_to(ROOT) for found in ROOT.glob("*/**/*.py"))
        if not path.parts[0].startswith(".") and path.parts[0] not in {"var", "build"}
    }


def test_every_room_stands_in_the_layers() -> None:
    assert _folders_with_python() - BESIDE == _layers()


def test_every_room_is_linted_as_a_root_package() -> None:
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter")
    assert _layers() <= set(contracts["importlinter"]["root_packages"].split())


def test_readme_and_docs_name_every_room() -> None:
    for page in ("README.md", "docs/architecture.md"):
        text = (ROOT / page).read_text()
        missing = {room for room in _layers() | {"agent"} if f"{room}/" not in text}
        assert not missing, f"{page} does not name {missing}"


def test_changelog_knows_the_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert version in (ROOT / "CHANGELOG.md").read_text()


def test_the_service_knows_of_the_agent_only_its_messages() -> None:
    """import-linter cannot say "only this part of a package", so the sources are read."""
    known = re.compile(r"^\s*(?:from|import) agent(?!\.wire\b| import wire\b)\b", re.MULTILINE)
    strangers = [
        str(path.relative_to(ROOT))
        for room in _layers()
        for path in (ROOT / room).rglob("*.py")
        if known.search(path.read_text())
    ]
    assert strangers == []
