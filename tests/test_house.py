"""The tree is what the docs say: every room stands in the layers, and nothing else does."""

import configparser
import re
import tomllib
from pathlib import Path

from django.apps import apps

ROOT = Path(__file__).parent.parent
# Top-level folders with Python in them that are not rooms of the service.
BESIDE = {"agent", "client", "examples", "lab", "tests"}


def _layers() -> list[str]:
    """From the porch down."""
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter")
    return contracts["importlinter:contract:rooms"]["layers"].split()


def _folders_with_python() -> set[str]:
    return {
        path.parts[0]
        for path in (found.relative_to(ROOT) for found in ROOT.glob("*/**/*.py"))
        if not path.parts[0].startswith(".") and path.parts[0] not in {"var", "build"}
    }


def test_every_room_stands_in_the_layers() -> None:
    assert _folders_with_python() - BESIDE == set(_layers())


def test_every_room_is_linted_as_a_root_package() -> None:
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter")
    assert set(_layers()) <= set(contracts["importlinter"]["root_packages"].split())


def test_contributing_and_docs_name_every_room() -> None:
    for page in ("CONTRIBUTING.md", "docs/architecture.md"):
        text = (ROOT / page).read_text()
        missing = {
            room for room in {*_layers(), "agent", "client", "lab"} if f"{room}/" not in text
        }
        assert not missing, f"{page} does not name {missing}"


def test_no_table_refers_to_a_room_above() -> None:
    """Imports do not show it: a foreign key is a string, and gives the lower room a way up."""
    height = {room: -depth for depth, room in enumerate(_layers())}
    upwards = [
        f"{model._meta.label}.{field.name} -> {target._meta.label}"
        for model in apps.get_models()
        if model._meta.app_label in height
        for field in model._meta.concrete_fields
        if (target := field.related_model) is not None
        and height.get(target._meta.app_label, -99) > height[model._meta.app_label]
    ]
    assert upwards == []


def test_no_statement_names_a_table_of_a_room_above() -> None:
    """SQL is text, which import-linter does not read either."""
    rooms = _layers()
    tables = {
        model._meta.db_table: model._meta.app_label
        for model in apps.get_models()
        if model._meta.app_label in rooms
    }
    word = re.compile("|".join(rf"\b{table}\b" for table in tables))
    upwards = [
        f"{path.relative_to(ROOT)}: {found[0]}"
        for depth, room in enumerate(rooms)
        for path in (ROOT / room).rglob("*.py")
        for found in word.finditer(path.read_text())
        if rooms.index(tables[found[0]]) < depth
    ]
    assert upwards == []


def test_docs_name_files_that_exist() -> None:
    path = re.compile(
        rf"`((?:{'|'.join([*_layers(), *BESIDE, 'docs', 'deploy'])})/[\w./-]*\w\.\w+)`"
    )
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    gone = [
        f"{page.relative_to(ROOT)}: {found[1]}"
        for page in pages
        if page.name != "CHANGELOG.md"
        for found in path.finditer(page.read_text())
        if not (ROOT / found[1]).exists()
    ]
    assert gone == []


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
