"""docs/settings.md lists what the code reads: no more, no less."""

import re

import pytest

from tests.scheduler_service.environment_names import ROOT, names_in, names_read


@pytest.mark.parametrize(
    "source",
    [
        "environment.text('A', 'x')",
        "environment.number('A', 1.0)",
        "environment.secret('A', production=True)",
        "os.environ.get('A')",
        "os.environ['A']",
        "os.getenv('A', 'x')",
        "if 'A' not in os.environ: pass",
    ],
)
def test_every_way_of_reading_is_seen(source: str) -> None:
    assert names_in(source) == {"A"}


@pytest.mark.parametrize("source", ["os.environ['A'] = 'x'", "other.text('A')", "'A'"])
def test_writing_and_talking_are_not_reading(source: str) -> None:
    assert names_in(source) == set()


def test_the_page_lists_exactly_what_the_code_reads() -> None:
    page = (ROOT / "docs" / "settings.md").read_text()
    listed = re.findall(r"^\| `([A-Z0-9_]+)`", page, re.MULTILINE)
    assert sorted(listed) == sorted(names_read())
