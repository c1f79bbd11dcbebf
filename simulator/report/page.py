"""The report: one page with its data, its plots and its script inside."""

import html
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from simulator.report.files import plain
from simulator.report.series import PlotSeries

ASSETS = Path(__file__).parent / "assets"
CURVES_SHOWN = 8
SIDE_BY_SIDE = "Policies side by side"


class PlottedCurve(NamedTuple):
    """The plots of one run, under its label."""

    label: str
    series: PlotSeries


def page(
    *,
    title: str,
    conclusion: str = "",
    facts: Mapping[str, str],
    tables: Sequence[tuple[str, Sequence[Sequence[str]]]],
    curves: Sequence[PlottedCurve],
    notes: Sequence[str] = (),
    figures: Sequence[tuple[str, str]] = (),
) -> str:
    """What it comes to stands first.

    `figures` are headings with SVG of our own making, which stands in the page as it is.
    """
    runs = [{"label": c.label, **plain(msgspec.to_builtins(c.series))} for c in curves]
    body = [
        f"<h1>{html.escape(title)}</h1>",
        f'<p class="conclusion">{html.escape(conclusion)}</p>' if conclusion else "",
        _facts(facts),
        *(f"<p>{html.escape(note)}</p>" for note in notes),
        *(_table(heading, rows) for heading, rows in tables),
        *(
            f"<h2>{html.escape(heading)}</h2><div class=scroll>{svg}</div>"
            for heading, svg in figures
        ),
        '<div id="plots"></div>',
    ]
    return (
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title>"
        f"<style>{_asset('uPlot.min.css')}{_asset('report.css')}</style></head><body><main>"
        + "\n".join(body)
        + f'</main><script type="application/json" id="runs">{_json(runs)}</script>'
        f"<script>{_asset('uPlot.iife.min.js')}</script><script>{_asset('report.js')}</script>"
        "</body></html>\n"
    )


def _json(value: Any) -> str:
    """JSON that can not end the script element it stands in."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _asset(name: str) -> str:
    return (ASSETS / name).read_text()


def _facts(facts: Mapping[str, str]) -> str:
    items = "".join(
        f"<dt>{html.escape(name)}</dt><dd>{html.escape(value)}</dd>"
        for name, value in facts.items()
    )
    return f"<dl>{items}</dl>"


def _table(heading: str, rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
        for row in rows[1:]
    )
    return (
        f"<h2>{html.escape(heading)}</h2><div class=scroll><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )
