"""Advice as tables of a terminal, as a page and as JSON."""

import math
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from simulator.advice.advise import Advice
from simulator.advice.replay import Bill, Bounds
from simulator.advice.words import (
    conclusion,
    dearest_first,
    mattered,
    money,
    named,
    percent,
    spread,
    tenant_sums,
)
from simulator.report.figures import figure_text
from simulator.report.page import CURVES_SHOWN, SIDE_BY_SIDE, PlottedCurve, page
from simulator.report.table import aligned

TENANTS_SHOWN = 20
Rows = list[list[str]]


def as_text(advice: Advice) -> str:
    parts = [conclusion(advice)]
    parts += [f"{heading}\n{aligned(rows)}" for heading, rows in tables(advice)]
    parts.append("\n".join(["Assumed", *(f"- {line}" for line in advice.assumptions)]))
    return "\n\n".join(parts)


def as_page(advice: Advice) -> str:
    every = (advice.ran, *advice.bills)
    return page(
        title="What the last month would have cost",
        conclusion=conclusion(advice),
        facts={"Period": advice.period, "Tariff": advice.tariff, "Read": advice.read[0]},
        tables=tables(advice),
        curves=[PlottedCurve(bill.label, bill.series) for bill in every][:CURVES_SHOWN],
        notes=[*advice.assumptions, *advice.read[1:]],
    )


def as_json(advice: Advice) -> dict[str, Any]:
    every = (advice.ran, *advice.bills)
    return {
        "conclusion": conclusion(advice),
        "period": advice.period,
        "tariff": advice.tariff,
        "currency": advice.currency,
        "jobs": len(advice.job_ids),
        "runs": [_run(advice, bill) for bill in every],
        "assumptions": advice.assumptions,
        "read": advice.read,
    }


def tables(advice: Advice) -> list[tuple[str, Rows]]:
    found = [
        (SIDE_BY_SIDE, _bills(advice)),
        ("Tenants: own jobs' energy, hours waited", _tenants(advice)),
    ]
    bill = named(advice)
    if bill and (rows := mattered(advice, bill)):
        found.append((f"Where {bill.label} mattered most", _jobs(advice, bill, rows)))
    return found


def _bills(advice: Advice) -> Rows:
    unit = f", {advice.currency}" if advice.currency else ""
    rows = [["", f"cost{unit}", "between", "less", "demand", "MWh", "waited, h", "unfinished"]]
    for bill in (advice.ran, *advice.bills):
        less = advice.ran.cost.less(bill.cost).expected
        share = percent(less / advice.ran.cost.expected) if advice.ran.cost.expected else "-"
        rows.append(
            [
                bill.label,
                money(bill.cost.expected),
                spread(bill.cost),
                "" if bill is advice.ran else share,
                money(bill.demand_cost),
                figure_text(bill.energy_kwh.expected / 1000),
                f"{bill.wait_h:,.1f}",
                str(bill.unfinished),
            ]
        )
    return rows


def _tenants(advice: Advice) -> Rows:
    every = (advice.ran, *advice.bills)
    sums = [tenant_sums(advice, bill) for bill in every]
    rows = [["", *(bill.label for bill in every)]]
    for tenant in dearest_first(advice)[:TENANTS_SHOWN]:
        cells = [
            f"{money(cost)}, {wait_h:,.1f} h" for cost, wait_h in (one[tenant] for one in sums)
        ]
        rows.append([advice.tenants[tenant], *cells])
    return rows


def _jobs(advice: Advice, bill: Bill, chosen: Sequence[int]) -> Rows:
    ran, other = advice.ran.jobs, bill.jobs
    head = ["job", "tenant", "GPUs", "started", "would have", "cost", "would have"]
    return [head] + [
        [
            advice.job_ids[row],
            advice.tenants[int(ran.tenant[row])],
            str(int(ran.gpus[row])),
            _time(float(ran.first_start_s[row]), advice.timezone),
            _time(float(other.first_start_s[row]), advice.timezone),
            money(float(ran.energy_cost[row])),
            money(float(other.energy_cost[row])),
        ]
        for row in chosen
    ]


def _run(advice: Advice, bill: Bill) -> dict[str, Any]:
    sums, ran = tenant_sums(advice, bill), advice.ran.jobs
    return {
        "name": bill.label,
        "cost": _bounds(bill.cost),
        "saved": _bounds(advice.ran.cost.less(bill.cost)),
        "energy_kwh": _bounds(bill.energy_kwh),
        "idle_cost": bill.idle_cost,
        "demand_cost": bill.demand_cost,
        "wait_h": bill.wait_h,
        "unfinished": bill.unfinished,
        "tenants": {
            name: {"cost": cost, "wait_h": wait_h}
            for name, (cost, wait_h) in zip(advice.tenants, sums, strict=True)
        },
        "mattered_most": [
            {
                "job": advice.job_ids[row],
                "tenant": advice.tenants[int(ran.tenant[row])],
                "gpus": int(ran.gpus[row]),
                "started_s": float(ran.first_start_s[row]),
                "would_start_s": float(bill.jobs.first_start_s[row]),
                "cost": float(ran.energy_cost[row]),
                "would_cost": float(bill.jobs.energy_cost[row]),
            }
            for row in (mattered(advice, bill) if bill is not advice.ran else [])
        ],
    }


def _bounds(bounds: Bounds) -> dict[str, float]:
    low, high = bounds.ends()
    return {"expected": bounds.expected, "low": low, "high": high}


def _time(at_s: float, timezone: str) -> str:
    """`-` for a job that never started."""
    if math.isnan(at_s):
        return "-"
    return f"{datetime.fromtimestamp(at_s, ZoneInfo(timezone)):%m-%d %H:%M}"
