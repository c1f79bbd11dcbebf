"""Files that are made of several public ones."""

import json
from pathlib import Path

import pytest

from lab.data.download import Limits
from lab.data.errors import DataError, WrongContent
from lab.data.fetch import fetcher
from lab.data.manifest import Entry, load_manifest
from lab.data.recipes import RECIPES
from lab.data.synergy import transcribe
from tests.lab.data.conftest import entry_of, left_in
from tests.lab.data.server import Files, truncated

SOURCE = b"""
class %s(ModelStats):
    def update_stats(self):
        self.cpus = 12
        self.mem = 62.5*2
        self.speed = int(62.5/3)
        # self.speed = 7
        self.tput = np.array([[0.1, 1], [0.5, 2.94]])
"""
PARTS = ("simulator/models-4/bert_1.py", "simulator/models/alexnet_1.py")
SOURCES = {PARTS[0]: SOURCE % b"bert_1", PARTS[1]: SOURCE % b"alexnet_1"}
MADE = transcribe(SOURCES)


def serve(files: Files) -> None:
    files.content |= {f"/owner/name/r1/{name}": source for name, source in SOURCES.items()}


def made(content: bytes = MADE) -> Entry:
    return entry_of("set/made.json", content, recipe="synergy", parts=PARTS)


def fetch(entry: Entry, directory: Path) -> list[int]:
    seen: list[int] = []
    with fetcher(directory, None, Limits()) as source:
        source.fetch(entry, seen.append)
    return seen


def test_numbers_are_read_and_nothing_is_run() -> None:
    numbers = {
        "cpus": 12,
        "mem": 125.0,
        "speed": 20.8333,
        "tput": [[0.1, 1], [0.5, 2.94]],
        "shape": [2, 2],
    }
    sets = json.loads(MADE)["sets"]
    assert sets == {"models-4": {"bert_1gpu": numbers}, "models": {"alexnet_1gpu": numbers}}


@pytest.mark.parametrize(
    "source",
    [
        b"self.cpus = open('/etc/passwd')",
        b"self.cpus = 1 / 0",
        b"self.cpus = [1] * 1.5",
        b"self.cpus = 3",
        b"self.cpus = ",
        b"self.tput = np.array([])",
    ],
)
def test_a_source_of_another_kind_is_refused_by_name(source: bytes) -> None:
    with pytest.raises(WrongContent, match=r"alexnet_1\.py: not the numbers expected"):
        transcribe({PARTS[1]: source})


def test_a_file_is_made_of_its_parts(files: Files, directory: Path) -> None:
    serve(files)
    files.misbehave(f"/owner/name/r1/{PARTS[0]}", truncated)
    seen = fetch(made(), directory)
    assert (directory / "set/made.json").read_bytes() == MADE
    assert left_in(directory) == {"set/made.json"}
    assert seen[-1] == len(MADE)


def test_a_result_of_another_checksum_leaves_nothing_behind(files: Files, directory: Path) -> None:
    serve(files)
    with pytest.raises(WrongContent, match="recipe synergy; nothing was stored"):
        fetch(made(b"x" * len(MADE)), directory)
    assert list(directory.iterdir()) == []


def test_a_part_that_is_not_there_leaves_nothing_behind(files: Files, directory: Path) -> None:
    serve(files)
    del files.content[f"/owner/name/r1/{PARTS[1]}"]
    with pytest.raises(DataError, match=r"alexnet_1\.py: 404"):
        fetch(made(), directory)
    assert list(directory.iterdir()) == []


def test_every_recipe_of_the_manifest_exists_and_is_used() -> None:
    assert {e.file.recipe for e in load_manifest() if e.file.recipe} == set(RECIPES)
