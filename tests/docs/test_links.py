"""Links of the pages lead somewhere, all pages are found from the index, named commands exist."""

import re
from pathlib import Path

import pytest

from tests.docs.commands import faults
from tests.docs.pages import INDEX, ROOT, Link, anchors, code_lines, links, name_of, pages

ROW = re.compile(r"^\| (`[^|]+) \|", re.MULTILINE)
CODE = re.compile(r"`([a-z]+(?:_[a-z]+)*)`")
# Some codes are put together (`unknown_…`); the tests of the jobs name them whole.
SOURCES = (
    *("scheduler_service", "whatif", "engines", "scheduling", "energy", "webhooks", "jobs"),
    *("clusters", "tariffs", "storage", "tenancy", "rest", "policies", "agent", "tests/jobs"),
)


def _leads_nowhere(link: Link) -> bool:
    if not link.target.exists():
        return True
    return bool(link.anchor) and link.anchor not in anchors(link.target)


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_links_and_anchors_resolve(page: Path) -> None:
    assert [str(link) for link in links(page) if _leads_nowhere(link)] == []


def test_every_page_is_found_from_the_index() -> None:
    found, ahead = {INDEX}, [INDEX]
    while ahead:
        for link in links(ahead.pop()):
            if link.target.suffix == ".md" and link.target not in found:
                found.add(link.target)
                ahead.append(link.target)
    assert sorted(name_of(page) for page in set(pages()) - found - {ROOT / "README.md"}) == []


def test_the_index_itself_names_every_page_beside_it() -> None:
    """Who looks for a page should not have to guess through which other one it is found."""
    named = {link.target for link in links(INDEX)} | {INDEX}
    assert sorted(name_of(page) for page in set(INDEX.parent.glob("*.md")) - named) == []


def test_the_readme_leads_to_the_index() -> None:
    assert INDEX in {link.target for link in links(ROOT / "README.md")}


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_named_commands_exist(page: Path) -> None:
    assert [fault for line in code_lines(page) for fault in faults(line)] == []


@pytest.mark.parametrize(
    ("line", "gone"),
    [
        ("make up", []),
        ("FAIRWATT_PORT=9000 make up", []),
        ("make upp", ["make upp"]),
        ("python manage.py replay 7", []),
        ("python manage.py rewind 7", ["manage.py rewind"]),
        ("$ .venv/bin/fairwatt -P operator policy set srtf --cluster demo", []),
        ("fairwatt policy drop srtf", ["fairwatt policy drop"]),
        ("fairwatt wy 12", ["fairwatt wy"]),
        ("fairwatt run --gpu 1 -- prog --gpu 2", ["fairwatt run --gpu"]),
        ("JOB=$(fairwatt submit job.yaml --folder x | cut -d' ' -f2)", []),
    ],
)
def test_a_command_that_is_gone_is_noticed(line: str, gone: list[str]) -> None:
    assert faults(line) == gone


def test_an_anchor_that_is_gone_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A `job`, twice\n## Twice\n## Twice\n```\n# no heading\n```\n[x](#twice-1)\n")
    assert anchors(page) == {"a-job-twice", "twice", "twice-1"}
    page.with_name("other.md").write_text("[x](page.md#thrice) `[y](gone.md)` [z](page.md)\n")
    found = [_leads_nowhere(link) for link in links(page.with_name("other.md"))]
    assert found == [True, False]


def test_troubleshooting_names_codes_that_the_code_has() -> None:
    rows = ROW.findall((ROOT / "docs/troubleshooting.md").read_text())
    named = {code for row in rows for code in CODE.findall(row)}
    assert len(named) > 30
    assert sorted(named - _words_of_the_sources()) == []


def _words_of_the_sources() -> set[str]:
    words: set[str] = set()
    for room in SOURCES:
        for file in (ROOT / room).rglob("*.py"):
            words |= set(re.findall(r"[a-z]+(?:_[a-z]+)*", file.read_text().lower()))
    return words
