"""Watches measured power against the budgets, and feeds the model's error back to rounds.

A minute whose mean lies above the budget that was in force all through it is a breach. Its excess
is what rounds take their model to be wrong by: they plan with so much less from then on. Minutes
with room to spare take the correction back, slowly, so that it does not swing.
"""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf, isfinite

from django.db import transaction
from django.db.models import Q, Value
from django.db.models.functions import Greatest

from clusters.models import Cluster, Partition
from energy.budgets.energy import energy_count
from energy.budgets.peak import charged, demand_count
from energy.budgets.power import LEAD, WattLimits, budgets_between, budgets_throughout
from energy.measured import MeasuredPower, measure
from energy.models import PowerBreach, PowerBudget, PowerState
from jobs.nudge import nudge
from tariffs.models import Tariff

logger = logging.getLogger(__name__)

MINUTE = timedelta(seconds=60)
# Agents upload every few seconds, and the inbox is read once a second.
DELAY = timedelta(seconds=8)
# Less than what counters and clocks round.
SLACK = 0.001
# Measuring a thousand nodes costs a worker a second.
EVERY = timedelta(seconds=10)
# Of a correction that is not needed, a tenth is taken back per minute.
FORGET = 0.1
MOST = 0.5


@dataclass(frozen=True, slots=True)
class Minute:
    """What was drawn in the minute until then, and what was allowed all through it."""

    until_at: datetime
    measured: dict[int | None, MeasuredPower]
    budgets: WattLimits


def power_watch(*, now: datetime) -> None:
    budgeted = Q(power_budget_w__isnull=False) | Q(pk__in=_with_windows(now))
    budgeted |= Q(energy_budget_wh__isnull=False) | Q(powerstate__isnull=False)
    budgeted |= Q(pk__in=_with_demand_charge(now))
    clusters = Cluster.objects.select_related("tariff").filter(budgeted)
    for cluster in clusters.distinct().order_by("pk"):
        _watch_cluster(cluster, now)


def _with_windows(now: datetime) -> list[int]:
    open_ones = Q(ends_at__isnull=True) | Q(ends_at__gt=now - 2 * MINUTE)
    near = PowerBudget.objects.filter(open_ones, starts_at__lt=now + 2 * LEAD)
    return list(near.values_list("cluster_id", flat=True).distinct())


def _with_demand_charge(now: datetime) -> list[int]:
    """Charges of periods are within a tariff's JSON, so those are looked at one by one."""
    may = Q(tariff__demand_charge_per_kw__gt=0) | Q(tariff__kind=Tariff.Kind.TIME_OF_USE)
    clusters = Cluster.objects.select_related("tariff").filter(may, powerstate__isnull=True)
    return [cluster.pk for cluster in clusters if charged(cluster, now=now)]


def _watch_cluster(cluster: Cluster, now: datetime) -> None:
    in_force = budgets_between(cluster, from_at=now, until_at=now + timedelta(microseconds=1))
    planned = budgets_between(cluster, from_at=now, until_at=now + LEAD)
    until_at = now - DELAY
    minute = Minute(until_at, {}, WattLimits())
    if _is_due(cluster, until_at):
        since_at = until_at - MINUTE
        minute = Minute(
            until_at,
            measure(cluster.pk, from_at=since_at, until_at=until_at),
            budgets_throughout(cluster, from_at=since_at, until_at=until_at),
        )
    for partition in _scopes(cluster, minute.budgets, planned):
        with transaction.atomic():
            state = _state(cluster, partition)
            news = _replan(state, in_force.of(partition), planned.of(partition))
            if minute.measured:
                news |= _judge(state, minute, now)
                news |= partition is None and energy_count(state, cluster, now=now)
            if minute.measured and partition is None:
                demand_count(state, cluster, now=now)
            state.save()
            if news:
                request_round(cluster.pk, now)


def _is_due(cluster: Cluster, until_at: datetime) -> bool:
    """Whether the last measurement is some time ago."""
    since_at = until_at - EVERY
    fresh = PowerState.objects.filter(cluster=cluster, partition=None, measured_at__gt=since_at)
    return not fresh.exists()


def _scopes(cluster: Cluster, *budgets: WattLimits) -> list[int | None]:
    """The cluster itself, and every partition that has or had a budget."""
    known = PowerState.objects.filter(cluster=cluster, partition__isnull=False)
    partitions = set(known.values_list("partition_id", flat=True))
    return [None, *sorted(partitions.union(*(each.partition_w for each in budgets)))]


def _state(cluster: Cluster, partition_id: int | None) -> PowerState:
    partition = None if partition_id is None else Partition.objects.get(pk=partition_id)
    rows = PowerState.objects.select_for_update(of=("self",))
    state, _ = rows.get_or_create(cluster=cluster, partition=partition)
    return state


def _replan(state: PowerState, budget_w: float, planned_w: float) -> bool:
    """Whether rounds have another budget than when we last looked."""
    before = state.planned_w
    state.budget_w, state.planned_w = _known(budget_w), _known(planned_w)
    return state.planned_w != before


def _judge(state: PowerState, minute: Minute, now: datetime) -> bool:
    """Record the minute; whether the correction has grown, which a round should know."""
    found = minute.measured.get(state.partition_id, MeasuredPower())
    budget_w = minute.budgets.of(state.partition_id)
    state.measured_w, state.unread_gpus = found.watts, found.unread_gpus
    state.measured_at = minute.until_at
    over = isfinite(budget_w) and found.watts > budget_w * (1 + SLACK)
    _note_breach(state, found.watts, budget_w, until_at=minute.until_at, over=over)
    # The minutes of two corrections do not overlap: no excess is counted twice.
    if state.corrected_at is not None and now < state.corrected_at + MINUTE + DELAY:
        return False
    if over:
        excess_w = found.watts - budget_w
        state.correction_w = min(state.correction_w + excess_w, MOST * budget_w)
        state.corrected_at = now
        logger.warning("%s: %.0f W above the budget of %.0f W", state, excess_w, budget_w)
        return True
    if state.correction_w:
        room_w = budget_w - found.watts if isfinite(budget_w) else inf
        state.correction_w -= min(FORGET * state.correction_w, max(room_w, 0.0))
        if state.correction_w < 1.0:
            state.correction_w = 0.0
        state.corrected_at = now
    return False


def _note_breach(
    state: PowerState, watts: float, budget_w: float, *, until_at: datetime, over: bool
) -> None:
    where = {"cluster_id": state.cluster_id, "partition_id": state.partition_id}
    open_one = PowerBreach.objects.filter(**where, ended_at__isnull=True)
    if not over:
        open_one.update(ended_at=until_at)
    elif not open_one.update(worst_w=Greatest("worst_w", Value(watts)), seen_at=until_at):
        PowerBreach.objects.create(
            **where,
            budget_w=budget_w,
            worst_w=watts,
            began_at=until_at - MINUTE,
            seen_at=until_at,
        )


def request_round(cluster_id: int, now: datetime) -> None:
    """A round at once; the nudge is only latency, so the next tick knows as well."""
    Cluster.objects.filter(pk=cluster_id, next_round_at__gt=now).update(next_round_at=now)
    nudge(cluster_id)


def _known(watts: float) -> float | None:
    return watts if isfinite(watts) else None
