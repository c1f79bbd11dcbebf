"""Pages as their readers see them: headings, links, and what stands there as code."""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent
INDEX = ROOT / "docs/index.md"
FENCED = re.compile(r"^```.*?^```[ ]*$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
ELSEWHERE = ("http://", "https://", "mailto:")


class Link(NamedTuple):
    page: Path
    target: Path
    anchor: str

    def __str__(self) -> str:
        return f"{name_of(self.page)}: {name_of(self.target)}#{self.anchor}".rstrip("#")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT)) if page.is_relative_to(ROOT) else str(page)


def pages() -> list[Path]:
    front = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
    return [*front, *sorted((ROOT / "docs").rglob("*.md"))]


@cache
def prose(page: Path) -> str:
    """Without code, in which brackets and hashes mean something else."""
    return INLINE.sub("", FENCED.sub("", page.read_text()))


def links(page: Path) -> list[Link]:
    return [
        Link(page, (page.parent / path).resolve() if path else page, anchor)
        for found in LINK.findall(prose(page))
        if not found.startswith(ELSEWHERE)
        for path, _, anchor in (found.partition("#"),)
    ]


@cache
def anchors(page: Path) -> set[str]:
    """By the rule of GitHub: a heading that is there twice gets a number."""
    text = FENCED.sub("", page.read_text())
    seen: dict[str, int] = {}
    found = set()
    for heading in HEADING.findall(text):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        number = seen[slug] = seen.get(slug, -1) + 1
        found.add(f"{slug}-{number}" if number else slug)
    return found


def code_lines(page: Path) -> list[str]:
    """Lines of blocks, continued ones as one, and what stands as code within a sentence."""
    text = page.read_text()
    blocks = [block.replace("\\\n", " ") for block in FENCED.findall(text)]
    lines = [line.strip() for block in blocks for line in block.splitlines()[1:-1]]
    return [*lines, *INLINE.findall(FENCED.sub("", text))]
