"""Runs the examples of a docstring; what they print must be what stands below them."""

import doctest
from typing import Any


def run_examples(doc: str | None, names: dict[str, Any]) -> int:
    """In these names, which examples may add to; how many there were."""
    test = doctest.DocTestParser().get_doctest(doc or "", names, "example", None, 0)
    test.globs = names
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    runner.run(test, out=said.append, clear_globs=False)
    assert not runner.failures, "".join(said)
    return len(test.examples)
