"""The policy dialog is made of the policy's schema: names, defaults, ranges, errors at fields."""

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from clusters.models import Cluster
from clusters.policy_form import fields, parameters
from policies import registry
from tenancy.models import AuditRow
from tests.clusters.test_admin import latest_audit, staff

__all__ = ["staff"]

pytestmark = [pytest.mark.slow, pytest.mark.django_db]


def dialog_of(cluster: Cluster) -> str:
    return f"/admin/clusters/cluster/{cluster.pk}/switch_policy/"


def as_shown(page: Any) -> dict[str, str]:
    """What a browser would send if nothing were touched."""
    text, found = page.content.decode(), {}
    for tag in re.findall(r"<input[^>]*>", text):
        given = {name: unescape(value) for name, value in re.findall(r'([\w-]+)="([^"]*)"', tag)}
        if given.get("type") == "checkbox" and not re.search(r"\schecked[\s>]", tag):
            continue
        if "name" in given:
            found[given["name"]] = given.get("value", "on")
    for name, options in re.findall(
        r'<select[^>]*name="([^"]*)"[^>]*>(.*?)</select>', text, re.DOTALL
    ):
        chosen = re.search(r'value="([^"]*)"\s+selected', options)
        assert chosen is not None, name
        found[name] = chosen[1]
    return found


def test_saving_unchanged_changes_nothing(staff: Client, cluster: Cluster) -> None:
    stored: dict[str, Any] = {"ageing_s": 0.1, "strict": True, "min_run_s": 60, "preempt": True}
    Cluster.objects.filter(pk=cluster.pk).update(policy="priority", policy_parameters=stored)
    before, audited = Cluster.objects.values().get(), AuditRow.objects.count()
    sent = as_shown(staff.get(dialog_of(cluster)))
    assert (sent["parameter-ageing_s"], sent["parameter-min_run_s"]) == ("0.1", "60")
    assert sent["policy"] == "priority"
    done = staff.post(dialog_of(cluster), sent)
    assert done["HX-Redirect"] == f"/admin/clusters/cluster/{cluster.pk}/change/"
    assert Cluster.objects.values().get() == before
    assert AuditRow.objects.count() == audited


def test_one_field_is_changed(staff: Client, cluster: Cluster) -> None:
    stored = {"queue_gpu_s": [10.5, 3200.0], "preempt": True}
    Cluster.objects.filter(pk=cluster.pk).update(policy="las", policy_parameters=stored)
    sent = as_shown(staff.get(dialog_of(cluster)))
    assert sent["parameter-queue_gpu_s"] == "10.5, 3200"
    staff.post(dialog_of(cluster), {**sent, "parameter-queue_gpu_s": "10.5, 3200, 6400"})
    cluster.refresh_from_db()
    assert cluster.policy_parameters == {**stored, "queue_gpu_s": [10.5, 3200.0, 6400.0]}
    assert latest_audit()[0] == "cluster.update"


def test_another_policy_brings_its_own_fields(staff: Client, cluster: Cluster) -> None:
    page = staff.get(dialog_of(cluster), {"policy": "fairwatt"})
    text = unescape(page.content.decode())
    assert "the dial between cheap and fast." in text
    assert "From 0 to 1e+06. Default: 0.1." in text
    assert f'hx-get="{dialog_of(cluster)}"' in text
    sent = {**as_shown(page), "parameter-wait_price_per_h": "0.5"}
    staff.post(dialog_of(cluster), sent)
    cluster.refresh_from_db()
    assert (cluster.policy, cluster.policy_parameters) == ("fairwatt", {"wait_price_per_h": 0.5})


def test_a_policy_whose_fields_were_not_shown_has_its_defaults(
    staff: Client, cluster: Cluster
) -> None:
    sent = {**as_shown(staff.get(dialog_of(cluster))), "policy": "fifo"}
    staff.post(dialog_of(cluster), sent)
    cluster.refresh_from_db()
    assert (cluster.policy, cluster.policy_parameters) == ("fifo", {})


@pytest.mark.parametrize(
    ("at", "wrong", "text"),
    [
        ("priority/ageing_s", "soon", "'soon' is not a number."),
        ("priority/ageing_s", "-1", ">= 0"),
        ("priority/max_preemptions", "1.5", "'1.5' is not a whole number."),
        ("priority/max_preemptions", "100001", "<= 100000"),
        ("las/queue_gpu_s", "5, 0", "> 0"),
    ],
)
def test_a_wrong_value_is_an_error_at_its_field(
    staff: Client, cluster: Cluster, at: str, wrong: str, text: str
) -> None:
    policy, _, parameter = at.partition("/")
    sent = as_shown(staff.get(dialog_of(cluster), {"policy": policy}))
    page = staff.post(dialog_of(cluster), {**sent, f"parameter-{parameter}": wrong})
    errors = page.context["form"].errors
    assert list(errors) == [f"parameter-{parameter}"]
    assert text in errors[f"parameter-{parameter}"][0]
    assert errors[f"parameter-{parameter}"][0] in unescape(page.content.decode())
    cluster.refresh_from_db()
    assert cluster.policy == "fifo-backfill"


def test_every_fault_is_named_at_once(staff: Client, cluster: Cluster) -> None:
    sent = as_shown(staff.get(dialog_of(cluster)))
    wrong = {"parameter-min_run_s": "a", "parameter-patience_s": "b"}
    page = staff.post(dialog_of(cluster), {**sent, **wrong})
    assert set(page.context["form"].errors) == set(wrong)


@pytest.mark.parametrize("policy", registry.policy_names())
def test_defaults_are_read_back_as_nothing(policy: str) -> None:
    sent = {field.key: "on" if field.value is True else str(field.value) for field in
            fields(policy, {}) if field.value is not False}  # fmt: skip
    assert parameters(policy, sent) == {}
