"""The manifest names what the code reads, and agrees with the files where they are there."""

import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from lab.data.content import FileState, state_of
from lab.data.directory import data_directory
from lab.data.errors import DataError
from lab.data.manifest import DataFile, load_manifest, select
from tests.lab.data.paths_read import patterns_in_python, patterns_in_toml

ROOT = Path(__file__).parents[3]
ENTRIES = load_manifest()
PATHS = [entry.file.path for entry in ENTRIES]
# Files of databases, of tests and of an example, which are nobody's data sets.
OTHER_DATA = {"scheduler_service", "lab/data", "lab/benchmarks/harness", "examples/training"}
NOT_DATA = re.compile(r"NOTICE|LICENSE")


def sources(ending: str) -> list[Path]:
    found = [path.relative_to(ROOT) for path in ROOT.glob(f"[!.]*/**/*{ending}")]
    return [
        path
        for path in found
        if path.parts[0] not in {"var", "build"}
        and not any(f"{name}/" in path.as_posix() for name in OTHER_DATA)
    ]


def read_by_code() -> dict[str, set[str]]:
    """Patterns by the file that reads them."""
    python = {path: patterns_in_python((ROOT / path).read_text()) for path in sources(".py")}
    toml = {path: patterns_in_toml((ROOT / path).read_text()) for path in sources(".toml")}
    return {str(path): patterns for path, patterns in (python | toml).items() if patterns}


def is_listed(pattern: str) -> bool:
    """As a file, as a folder, or as the end of a path whose beginning is a variable."""
    wanted = (pattern, f"{pattern}/*", f"*/{pattern}")
    return any(fnmatchcase(path, one) for path in PATHS for one in wanted)


def test_every_path_that_code_reads_is_in_the_manifest() -> None:
    found = read_by_code()
    strangers = {
        reader: missing
        for reader, patterns in found.items()
        if (missing := {pattern for pattern in patterns if not is_listed(pattern)})
    }
    assert strangers == {}
    everything = set().union(*found.values())
    assert {"philly/philly.csv.gz", "zeus/summary_power_*.csv"} <= everything


@pytest.mark.parametrize(
    ("source", "pattern"),
    [
        ("data_directory() / 'a' / 'b.csv'", "a/b.csv"),
        ("files.data_directory() / FOLDER / 'b.csv'", "*/b.csv"),
        ("(data / 'a' / f'b_{kind}.csv').open()", "a/b_*.csv"),
        ("(data / 'a').glob('*.csv')", "a"),
        ("settings.DATA_DIR / 'a/b.csv'", "a/b.csv"),
        ("NAME = 'a/b_{year}.csv.gz'", "a/b_*.csv.gz"),
        ("read(folder / 'b.json.gz')", "*/b.json.gz"),
    ],
)
def test_every_way_of_naming_a_data_file_is_seen(source: str, pattern: str) -> None:
    assert patterns_in_python(source) == {pattern}


@pytest.mark.parametrize(
    "source", ["out / 'summary.csv'", "a / b", "'text, with a / in it.csv file'", "data / 2"]
)
def test_results_and_divisions_are_no_data_files(source: str) -> None:
    assert patterns_in_python(source) == set()


def test_scenarios_name_data_files_too() -> None:
    assert patterns_in_toml("[a]\nb = ['c/d.csv']\nname = 'c'") == {"c/d.csv"}


def test_entries_are_complete_and_stay_below_the_directory() -> None:
    assert len(set(PATHS)) == len(PATHS)
    for entry in ENTRIES:
        file, (repository, revision) = entry.file, entry.dataset.origin(entry.file)
        assert re.fullmatch(r"[0-9a-f]{64}", file.sha256), file.path
        assert re.fullmatch(r"[0-9a-f]{40}", revision), file.path
        assert re.fullmatch(r"[\w-]+/[\w.-]+", repository), file.path
        assert file.size_bytes > 0
        assert re.fullmatch(r"(?:[\w+-][\w.+-]*/)+[\w+-][\w.+-]*", file.path), file.path
        assert len(entry.dataset.urls(file)) == len(file.sources()) > 0


def test_urls_are_pinned_and_quoted() -> None:
    (perseus,) = select(ENTRIES, ["perseus/bloom+a100_sxm_bf16.csv"])
    revision = "1b1c4a9d7fe73b9bc3ca3a365feb60e851226296"
    assert perseus.dataset.urls(perseus.file) == (
        f"https://raw.githubusercontent.com/ml-energy/zeus/{revision}"
        "/sosp24_data/emulation/stage_profile/bloom%2Ba100_sxm_bf16.csv",
    )


def test_a_file_may_come_from_another_repository_than_its_dataset() -> None:
    (licence,) = select(ENTRIES, ["philly/LICENSE.philly-traces-CC-BY-4.0.txt"])
    assert licence.dataset.origin(licence.file)[0] == "msr-fiddle/philly-traces"


def test_names_are_datasets_folders_or_files() -> None:
    assert len(select(ENTRIES, [])) == len(ENTRIES)
    assert {e.dataset.name for e in select(ENTRIES, ["gavel", "muri/"])} == {"gavel", "muri"}
    assert len(select(ENTRIES, ["elasticflow/throughputs_T4"])) == 6
    with pytest.raises(DataError, match="datasets are alibaba_openb_v2023, "):
        select(ENTRIES, ["elastic"])


@pytest.mark.parametrize(
    "given", [{}, {"source": "a", "recipe": "b", "parts": ("c",)}, {"recipe": "b"}]
)
def test_a_file_has_either_a_source_or_a_recipe(given: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="give either"):
        DataFile(path="a", sha256="", size_bytes=1, **given)  # type: ignore[arg-type]


def test_every_dataset_comes_with_the_text_of_its_licence() -> None:
    with_licence = {e.dataset.name for e in ENTRIES if "LICENSE" in e.file.path}
    assert with_licence == {e.dataset.name for e in ENTRIES}


def test_files_that_are_there_have_their_checksums() -> None:
    directory = data_directory()
    if not directory.is_dir():
        pytest.skip("FAIRWATT_DATA is not there: python -m lab data fetch")
    states = {entry.file.path: state_of(entry.file, directory) for entry in ENTRIES}
    assert FileState.PRESENT in states.values(), "nothing of the manifest is there"
    assert [path for path, state in states.items() if state is FileState.WRONG] == []


def test_every_data_file_that_is_there_is_in_the_manifest() -> None:
    directory = data_directory()
    if not directory.is_dir():
        pytest.skip("FAIRWATT_DATA is not there: python -m lab data fetch")
    present = (path for path in directory.glob("[!.]*/**/*") if path.is_file())
    names = {str(path.relative_to(directory)) for path in present if not NOT_DATA.match(path.name)}
    assert names - set(PATHS) == set()


def test_the_page_lists_every_dataset_with_its_licence() -> None:
    page = (ROOT / "docs" / "data.md").read_text()
    rows = [[cell.strip() for cell in line.split("|")] for line in page.splitlines()]
    listed = {(row[1].strip("`"), row[4]) for row in rows if len(row) == 6 and "`" in row[1]}
    assert listed == {(entry.dataset.name, entry.dataset.licence) for entry in ENTRIES}
