"""How a cluster's shadow policy would have done, summed over its last rounds."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from clusters.models import Cluster
from scheduling.models import Round

_COLUMNS = ("pk", "plan_ms", "shadow_ms", "shadow_difference")


@dataclass(frozen=True, slots=True)
class Pair:
    active: float
    shadow: float


@dataclass(frozen=True, slots=True)
class ShadowReport:
    """Sums over `rounds`; the job lists are of the newest round alone."""

    cluster: str
    policy: str
    shadow_policy: str | None
    rounds: int
    first_round_id: int | None
    last_round_id: int | None
    failed: int
    violating: int
    starts: Pair
    starts_in_both: int
    preempts: Pair
    objective: Pair
    mean_plan_ms: Pair
    last_error: str = ""
    last_violations: list[str] = field(default_factory=list)
    only_active: list[int] = field(default_factory=list)
    only_shadow: list[int] = field(default_factory=list)
    placed_elsewhere: list[int] = field(default_factory=list)


def shadow_report(cluster: Cluster, *, rounds: int) -> ShadowReport:
    """Over the last rounds planned by today's policy and shadow; others would not compare."""
    seen = list(
        Round.objects.filter(
            cluster=cluster.pk,
            policy=cluster.policy,
            parameters=cluster.policy_parameters,
            shadow_policy=cluster.shadow_policy,
            shadow_parameters=cluster.shadow_parameters,
            shadow_difference__isnull=False,
        )
        .order_by("-pk")
        .values(*_COLUMNS)[:rounds]
    )
    return _summed(cluster, seen)


def _summed(cluster: Cluster, seen: Sequence[dict[str, Any]]) -> ShadowReport:
    records = [row["shadow_difference"] for row in seen]
    sound = [record for record in records if "error" not in record]
    newest = sound[0] if sound else {}
    return ShadowReport(
        cluster=cluster.name,
        policy=cluster.policy,
        shadow_policy=cluster.shadow_policy,
        rounds=len(seen),
        first_round_id=seen[-1]["pk"] if seen else None,
        last_round_id=seen[0]["pk"] if seen else None,
        failed=len(records) - len(sound),
        violating=sum(bool(record["violations"]) for record in sound),
        starts=_pair(sound, "starts"),
        starts_in_both=sum(record["starts"]["both"] for record in sound),
        preempts=_pair(sound, "preempts"),
        objective=_pair(sound, "objective"),
        mean_plan_ms=Pair(
            _mean(row["plan_ms"] for row in seen), _mean(row["shadow_ms"] for row in seen)
        ),
        last_error=next((record["error"] for record in records if "error" in record), ""),
        last_violations=newest.get("violations", []),
        only_active=newest.get("only_active", []),
        only_shadow=newest.get("only_shadow", []),
        placed_elsewhere=newest.get("placed_elsewhere", []),
    )


def _pair(records: Iterable[dict[str, Any]], name: str) -> Pair:
    counts = [record[name] for record in records]
    return Pair(sum(c["active"] for c in counts), sum(c["shadow"] for c in counts))


def _mean(values: Iterable[float | None]) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else 0.0
