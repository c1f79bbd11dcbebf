"""The locks hold what the .in files ask for, each pin with hashes, and nothing else."""

import ast
import re
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
LOCKS = {"requirements.txt": "requirements.in", "requirements-dev.txt": "requirements-dev.in"}
ENTRY = re.compile(r"^(?P<pin>\w[^\\]*)\\\n(?P<below>(?: +.*\n)*)", re.MULTILINE)
ASKED_FOR = re.compile(r"-r \S+\.in$", re.MULTILINE)
MAY_STAND_IN_A_LOCK = re.compile(r"#|\w|    # |    --hash=sha256:[0-9a-f]{64}( \\)?$")

ROOMS = (
    *("scheduler_service", "whatif", "engines", "scheduling", "energy", "webhooks", "jobs"),
    *("clusters", "tariffs", "storage", "tenancy", "rest", "simulator", "policies", "agent"),
)
# The demo speaks through the client, and runs where that is installed.
NOT_IN_THE_IMAGE = ("scheduler_service/embedded/demo/",)

Pin = tuple[str, frozenset[str], str]


def _pin(line: str) -> Pin:
    """Name, extras and version, however they are spelled."""
    asked = Requirement(line)
    return canonicalize_name(asked.name), frozenset(asked.extras), str(asked.specifier)


def _asked(source: str) -> set[Pin]:
    lines = (ROOT / source).read_text().splitlines()
    included = [line.removeprefix("-r ") for line in lines if line.startswith("-r ")]
    pins = {_pin(line) for line in lines if line and line[0] not in "#-"}
    return pins.union(*map(_asked, included))


def _locked(lock: str) -> dict[Pin, str]:
    """Each pin with the lines below it: its hashes, and who asked for it."""
    return {_pin(entry["pin"]): entry["below"] for entry in ENTRY.finditer(_text(lock))}


def _text(lock: str) -> str:
    return (ROOT / lock).read_text()


@pytest.mark.parametrize("lock", LOCKS)
def test_the_lock_is_up_to_date(lock: str) -> None:
    direct = {pin for pin, below in _locked(lock).items() if ASKED_FOR.search(below)}
    assert direct == _asked(LOCKS[lock]), "run `make lock`"


@pytest.mark.parametrize("lock", LOCKS)
def test_every_pin_is_exact_and_has_hashes(lock: str) -> None:
    pins = _locked(lock)
    assert len(pins) == len(re.findall(r"^\w", _text(lock), re.MULTILINE))
    assert [pin for pin in pins if not re.fullmatch(r"==[^,*]+", pin[2])] == []
    assert [pin for pin, below in pins.items() if "--hash=" not in below] == []


@pytest.mark.parametrize("lock", LOCKS)
def test_the_lock_leaves_the_package_index_to_whoever_installs(lock: str) -> None:
    lines = _text(lock).splitlines()
    assert [line for line in lines if "://" in line or not MAY_STAND_IN_A_LOCK.match(line)] == []


def test_developers_have_the_versions_of_production() -> None:
    assert _locked("requirements.txt").keys() <= _locked("requirements-dev.txt").keys()


def test_the_service_imports_nothing_that_its_image_lacks() -> None:
    """It has what requirements.txt names, and nothing of what developing takes besides."""
    installed = {pin[0] for pin in _locked("requirements.txt")}
    provided = {
        module
        for module, names in packages_distributions().items()
        if installed & {canonicalize_name(name) for name in names}
    }
    known = {*sys.stdlib_module_names, *provided, *ROOMS}
    missing = {
        f"{file.relative_to(ROOT)}: {name}"
        for room in ROOMS
        for file in (ROOT / room).rglob("*.py")
        if not str(file.relative_to(ROOT)).startswith(NOT_IN_THE_IMAGE)
        for name in _imported(file) - known
    }
    assert sorted(missing) == []


def _imported(file: Path) -> set[str]:
    """Top-level packages that the file imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found
