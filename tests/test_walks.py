"""docs/architecture.md shows the walks through the house; each step exists and calls the next."""

import ast
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
STEP = re.compile(r"^\d+\. `(?P<file>[\w/]+\.py)` `(?P<name>[\w.]+)`")
# Where a row, a message or a request carries the work on, no function calls the next.
HANDED_OVER = re.compile(r"^ +↓ ")
AT_MOST_FILES, AT_MOST_CHANGES_OF_ROOM = 60, 14


@dataclass(frozen=True)
class Step:
    file: str
    name: str
    called: bool

    @property
    def room(self) -> str:
        return self.file.split("/")[0]


@cache
def walks() -> dict[str, list[Step]]:
    found: dict[str, list[Step]] = {}
    title, called = "", False
    for line in (ROOT / "docs/architecture.md").read_text().splitlines():
        if line.startswith("### "):
            title, called = line.removeprefix("### "), False
        elif step := STEP.match(line):
            found.setdefault(title, []).append(Step(step["file"], step["name"], called))
            called = True
        elif HANDED_OVER.match(line):
            called = False
    return found


Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def functions(file: str) -> dict[str, ast.AST]:
    return dict(_functions(ast.parse((ROOT / file).read_text()).body, ""))


def _functions(body: list[ast.stmt], inside: str) -> Iterator[tuple[str, ast.AST]]:
    for node in body:
        if isinstance(node, Function):
            yield f"{inside}{node.name}", node
        elif isinstance(node, ast.ClassDef):
            yield f"{inside}{node.name}", node
            yield from _functions(node.body, f"{inside}{node.name}.")


def _names(node: ast.AST) -> set[str]:
    """Names that are used inside, also as attributes, and as tables of statements by name."""
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return names | {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}


def reached(file: str, name: str) -> set[str]:
    """What a function names, with what the functions of its own file do that it calls."""
    here = functions(file)
    by_last = {full.rpartition(".")[2]: full for full in here}
    seen, names, ahead = set(), set[str](), [name]
    while ahead:
        full = ahead.pop()
        if full in seen:
            continue
        seen.add(full)
        used = _names(here[full])
        names |= used
        ahead += [by_last[one] for one in used & by_last.keys()]
    return names


ALL = [(title, step) for title, steps in walks().items() for step in steps]
FOLLOWED = [
    (title, one, other)
    for title, steps in walks().items()
    for one, other in itertools.pairwise(steps)
    if other.called
]


def test_the_five_walks_are_there() -> None:
    assert len(walks()) == 5
    assert all(len(steps) > 4 for steps in walks().values())


@pytest.mark.parametrize(("title", "step"), ALL, ids=lambda value: getattr(value, "name", None))
def test_each_step_exists(title: str, step: Step) -> None:
    assert (ROOT / step.file).exists(), f"{title}: there is no {step.file}"
    assert step.name in functions(step.file), f"{title}: no {step.name} in {step.file}"


@pytest.mark.parametrize(
    ("title", "step", "after"), FOLLOWED, ids=lambda value: getattr(value, "name", None)
)
def test_each_step_calls_the_next(title: str, step: Step, after: Step) -> None:
    wanted = {after.name.rpartition(".")[2], after.name.partition(".")[0]}
    names = reached(step.file, step.name)
    assert wanted & names, f"{title}: {step.name} does not call {after.name}"


def test_a_job_reaches_its_bill_through_few_files_and_rooms() -> None:
    (steps,) = (steps for title, steps in walks().items() if "bill" in title)
    rooms = [step.room for step in steps]
    changes = sum(one != other for one, other in itertools.pairwise(rooms))
    assert len({step.file for step in steps}) <= AT_MOST_FILES
    assert changes <= AT_MOST_CHANGES_OF_ROOM
