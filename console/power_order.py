"""A power budget as the form says it: so many watts, from now or tonight, for so long."""

from collections.abc import Mapping
from datetime import datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from clusters.models import Cluster
from energy.models import PowerBudget
from energy.services.power_budgets import power_budget_draft
from rest.problems import Invalid

# What people mean by tonight, by the clock of the cluster's tariff.
NIGHT_FROM, NIGHT_TO = time(20), time(6)
MOST_W = 1_000_000_000
MOST_HOURS = 24 * 31


def draft(cluster: Cluster, sent: Mapping[str, str], *, now: datetime) -> PowerBudget:
    starts_at, ends_at = _span(cluster, sent, now)
    values: dict[str, Any] = {
        "watts": _whole(sent, "watts", MOST_W),
        "starts_at": starts_at,
        "ends_at": ends_at,
        "reason": sent.get("reason", "").strip()[:200],
    }
    return power_budget_draft(cluster=cluster, values=values, now=now)


def _span(cluster: Cluster, sent: Mapping[str, str], now: datetime) -> tuple[datetime, datetime]:
    if sent.get("when") == "tonight":
        return tonight(cluster, now=now)
    return now, now + timedelta(hours=_whole(sent, "hours", MOST_HOURS))


def tonight(cluster: Cluster, *, now: datetime) -> tuple[datetime, datetime]:
    """The night that is under way, else the next one."""
    zone = ZoneInfo(cluster.tariff.timezone if cluster.tariff else "UTC")
    local = now.astimezone(zone)
    evening = local.date() - timedelta(days=1) if local.time() < NIGHT_TO else local.date()
    start = datetime.combine(evening, NIGHT_FROM, zone)
    end = datetime.combine(evening + timedelta(days=1), NIGHT_TO, zone)
    return max(start, now), end


def _whole(sent: Mapping[str, str], name: str, most: int) -> int:
    text = sent.get(name, "").strip()
    if not (text.isascii() and text.isdigit() and 0 < int(text[:20]) <= most):
        detail = f"{name}: give a whole number from 1 to {most}."
        raise Invalid.at(f"/{name}", "invalid", detail)
    return int(text)
