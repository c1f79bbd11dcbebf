"""Clusters over HTTP: names in and out, policies checked, currencies kept together."""

from datetime import timedelta

import pytest
from django.utils import timezone

from clusters import services
from clusters.models import Cluster
from tenancy.callers import SYSTEM
from tenancy.models import AuditRow
from tests.clusters.http import ClusterApi, refusal

FLAT = {"name": "flat", "kind": "flat", "price_per_kwh": "0.25"}


def test_create_shows_names_and_defaults(operator: ClusterApi) -> None:
    operator.made("tariffs/", FLAT)
    operator.made("carbon-series/", {"name": "de-lu"})
    body = {"name": "berlin", "pue": "1.2", "tariff": "flat", "carbon_series": "de-lu"}
    made = operator.made("clusters/", body)
    assert made["tariff"] == "flat"
    assert made["carbon_series"] == "de-lu"
    assert (made["policy"], made["policy_parameters"]) == ("fifo-backfill", {})
    assert (made["shadow_policy"], made["pue"], made["currency"]) == (None, "1.20", "EUR")
    assert (made["power_off"], made["min_idle_s"]) == (False, 600)
    assert made["max_tardiness_price_per_h"] == "0.100000"
    assert operator.get(f"clusters/{made['id']}/").json() == made


def test_leave_to_switch_nodes_off_is_given_and_taken_back(operator: ClusterApi) -> None:
    made = operator.made("clusters/", {"name": "berlin", "power_off": True, "min_idle_s": 0})
    assert (made["power_off"], made["min_idle_s"]) == (True, 0)
    before = timezone.now()
    changed = operator.patch(f"clusters/{made['id']}/", {"power_off": False})
    assert (changed.status_code, changed.json()["power_off"]) == (200, False)
    assert Cluster.objects.get().next_round_at >= before, "a round is due at once"


def test_create_is_audited_in_words(operator: ClusterApi) -> None:
    made = operator.made("clusters/", {"name": "berlin", "policy": "edf"})
    row = AuditRow.objects.get(action="cluster.create")
    assert (row.object_id, row.changes) == (made["id"], {"name": "berlin", "policy": "edf"})


def test_a_name_is_taken_once(operator: ClusterApi, cluster: Cluster) -> None:
    assert refusal(operator.post("clusters/", {"name": "berlin"})) == (409, "name_taken", "/name")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"name": "Berlin"}, (400, "/name")),
        ({"name": "a" * 64}, (400, "/name")),
        ({}, (400, "/name")),
        ({"name": "x", "nonsense": 1}, (400, "/nonsense")),
        ({"name": "x", "pue": "0.9"}, (400, "/pue")),
        ({"name": "x", "pue": 1.2}, (400, "/pue")),
        ({"name": "x", "round_interval_s": 0}, (400, "/round_interval_s")),
        ({"name": "x", "power_budget_w": 2**31}, (400, "/power_budget_w")),
        ({"name": "x", "currency": "eur"}, (400, "/currency")),
        ({"name": "x", "power_off": "yes"}, (400, "/power_off")),
        ({"name": "x", "power_off": None}, (400, "/power_off")),
        ({"name": "x", "min_idle_s": -1}, (400, "/min_idle_s")),
        ({"name": "x", "min_idle_s": 604_801}, (400, "/min_idle_s")),
        ({"name": "x", "max_tardiness_price_per_h": "-1"}, (400, "/max_tardiness_price_per_h")),
        ({"name": "x", "max_tardiness_price_per_h": 1}, (400, "/max_tardiness_price_per_h")),
        ({"name": "x", "tariff": "nope"}, (409, "/tariff")),
        ({"name": "x", "carbon_series": "nope"}, (409, "/carbon_series")),
        ({"name": "x", "policy": "nope"}, (400, "/policy")),
        ({"name": "x", "shadow_policy": "nope"}, (400, "/shadow_policy")),
        ({"name": "x", "policy_parameters": {"nope": 1}}, (400, "/policy_parameters/nope")),
        (
            {"name": "x", "policy_parameters": {"placement": 3}},
            (400, "/policy_parameters/placement"),
        ),
        (
            {"name": "x", "policy_parameters": {"min_run_s": -1}},
            (422, "/policy_parameters/min_run_s"),
        ),
        ({"name": "x", "policy_parameters": {"ageing_s": 1}}, (422, "/policy_parameters/ageing_s")),
        ({"name": "x", "policy_parameters": []}, (400, "/policy_parameters")),
        (
            {"name": "x", "shadow_policy": "edf", "shadow_parameters": {"nope": 1}},
            (400, "/shadow_parameters/nope"),
        ),
        ({"name": "x", "shadow_parameters": {"strict": True}}, (422, "/shadow_parameters")),
    ],
)
def test_bad_input_is_refused_where_it_stands(
    operator: ClusterApi, body: dict[str, object], expected: tuple[int, str]
) -> None:
    status, _, pointer = refusal(operator.post("clusters/", body))
    assert (status, pointer) == expected
    assert not Cluster.objects.exists()


