"""Job files, in YAML or TOML: what is wrong in one is named with its line and column."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec
import yaml

from fairwatt.errors import FairwattError, Fault
from fairwatt.structs.jobs import Dependency, JobSpec
from fairwatt.structs.profiles import PointSpec

Keys = tuple[str | int, ...]
# Whose values are words, however YAML would read them: `EPOCHS: 3` is "3".
WORDS = ("env", "labels")
_PATH = re.compile(r" - at `\$(?P<path>[^`]*)`$")


class JobFileError(FairwattError):
    """A job file that cannot be used; the sentence says where."""


@dataclass(frozen=True, slots=True)
class Position:
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class JobFile:
    """What a file says, and where it says each of it."""

    path: Path
    spec: JobSpec
    positions: Mapping[Keys, Position]

    def at(self, pointer: str) -> str:
        """`job.yaml:3:7` of a JSON pointer; of the nearest that the file has."""
        keys: Keys = tuple(int(k) if k.isdigit() else k for k in pointer.split("/")[1:])
        while keys and keys not in self.positions:
            keys = keys[:-1]
        return _place(self.path, self.positions.get(keys, Position(1, 1)))

    def refused(self, faults: Sequence[Fault]) -> JobFileError:
        """What the service said, at the lines of the file."""
        said = "; ".join(f"{self.at(fault.pointer)}: {fault.detail}" for fault in faults)
        return JobFileError(said, "Correct the file and submit it again.")


def read_job_file(path: str | Path) -> JobSpec:
    """The job that a YAML or TOML file describes.

    >>> _ = Path("job.yaml").write_text("argv: [python3, train.py]\\ngpus: 4\\n")
    >>> fairwatt.read_job_file("job.yaml").gpus
    4
    """
    return load(Path(path)).spec


def load(path: Path) -> JobFile:
    try:
        text = path.read_text()
    except FileNotFoundError as error:
        raise JobFileError(f"There is no file {path}.", "Give the path of a job file.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise JobFileError(f"{path} cannot be read: {error}.", "Is it a text file?") from error
    values, positions = _toml(path, text) if path.suffix == ".toml" else _yaml(path, text)
    if not isinstance(values, dict):
        raise JobFileError(f"{path}:1:1: a job file is a map of fields.", "Begin with `argv:`.")
    _refuse_unknown(path, values, positions)
    for name in WORDS:
        if isinstance(values.get(name), dict):
            values[name] = {key: _word(value) for key, value in values[name].items()}
    return JobFile(path, _converted(path, values, positions), positions)


def _yaml(path: Path, text: str) -> tuple[Any, dict[Keys, Position]]:
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        positions = dict(_marks(root, ())) if root else {}
        return yaml.safe_load(text), positions
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        position = Position(mark.line + 1, mark.column + 1) if mark else Position(1, 1)
        raise JobFileError(
            f"{_place(path, position)}: {error.problem or error.context}.", "Mend the YAML there."
        ) from error
    except yaml.YAMLError as error:
        raise JobFileError(f"{path}: {error}", "Mend the YAML.") from error


def _marks(node: yaml.Node, keys: Keys) -> Iterator[tuple[Keys, Position]]:
    """Where each value stands; that of a map's member is where its name stands."""
    if not keys:
        yield keys, Position(node.start_mark.line + 1, node.start_mark.column + 1)
    if isinstance(node, yaml.MappingNode):
        members = [((*keys, str(key.value)), key, value) for key, value in node.value]
    elif isinstance(node, yaml.SequenceNode):
        members = [((*keys, at), value, value) for at, value in enumerate(node.value)]
    else:
        return
    for member, name, value in members:
        yield member, Position(name.start_mark.line + 1, name.start_mark.column + 1)
        yield from _marks(value, member)


def _toml(path: Path, text: str) -> tuple[Any, dict[Keys, Position]]:
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        said = re.match(r"(.*) \(at line (\d+), column (\d+)\)$", str(error))
        position = Position(int(said[2]), int(said[3])) if said else Position(1, 1)
        words = said[1] if said else str(error)
        raise JobFileError(f"{_place(path, position)}: {words}.", "Mend the TOML there.") from error
    return values, dict(_toml_marks(text))


def _toml_marks(text: str) -> Iterator[tuple[Keys, Position]]:
    """Of names at the beginning of a line, which is where a job file has them."""
    table: Keys = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := re.match(r"\s*\[+\s*([\w.-]+)\s*\]+", line):
            table = tuple(header[1].split("."))
            yield table, Position(number, line.index("[") + 1)
        elif name := re.match(r"\s*([\w-]+)\s*=", line):
            yield (*table, name[1]), Position(number, name.start(1) + 1)


def _refuse_unknown(path: Path, values: dict[str, Any], positions: Mapping[Keys, Position]) -> None:
    for keys, name, known in _unknown(values):
        near = get_close_matches(name, known, n=1)
        mean = f"Did you mean `{near[0]}`?" if near else f"There are: {', '.join(known)}."
        place = _place(path, positions.get(keys, Position(1, 1)))
        raise JobFileError(f"{place}: there is no field `{name}`.", mean)


def _unknown(values: dict[str, Any]) -> Iterator[tuple[Keys, str, tuple[str, ...]]]:
    known = JobSpec.__struct_fields__
    yield from (((name,), str(name), known) for name in values if name not in known)
    for member, kind in (("depends_on", Dependency), ("points", PointSpec)):
        items = values.get(member)
        for at, item in enumerate(items if isinstance(items, list) else []):
            if isinstance(item, dict):
                fields = kind.__struct_fields__
                yield from (((member, at, n), str(n), fields) for n in item if n not in fields)


def _word(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else value


def _converted(path: Path, values: Any, positions: Mapping[Keys, Position]) -> JobSpec:
    try:
        return msgspec.convert(values, JobSpec)
    except msgspec.ValidationError as error:
        found = _PATH.search(str(error))
        where = found["path"] if found else ""
        keys: Keys = tuple(
            int(part) if part.isdigit() else part for part in re.findall(r"\w+", where)
        )
        while keys and keys not in positions:
            keys = keys[:-1]
        words = _PATH.sub("", str(error))
        name = ".".join(map(str, keys)) or "the file"
        raise JobFileError(
            f"{_place(path, positions.get(keys, Position(1, 1)))}: {name}: {words}.", _help(keys)
        ) from error


def _help(keys: Keys) -> str:
    if keys[:1] == ("argv",):
        return "argv is a list of words: argv: [python3, train.py]."
    return "Correct the file and submit it again."


def _place(path: Path, position: Position) -> str:
    return f"{path}:{position.line}:{position.column}"
