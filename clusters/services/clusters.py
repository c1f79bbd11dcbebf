"""Writes of clusters."""

from datetime import datetime

from django.db import transaction

from clusters import selectors
from clusters.models import Cluster, Rack
from clusters.policy_choice import check_policies, with_fresh_parameters
from clusters.services.references import carbon_series_named, resolved, tariff_named
from rest.services import Services, Values
from tenancy import audited
from tenancy.callers import Caller

POLICY_FIELDS = ("policy", "policy_parameters", "shadow_policy", "shadow_parameters")
BUDGET_FIELDS = ("power_budget_w", "energy_budget_wh", "energy_period", "power_off", "min_idle_s")
_REFERENCES = {"tariff": tariff_named, "carbon_series": carbon_series_named}


def cluster_create(caller: Caller, values: Values) -> Cluster:
    """Tariff and carbon series are given by name."""
    cluster = Cluster(**resolved(values, _REFERENCES))
    check_policies({field: getattr(cluster, field) for field in POLICY_FIELDS})
    return audited.insert(caller, cluster, values)


def cluster_update(caller: Caller, cluster: Cluster, changes: Values, now: datetime) -> Cluster:
    changes = with_fresh_parameters(changes)
    columns = {**resolved(changes, _REFERENCES), "updated_at": now}
    if not changes.keys().isdisjoint(BUDGET_FIELDS):
        columns["next_round_at"] = now
    if not changes.keys().isdisjoint((*POLICY_FIELDS, "round_interval_s")):
        check_policies({f: changes.get(f, getattr(cluster, f)) for f in POLICY_FIELDS})
        # The next tick runs a round under the new terms, however far off the old one was.
        columns["next_round_at"] = now
    return audited.update(caller, cluster, columns, changes)


def cluster_set_policy(
    *, caller: Caller, cluster: Cluster, policy: str, parameters: Values, now: datetime
) -> Cluster:
    """Effective in the next round."""
    changes = {"policy": policy, "policy_parameters": dict(parameters)}
    return cluster_update(caller, cluster, changes, now)


@transaction.atomic(savepoint=False)
def cluster_delete(caller: Caller, cluster: Cluster) -> None:
    """Takes its partitions, racks, switches and join tokens along; refused while it has nodes."""
    # Before their switches, which a rack protects.
    Rack.objects.filter(cluster=cluster).delete()
    audited.delete(caller, cluster, {"name": cluster.name})


CLUSTERS = Services(
    read=lambda _: selectors.clusters(),
    create=cluster_create,
    update=cluster_update,
    delete=cluster_delete,
)
