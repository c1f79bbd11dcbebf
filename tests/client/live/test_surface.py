"""How much of the client's public surface is used by tests and by examples that tests run."""

import ast
import doctest
import inspect
from collections.abc import Iterator
from pathlib import Path

import fairwatt
import pytest
from fairwatt import in_job

from tests.client.live.test_examples import GROUPS, described, public

LEAST = 0.95
TESTS = Path(__file__).parents[1]
CLOSES = {"Client": "close", "AsyncClient": "aclose"}


def sources() -> Iterator[str]:
    """`test_every_example_of_a_group_runs` runs the examples, with both clients."""
    for file in TESTS.rglob("*.py"):
        yield file.read_text()
    documented = [each.describe for group in GROUPS for each in described(group).values()]
    helpers = [each for each in vars(in_job).values() if inspect.isfunction(each)]
    alone = [fairwatt.Client, fairwatt.read_job_file, fairwatt.verify_webhook]
    for each in (*documented, *helpers, *alone):
        examples = doctest.DocTestParser().get_examples(inspect.getdoc(each) or "")
        yield "".join(example.source for example in examples)


@pytest.fixture(scope="module")
def trees() -> list[ast.AST]:
    return [node for source in sources() for node in ast.walk(ast.parse(source))]


@pytest.mark.parametrize("client", CLOSES)
def test_methods_are_called(client: str, trees: list[ast.AST]) -> None:
    called = {
        node.func.attr
        for node in trees
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    _covered(public() | {CLOSES[client]}, called)


def test_names_of_the_package_are_used(trees: list[ast.AST]) -> None:
    _covered(set(fairwatt.__all__), {name for node in trees for name in _of_package(node)})


def _of_package(node: ast.AST) -> list[str]:
    """As `fairwatt.Job`, or imported from where it is made."""
    if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fairwatt"):
        return [each.name for each in node.names]
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return [node.attr] if node.value.id in {"fairwatt", "in_job"} else []
    return []


def _covered(surface: set[str], used: set[str]) -> None:
    share = len(surface & used) / len(surface)
    assert share >= LEAST, f"{share:.0%}; nobody uses {', '.join(sorted(surface - used))}"
