"""What the pages for operators say, in a form that tests can compare with the code."""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import yaml

from tests.scheduler_service.environment_names import ROOT

METRICS_PAGE = (ROOT / "docs/metrics.md").read_text()
RUNBOOK = (ROOT / "docs/runbook.md").read_text()
SCRAPING: dict[str, Any] = yaml.safe_load((ROOT / "deploy/prometheus/prometheus.yml").read_text())
RULES: list[dict[str, Any]] = [
    rule
    for group in yaml.safe_load((ROOT / "deploy/prometheus/alerts.yml").read_text())["groups"]
    for rule in group["rules"]
]
DASHBOARD: dict[str, Any] = json.loads((ROOT / "deploy/grafana/fairwatt.json").read_text())
ASKS: list[tuple[str, str]] = [
    (panel["title"], target["expr"])
    for panel in DASHBOARD["panels"]
    for target in panel.get("targets", [])
]
_ROW = re.compile(r"^\| `(?P<name>\w+)` \| (?P<cells>.+) \|$", re.MULTILINE)
_SECTION = re.compile(r"^## (?P<title>.+)\n(?P<body>(?:(?!## ).*\n?)*)", re.MULTILINE)


@cache
def metric_rows() -> dict[str, list[str]]:
    """By metric: meaning, unit, labels, when to worry."""
    return {row["name"]: row["cells"].split(" | ") for row in _ROW.finditer(METRICS_PAGE)}


def labels_of_row(name: str) -> set[str]:
    return set(re.findall(r"`(\w+)`", metric_rows()[name][2]))


@cache
def sections() -> dict[str, str]:
    return {found["title"]: found["body"] for found in _SECTION.finditer(RUNBOOK)}


def anchor(title: str) -> str:
    """As GitHub and most others make it from a heading."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def code_spans(text: str) -> Iterator[str]:
    """Inline code, and the lines of blocks."""
    for block in re.findall(r"^```\w*\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        yield from block.splitlines()
    inline = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    yield from re.findall(r"`([^`\n]+)`", inline)
