"""`python -m lab data`: list, check or fetch the public data."""

import argparse
import os
from collections.abc import Sequence

from lab.data.content import FileState, state_of
from lab.data.directory import chosen_directory, data_directory
from lab.data.download import Limits
from lab.data.errors import DataError, SourceUnreachable
from lab.data.fetch import Fetcher, fetcher
from lab.data.manifest import Entry, load_manifest, select
from lab.data.progress import showing
from simulator.progress import say, tell

SOMETHING_WRONG = 1
WRONG_INPUT = 2
MIRROR = "FAIRWATT_DATA_MIRROR"


def main(arguments: Sequence[str]) -> int:
    given = _parser().parse_args(arguments)
    try:
        code: int = given.command(given)
    except DataError as error:
        say(f"error: {error}")
        return WRONG_INPUT
    return code


def show(given: argparse.Namespace) -> int:
    """A line per file: licence, source, and whether it is there."""
    directory = data_directory()
    rows = [["file", "licence", "source", "state"]]
    for entry in select(load_manifest(), given.names):
        repository, revision = entry.dataset.origin(entry.file)
        source = f"{repository}@{revision[:12]}"
        state = state_of(entry.file, directory)
        rows.append([entry.file.path, entry.dataset.licence, source, state])
    tell(_table(rows))
    say(f"in {directory}")
    return 0


def check(given: argparse.Namespace) -> int:
    """Verify the checksums of the files that are there."""
    directory = data_directory()
    if not directory.is_dir():
        raise DataError(f"{directory} is no directory: set FAIRWATT_DATA to the one with the data")
    states = [(e, state_of(e.file, directory)) for e in select(load_manifest(), given.names)]
    wrong = [entry for entry, state in states if state is FileState.WRONG]
    missing = [entry for entry, state in states if state is FileState.MISSING]
    for entry in wrong:
        say(_is_wrong(entry))
    for entry in missing:
        say(f"{entry.file.path}: missing; python -m lab data fetch {entry.file.path}")
    present = len(states) - len(wrong) - len(missing)
    tell(f"{present} right, {len(wrong)} wrong, {len(missing)} missing in {directory}")
    return SOMETHING_WRONG if wrong else 0


def fetch(given: argparse.Namespace) -> int:
    """Download the files that are missing."""
    directory = chosen_directory()
    states = [(e, state_of(e.file, directory)) for e in select(load_manifest(), given.names)]
    wrong = [entry for entry, state in states if state is FileState.WRONG]
    for entry in wrong:
        say(_is_wrong(entry))
    missing = [entry for entry, state in states if state is FileState.MISSING]
    with fetcher(directory, given.mirror, Limits()) as source:
        failed = fetch_all(source, missing)
    tell(f"{len(missing) - failed} fetched, {failed} failed, in {directory}")
    return SOMETHING_WRONG if failed or wrong else 0


def fetch_all(source: Fetcher, missing: Sequence[Entry]) -> int:
    """How many failed; a host that cannot be reached ends it."""
    failed = 0
    for number, entry in enumerate(missing, 1):
        try:
            with showing(entry.file, f"{number}/{len(missing)}") as on_bytes:
                source.fetch(entry, on_bytes)
        except SourceUnreachable as error:
            say(f"error: {error}")
            return failed + len(missing) - number + 1
        except DataError as error:
            say(f"error: {error}")
            failed += 1
    return failed


def _table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    return "\n".join(lines)


def _is_wrong(entry: Entry) -> str:
    path = entry.file.path
    return f"{path}: wrong checksum; remove it, then python -m lab data fetch {path}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lab data", description=__doc__)
    parser.set_defaults(command=show, names=[])
    commands = parser.add_subparsers(metavar="COMMAND")
    for name, command in (("list", show), ("check", check), ("fetch", fetch)):
        sub = commands.add_parser(name, help=command.__doc__)
        sub.add_argument("names", nargs="*", metavar="NAME", help="dataset, folder or file")
        sub.set_defaults(command=command)
        if name == "fetch":
            sub.add_argument(
                "--mirror",
                metavar="BASE_URL",
                default=os.environ.get(MIRROR) or None,
                help=f"where a directory like FAIRWATT_DATA is served (default: {MIRROR})",
            )
    return parser
