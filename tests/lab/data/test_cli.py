"""`python -m lab data` from its arguments to its exit code."""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from lab.__main__ import main
from lab.data import cli
from lab.data.manifest import Entry
from tests.lab.data.conftest import PACKED, PLAIN
from tests.lab.data.server import Files

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def small_manifest(monkeypatch: pytest.MonkeyPatch, plain: Entry, packed: Entry) -> None:
    monkeypatch.setattr(cli, "load_manifest", lambda: [plain, packed])


def put(directory: Path, path: str, content: bytes) -> None:
    target = directory / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)


def test_the_list_says_what_is_there(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(directory, "set/plain.csv", PLAIN)
    put(directory, "set/packed.csv.gz", b"torn")
    assert main(["data"]) == 0
    assert [line.split(maxsplit=3) for line in capsys.readouterr().out.splitlines()] == [
        ["file", "licence", "source", "state"],
        ["set/plain.csv", "MIT", "owner/name@r1", "present"],
        ["set/packed.csv.gz", "MIT", "owner/name@r1", "wrong checksum"],
    ]


def test_check_passes_over_what_is_missing(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(directory, "set/packed.csv.gz", gzip.compress(PACKED, 1))
    assert main(["data", "check"]) == 0
    told = capsys.readouterr()
    assert "1 right, 0 wrong, 1 missing" in told.out
    assert "python -m lab data fetch set/plain.csv" in told.err


def test_check_fails_on_what_is_wrong_and_says_what_to_do(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(directory, "set/plain.csv", PLAIN[:-1] + b"x")
    assert main(["data", "check"]) == cli.SOMETHING_WRONG
    assert "set/plain.csv: wrong checksum; remove it, then" in capsys.readouterr().err


def test_check_without_a_directory_is_wrong_input(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "check"]) == cli.WRONG_INPUT
    assert "set FAIRWATT_DATA" in capsys.readouterr().err


def test_fetch_brings_what_is_missing_and_asks_for_nothing_twice(
    files: Files, directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "fetch"]) == 0
    assert main(["data", "fetch"]) == 0
    assert main(["data", "check"]) == 0
    assert len(files.asked) == 2
    assert "2 right, 0 wrong, 0 missing" in capsys.readouterr().out


def test_fetch_brings_only_what_is_named(files: Files, directory: Path) -> None:
    assert main(["data", "fetch", "set/plain.csv"]) == 0
    assert not (directory / "set/packed.csv.gz").exists()
    assert main(["data", "fetch", "nothing-like-it"]) == cli.WRONG_INPUT


def test_fetch_goes_on_after_a_file_that_failed(
    files: Files, directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del files.content["/owner/name/r1/in/plain.csv"]
    assert main(["data", "fetch"]) == cli.SOMETHING_WRONG
    told = capsys.readouterr()
    assert "1 fetched, 1 failed" in told.out
    assert "in/plain.csv: 404" in told.err


def test_fetch_ends_at_a_host_that_cannot_be_reached(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "fetch", "--mirror", "http://127.0.0.1:1"]) == cli.SOMETHING_WRONG
    told = capsys.readouterr()
    assert "0 fetched, 2 failed" in told.out
    assert told.err.count("no connection") == 1


def test_fetch_takes_the_mirror_of_the_environment(
    files: Files, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRWATT_DATA_MIRROR", f"{files.url}/mirror")
    assert main(["data", "fetch"]) == 0
    assert {path.split("/")[1] for path, _ in files.asked} == {"mirror"}


def test_fetch_touches_no_file_that_is_wrong(
    files: Files, directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(directory, "set/plain.csv", b"mine")
    assert main(["data", "fetch"]) == cli.SOMETHING_WRONG
    assert (directory / "set/plain.csv").read_bytes() == b"mine"
    assert "remove it" in capsys.readouterr().err


def test_fetch_wants_to_be_told_where_to(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("FAIRWATT_DATA", raising=False)
    assert main(["data", "fetch"]) == cli.WRONG_INPUT
    assert "FAIRWATT_DATA is not set" in capsys.readouterr().err


@pytest.mark.process
def test_the_command_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lab", "data", "fetch", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "--mirror BASE_URL" in done.stdout
