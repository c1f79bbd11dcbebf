"""How far stored rounds may be from the best plan: worked out later, so that no round waits for it.

Only the newest round of a cluster is looked at, once in BOUND_INTERVAL_S. Whatever is lost, late,
repeated or killed leaves a round without bound and gap, or with the same ones.
"""

from django.db.models import OuterRef, Subquery

from clusters.models import Cluster
from policies import registry
from policies.contract.parameters import ParameterError
from policies.contract.policy import Bounding, gap
from policies.contract.snapshot import Snapshot
from scheduling.lock import bound_lock
from scheduling.models import Round

# Its workers empty their queues by name: after forecasts, before simulations, never before rounds.
QUEUE = "gaps"
SOFT_LIMIT_S, HARD_LIMIT_S = 30, 45


def rounds_to_bound() -> list[int]:
    """The newest round of every cluster, if its policy can bound it and nobody has done so."""
    newest = Round.objects.filter(cluster=OuterRef("pk")).order_by("-pk").values("pk")[:1]
    found = Round.objects.filter(
        pk__in=Cluster.objects.values_list(Subquery(newest)),
        objective__isnull=False,
        snapshot__isnull=False,
        bound__isnull=True,
    )
    return [
        entry.pk
        for entry in found.only("policy", "parameters").order_by("pk")
        if _policy(entry) is not None
    ]


def bound_round(round_id: int) -> bool:
    """Store bound and gap; False when there is nothing to do or somebody else is at it."""
    cluster_id = Round.objects.filter(pk=round_id).values_list("cluster_id", flat=True).first()
    if cluster_id is None:
        return False
    with bound_lock(cluster_id) as held:
        return held and _bound(round_id)


def _bound(round_id: int) -> bool:
    waiting = Round.objects.filter(pk=round_id, bound__isnull=True)
    entry = waiting.only("policy", "parameters", "objective", "snapshot").first()
    if entry is None or entry.snapshot is None or entry.objective is None:
        return False
    policy = _policy(entry)
    if policy is None:
        return False
    bound = policy.bound(Snapshot.from_bytes(bytes(entry.snapshot)), entry.objective)
    return waiting.update(bound=bound, gap=gap(entry.objective, bound)) > 0


def _policy(entry: Round) -> Bounding | None:
    """The policy that planned the round, if it knows bounds and still takes these parameters."""
    try:
        policy = registry.build(entry.policy, entry.parameters)
    except ParameterError:
        return None
    return policy if isinstance(policy, Bounding) else None