def test_a_policy_switch_takes_effect_in_the_next_round(
    operator: ClusterApi, cluster: Cluster
) -> None:
    Cluster.objects.update(next_round_at=timezone.now() + timedelta(hours=1))
    change = {"policy": "priority", "policy_parameters": {"ageing_s": 60}}
    done = operator.patch(f"clusters/{cluster.pk}/", change).json()
    assert (done["policy"], done["policy_parameters"]) == ("priority", {"ageing_s": 60})
    cluster.refresh_from_db()
    assert cluster.next_round_at <= timezone.now()


def test_another_policy_starts_from_its_own_defaults(
    operator: ClusterApi, cluster: Cluster
) -> None:
    path = f"clusters/{cluster.pk}/"
    operator.patch(path, {"policy": "priority", "policy_parameters": {"ageing_s": 60}})
    operator.patch(path, {"shadow_policy": "las", "shadow_parameters": {"strict": True}})
    done = operator.patch(path, {"policy": "fifo", "shadow_policy": None})
    assert done.status_code == 200, done.content
    assert done.json()["policy_parameters"] == {}
    assert done.json()["shadow_parameters"] == {}


def test_parameters_alone_are_checked_against_the_policy_there_is(
    operator: ClusterApi, cluster: Cluster
) -> None:
    path = f"clusters/{cluster.pk}/"
    answer = operator.patch(path, {"policy_parameters": {"ageing_s": 60}})
    assert refusal(answer) == (422, "unknown_parameter", "/policy_parameters/ageing_s")
    cluster.refresh_from_db()
    assert cluster.policy_parameters == {}


def test_service_sets_a_policy(cluster: Cluster) -> None:
    now = timezone.now()
    services.cluster_set_policy(
        caller=SYSTEM, cluster=cluster, policy="edf", parameters={"preempt": True}, now=now
    )
    cluster.refresh_from_db()
    assert (cluster.policy, cluster.policy_parameters) == ("edf", {"preempt": True})
    assert (cluster.version, cluster.updated_at) == (2, now)


def test_a_tariff_of_another_currency_is_refused_by_the_database(operator: ClusterApi) -> None:
    operator.made("tariffs/", {**FLAT, "currency": "USD"})
    mismatch = (409, "currency_mismatch", "/currency")
    assert refusal(operator.post("clusters/", {"name": "x", "tariff": "flat"})) == mismatch
    body = {"name": "x", "tariff": "flat", "currency": "USD"}
    made = operator.made("clusters/", body)
    assert refusal(operator.patch(f"clusters/{made['id']}/", {"currency": "EUR"})) == mismatch


def test_a_stale_etag_changes_nothing(operator: ClusterApi, cluster: Cluster) -> None:
    path = f"clusters/{cluster.pk}/"
    seen = operator.get(path)["ETag"]
    assert operator.patch(path, {"pue": "1.5"}, if_match=seen).status_code == 200
    assert operator.patch(path, {"pue": "2"}, if_match=seen).status_code == 412
    assert operator.delete(path, if_match=seen).status_code == 412
    assert operator.get(path).json()["pue"] == "1.50"


def test_the_same_key_creates_once(operator: ClusterApi) -> None:
    first = operator.post("clusters/", {"name": "x"}, **{"Idempotency-Key": "k1"})
    again = operator.post("clusters/", {"name": "x"}, **{"Idempotency-Key": "k1"})
    assert first.json() == again.json()
    assert again["Idempotent-Replay"] == "true"
    assert Cluster.objects.count() == 1


def test_deleting_takes_the_topology_along(operator: ClusterApi, cluster: Cluster) -> None:
    operator.made("switches/", {"cluster": "berlin", "name": "s1"})
    operator.made("racks/", {"cluster": "berlin", "name": "r1", "switch": "s1"})
    operator.made("partitions/", {"cluster": "berlin", "name": "prod"})
    assert operator.delete(f"clusters/{cluster.pk}/").status_code == 204
    assert operator.names("racks/") == []


def test_filters_and_ordering(operator: ClusterApi) -> None:
    operator.made("clusters/", {"name": "b", "policy": "edf"})
    operator.made("clusters/", {"name": "a", "policy": "fifo"})
    assert operator.names("clusters/?ordering=name") == ["a", "b"]
    assert operator.names("clusters/?policy=edf") == ["b"]
    assert refusal(operator.get("clusters/?policy=nope"))[0] == 400
