"""Read a scenario file; what is wrong with it is said with its line and field."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from policies.contract.parameters import ParameterError
from policies.registry import validate
from simulator.scenario.schema import Scenario
from simulator.traces.formats import READERS


class ScenarioError(Exception):
    """Where a scenario file is wrong, and what was expected there."""

    def __init__(self, path: Path, line: int, field: str, expected: str) -> None:
        super().__init__(f"{path}:{line}: {field or 'file'}: {expected}")
        self.path, self.line, self.field, self.expected = path, line, field, expected


_AT_LINE = re.compile(r"\(at line (\d+), column \d+\)")
_WHERE = re.compile(r"^(?P<what>.*?)(?: - at `\$(?P<where>.*)`)?$", re.DOTALL)
_UNKNOWN = re.compile(r"unknown field `(?P<name>.*)`")
_STEP = re.compile(r"\[(\d+|\.\.\.)\]|\.([^.\[]+)")
_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(r"^\s*([A-Za-z0-9_.\-\"]+)\s*=")


def load_scenario(path: Path, changes: Mapping[str, Any] | None = None) -> Scenario:
    """The scenario, with the fields of `changes` (dotted names) set to other values."""
    try:
        text = path.read_text()
    except OSError as error:
        raise ScenarioError(path, 0, "", f"expected a readable file ({error.strerror})") from None
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = _AT_LINE.search(str(error))
        raise ScenarioError(path, int(at[1]) if at else 0, "", f"not TOML: {error}") from None
    for name, value in (changes or {}).items():
        _set(content, name.split("."), value)
    try:
        scenario = msgspec.convert(content, Scenario)
    except msgspec.ValidationError as error:
        what, steps = _explained(str(error))
        raise ScenarioError(path, line_of(text, steps), ".".join(steps), what) from None
    for what, steps in _wrong(scenario):
        raise ScenarioError(path, line_of(text, steps), ".".join(steps), what)
    return scenario


def _set(content: dict[str, Any], steps: list[str], value: object) -> None:
    at: Any = content
    for step in steps[:-1]:
        at = at[int(step)] if isinstance(at, list) else at.setdefault(step, {})
    at[int(steps[-1]) if isinstance(at, list) else steps[-1]] = value


def _explained(message: str) -> tuple[str, list[str]]:
    found = _WHERE.match(message)
    what, where = (found["what"], found["where"] or "") if found else (message, "")
    steps = [number or name for number, name in _STEP.findall(where)]
    if unknown := _UNKNOWN.search(what):
        steps.append(unknown["name"])
    return what, steps


def _wrong(scenario: Scenario) -> list[tuple[str, list[str]]]:
    """What types alone do not say."""
    trace, cluster, energy = scenario.trace, scenario.cluster, scenario.energy
    wrong: list[tuple[str, list[str]]] = []
    if (trace.generate is None) == (not trace.format):
        wrong.append(("expected either `format` and `path`, or `generate`", ["trace"]))
    if trace.format and trace.format not in READERS:
        wrong.append((f"expected one of {', '.join(READERS)}", ["trace", "format"]))
    if bool(cluster.nodes) == bool(cluster.node_list):
        wrong.append(("expected either `nodes` or `node_list`", ["cluster"]))
    if scenario.rounds.interval_s is None and not scenario.rounds.on_events:
        wrong.append(("expected `interval_s`, or rounds on events", ["rounds", "on_events"]))
    if (energy.flat_price is not None) + bool(energy.price_csv) + bool(energy.periods) > 1:
        wrong.append(("expected one of `flat_price`, `price_csv` and `periods`", ["energy"]))
    if len(energy.power_budget_by_hour_w) not in (0, 24):
        wrong.append(("expected 24 budgets", ["energy", "power_budget_by_hour_w"]))
    for at, policy in enumerate(scenario.policies):
        try:
            validate(policy.name, policy.parameters)
        except ParameterError as error:
            inner = ["parameters", *error.pointer.split("/")[1:]] if error.pointer else ["name"]
            wrong.append((error.message, ["policies", str(at), *inner]))
    return wrong


def line_of(text: str, steps: list[str]) -> int:
    """The line of the longest part of a dotted name that is written in the file; 1 for none."""
    prefix: list[str] = []
    best, best_line = 0, 1
    seen: dict[str, int] = {}
    for line, content in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(content):
            prefix = header[2].split(".")
            if header[1] == "[[":
                seen[header[2]] = seen.get(header[2], -1) + 1
                prefix.append(str(seen[header[2]]))
            elif prefix[0] in seen:
                prefix.insert(1, str(seen[prefix[0]]))
            here = prefix
        elif key := _KEY.match(content):
            here = [*prefix, *key[1].replace('"', "").split(".")]
        else:
            continue
        if len(here) <= len(steps) and here == steps[: len(here)] and len(here) > best:
            best, best_line = len(here), line
    return best_line
