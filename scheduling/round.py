"""One round, as a recipe: lock, load, plan, check, record, apply, compare with the shadow."""

from datetime import datetime
from time import perf_counter

from clusters.models import Cluster
from policies import registry
from policies.contract.invariants import check_plan
from scheduling import record
from scheduling.apply.apply import apply_plan
from scheduling.lock import cluster_lock
from scheduling.models import Round
from scheduling.record import Planned
from scheduling.shadow import shadow_difference
from scheduling.snapshot.load import load_snapshot


class Stopwatch:
    """Milliseconds per step of a round."""

    def __init__(self) -> None:
        self._since = perf_counter()

    def lap_ms(self) -> float:
        """Milliseconds since the last lap."""
        now = perf_counter()
        lap_ms, self._since = (now - self._since) * 1000, now
        return lap_ms


class PlanRefused(Exception):
    """The policy's plan breaks an invariant; nothing of it is carried out."""


def run_round(cluster_id: int, *, now: datetime) -> Round | None:
    """Run one round; None when another process is in one, or when there is nothing to decide."""
    with cluster_lock(cluster_id) as held:
        return decide(cluster_id, now=now) if held else None


def decide(cluster_id: int, *, now: datetime) -> Round | None:
    """The round itself; the lock around it only spares work, since apply trusts no snapshot."""
    cluster = Cluster.objects.select_related("tariff").get(pk=cluster_id)
    planned = load_and_plan(cluster, now=now)
    if len(planned.snapshot.jobs) == 0 and not (planned.plan and planned.plan.power):
        return None
    entry = record.planned(cluster, planned, now=now)
    if planned.plan is None:
        return entry
    clock = Stopwatch()
    applied = apply_plan(planned.plan, cluster_id=cluster.pk, round_id=entry.pk, now=now)
    entry.apply_ms = clock.lap_ms()
    if cluster.shadow_policy is not None:
        entry.shadow_difference = shadow_difference(entry, planned.snapshot, planned.plan)
        entry.shadow_ms = clock.lap_ms()
    return record.applied(entry, planned, applied)


def load_and_plan(cluster: Cluster, *, now: datetime) -> Planned:
    clock = Stopwatch()
    snapshot = load_snapshot(cluster, now=now, seed=int(now.timestamp() * 1000))
    planned = Planned(snapshot, load_ms=clock.lap_ms())
    try:
        plan = registry.build(cluster.policy, cluster.policy_parameters).plan(snapshot).settled()
        planned.plan_ms = clock.lap_ms()
        if violations := check_plan(snapshot, plan):
            raise PlanRefused("; ".join(map(str, violations[:10])))
        planned.plan, planned.check_ms = plan, clock.lap_ms()
    except Exception as error:  # noqa: BLE001  # whatever a policy does wrong, the round says so
        planned.error = f"{type(error).__name__}: {error}"
    return planned
