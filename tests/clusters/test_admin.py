"""The admin as an operator uses it: pages load, services write, refusals are readable."""

import re
import shlex
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from clusters import services
from clusters.models import Cluster, Gpu, GpuType, JoinToken, Node, Partition, Rack, Watch
from jobs.models import GpuQuota
from jobs.services import quotas
from scheduler_service.factories import hold
from tariffs import services as tariff_services
from tariffs.models import CarbonSeries, Tariff, TariffHour
from tenancy.callers import SYSTEM
from tenancy.models import AuditRow, Tenant
from tenancy.token_text import hash_of
from tests.clusters.conftest import NOW, make_node

pytestmark = pytest.mark.slow

MODELS = [
    "cluster",
    "partition",
    "switch",
    "rack",
    "gputype",
    "node",
    "gpu",
    "tariff",
    "tariffhour",
    "carbonseries",
    "carbonhour",
    "jointoken",
    "gpuquota",
    "watch",
]
ROOMS = {
    "tariff": "tariffs",
    "tariffhour": "tariffs",
    "carbonseries": "tariffs",
    "carbonhour": "tariffs",
    "gpuquota": "jobs",
}
HOURS = "starts_at,price_per_kwh\n2026-01-01T00:00Z,0.1\n2026-01-01T01:00Z,0.2"


@pytest.fixture
def staff(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create(username="ada", is_staff=True, is_superuser=True))
    return client


@pytest.fixture
def everything(tenant: Tenant, node: Node) -> dict[str, int]:
    """One row of every table."""
    cluster = {"cluster": "berlin"}
    tariff = tariff_services.tariff_create(caller=SYSTEM, values={"name": "spot", "kind": "hourly"})
    extend = tariff_services.Mode.EXTEND
    tariff_services.tariff_import(caller=SYSTEM, tariff=tariff, csv=HOURS, mode=extend, now=NOW)
    series = tariff_services.carbon_series_create(caller=SYSTEM, values={"name": "de"})
    grams = HOURS.replace("price_per_kwh", "g_per_kwh")
    tariff_services.carbon_import(caller=SYSTEM, series=series, csv=grams, mode=extend, now=NOW)
    rows = {
        "cluster": node.cluster,
        "partition": services.partition_create(SYSTEM, {**cluster, "name": "prod"}),
        "switch": services.switch_create(SYSTEM, {**cluster, "name": "s1"}),
        "rack": services.rack_create(SYSTEM, {**cluster, "name": "r1", "switch": "s1"}),
        "gputype": node.gpu_type,
        "node": node,
        "gpu": Gpu.objects.earliest("id"),
        "tariff": tariff,
        "tariffhour": TariffHour.objects.earliest("id"),
        "carbonseries": series,
        "carbonhour": series.carbonhour_set.earliest("id"),
        "jointoken": services.join_token_create(
            caller=SYSTEM, **cluster, lifetime_s=60, now=NOW
        ).token,
        "watch": Watch.objects.create(id=1, watched_at=NOW, resumed_at=NOW),
        "gpuquota": quotas.gpu_quota_create(
            SYSTEM, {"tenant_id": tenant.pk, "gpu_type": "A100", "gpus": 4}
        ),
    }
    return {name: row.pk for name, row in rows.items()}


def page_of(model: str) -> str:
    return f"/admin/{ROOMS.get(model, 'clusters')}/{model}/"


def errors(answer: Any) -> dict[str, list[str]]:
    assert answer.status_code == 200, answer.content
    return dict(answer.context["adminform"].form.errors)


def latest_audit() -> tuple[str, Any, int | None]:
    row = AuditRow.objects.latest("id")
    return row.action, row.changes, row.user_id


@pytest.mark.parametrize("model", MODELS)
def test_pages_load(staff: Client, everything: dict[str, int], model: str) -> None:
    assert set(everything) == set(MODELS)
    assert staff.get(f"{page_of(model)}").status_code == 200
    assert staff.get(f"{page_of(model)}{everything[model]}/change/").status_code == 200


@pytest.mark.parametrize(
    "model", sorted(set(MODELS) - {"tariffhour", "carbonhour", "gpu", "watch"})
)
def test_add_pages_load(staff: Client, everything: dict[str, int], model: str) -> None:
    assert staff.get(f"{page_of(model)}add/").status_code == 200


@pytest.mark.parametrize("model", ["cluster", "node", "rack", "gpu", "gpuquota", "jointoken"])
def test_search(staff: Client, everything: dict[str, int], model: str) -> None:
    assert staff.get(f"{page_of(model)}?q=nothing").status_code == 200


@pytest.mark.parametrize("model", ["tariffhour", "carbonhour", "watch"])
def test_hours_and_the_watch_are_read_only(
    staff: Client, everything: dict[str, int], model: str
) -> None:
    assert staff.get(f"{page_of(model)}add/").status_code == 403
    assert staff.post(f"{page_of(model)}{everything[model]}/change/", {}).status_code == 403
    assert staff.post(f"{page_of(model)}{everything[model]}/delete/", {}).status_code == 403


CLUSTER = {
    "name": "munich",
    "currency": "EUR",
    "min_idle_s": "600",
    "max_tardiness_price_per_h": "0.1",
    "round_interval_s": "20",
    "policy": "priority",
    "policy_parameters": '{"ageing_s": 60}',
    "shadow_policy": "",
    "shadow_parameters": "{}",
    "tariff": "",
    "carbon_series": "",
    "pue": "1.3",
    "power_budget_w": "",
    "energy_budget_wh": "2000000",
    "energy_period": "day",
}


def test_a_cluster_is_made_and_changed_through_its_service(staff: Client) -> None:
    assert staff.post(f"{page_of('cluster')}add/", CLUSTER).status_code == 302
    cluster = Cluster.objects.get()
    assert (cluster.policy_parameters, cluster.shadow_policy) == ({"ageing_s": 60}, None)
    assert (cluster.energy_budget_wh, cluster.energy_period) == (2_000_000, "day")
    action, changes, user_id = latest_audit()
    assert (action, changes["name"]) == ("cluster.create", "munich")
    assert user_id == User.objects.get().pk
    changed = {**CLUSTER, "pue": "1.5"}
    assert staff.post(f"{page_of('cluster')}{cluster.pk}/change/", changed).status_code == 302
    assert latest_audit()[:2] == ("cluster.update", {"pue": "1.5"})
    cluster.refresh_from_db()
    assert cluster.version == 2
    assert AuditRow.objects.filter(object_type="cluster").count() == 2


@pytest.mark.parametrize(
    ("change", "field", "text"),
    [
        ({"policy_parameters": '{"nope": 1}'}, "policy_parameters", "nope"),
        ({"policy_parameters": "{"}, "policy_parameters", "JSON"),
        ({"name": "Not A Slug"}, "name", "Lower-case"),
        ({"name": "berlin"}, "name", "Another cluster"),
        ({"pue": "0.5"}, "pue", "between 1 and 10"),
        ({"energy_period": ""}, "energy_period", "or neither"),
        ({"shadow_parameters": '{"strict": true}'}, "shadow_parameters", "shadow policy"),
    ],
)
def test_what_a_service_refuses_stands_beside_its_field(
    staff: Client, cluster: Cluster, change: dict[str, str], field: str, text: str
) -> None:
    found = errors(staff.post(f"{page_of('cluster')}add/", {**CLUSTER, **change}))
    assert list(found) == [field]
    assert text in found[field][0]
    assert Cluster.objects.count() == 1


def node_form(**changes: Any) -> dict[str, Any]:
    size = {"cpus": "8", "memory_mib": "1024", "host_idle_w": "0", "host_peak_w": "0"}
    return {**size, "partition": "", "rack": "", **changes}


def test_a_node_is_made_with_its_gpus(staff: Client, cluster: Cluster, gpu_type: GpuType) -> None:
    body = node_form(
        cluster=cluster.pk, name="n9", gpu_type=gpu_type.pk, gpu_count="4", state="ready"
    )
    assert staff.post(f"{page_of('node')}add/", body).status_code == 302
    assert Node.objects.get().state == "ready"
    assert Gpu.objects.count() == 4
    too_many = errors(
        staff.post(f"{page_of('node')}add/", {**body, "name": "n10", "gpu_count": "65"})
    )
    assert list(too_many) == ["gpu_count"]


def test_a_rack_of_another_cluster_is_refused(staff: Client, node: Node) -> None:
    services.cluster_create(caller=SYSTEM, values={"name": "munich"})
    rack = services.rack_create(SYSTEM, {"cluster": "munich", "name": "far"})
    body = {**node_form(rack=rack.pk), **no_gpu_changes(node)}
    found = errors(staff.post(f"{page_of('node')}{node.pk}/change/", body))
    assert "in this cluster" in found["rack"][0]


def no_gpu_changes(node: Node) -> dict[str, Any]:
    gpus = list(Gpu.objects.filter(node=node).order_by("index"))
    management = {"TOTAL_FORMS": len(gpus), "INITIAL_FORMS": len(gpus)}
    body: dict[str, Any] = {f"gpu_set-{key}": value for key, value in management.items()}
    for number, gpu in enumerate(gpus):
        prefix = f"gpu_set-{number}-"
        body |= {f"{prefix}id": gpu.pk, f"{prefix}node": node.pk, f"{prefix}healthy": "on"}
    return body


def test_gpu_health_in_the_inline(staff: Client, node: Node) -> None:
    body = {**node_form(cpus="16"), **no_gpu_changes(node)}
    del body["gpu_set-1-healthy"]
    body["gpu_set-1-health_reason"] = "ecc"
    answer = staff.post(f"{page_of('node')}{node.pk}/change/", body)
    assert answer.status_code == 302, answer.context["adminform"].form.errors
    health = list(Gpu.objects.order_by("index").values_list("healthy", "health_reason", "version"))
    assert health == [(True, "", 1), (False, "ecc", 2)]
    node.refresh_from_db()
    assert (node.cpus, node.version) == (16, 2)
    assert latest_audit()[:2] == ("gpu.update", {"healthy": False, "health_reason": "ecc"})


def act(staff: Client, model: str, action: str, *rows: Any) -> list[str]:
    body = {"action": action, "_selected_action": [row.pk for row in rows]}
    answer = staff.post(f"{page_of(model)}", body, follow=True)
    assert answer.status_code == 200
    return [str(message) for message in answer.context["messages"]]


def test_drain_and_resume(staff: Client, node: Node) -> None:
    lost = make_node("lost")
    Node.objects.filter(pk=lost.pk).update(state=Node.State.LOST)
    said = act(staff, "node", "drain", node, lost)
    assert said[0].startswith("lost: The node is lost")
    assert said[1] == "Draining: 1."
    node.refresh_from_db()
    assert (node.state, node.state_reason) == ("drained", "drained in the admin by ada")
    act(staff, "node", "resume", node)
    node.refresh_from_db()
    assert node.state == "ready"
    assert latest_audit()[0] == "node.resume"


def test_a_node_that_holds_work_is_not_deleted(staff: Client, node: Node, tenant: Tenant) -> None:
    hold(tenant, node)
    answer = staff.post(f"{page_of('node')}{node.pk}/delete/", {"post": "yes"}, follow=True)
    assert answer.status_code == 200
    assert Node.objects.filter(pk=node.pk).exists()
    assert AuditRow.objects.filter(action="node.delete").count() == 0


def test_an_idle_node_is_deleted_and_audited(staff: Client, node: Node) -> None:
    assert staff.post(f"{page_of('node')}{node.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not Node.objects.exists()
    assert latest_audit()[0] == "node.delete"


def test_rows_are_not_deleted_in_bulk(staff: Client, node: Node) -> None:
    act(staff, "node", "delete_selected", node)
    assert Node.objects.exists()


def test_gpus_are_marked(staff: Client, node: Node) -> None:
    gpu = Gpu.objects.earliest("id")
    assert act(staff, "gpu", "mark_unhealthy", gpu) == ["GPUs marked: 1."]
    gpu.refresh_from_db()
    assert (gpu.healthy, gpu.health_reason) == (False, "marked in the admin by ada")
    act(staff, "gpu", "mark_healthy", gpu)
    gpu.refresh_from_db()
    assert (gpu.healthy, gpu.health_reason, gpu.version) == (True, "", 3)


TARIFF = {"name": "t", "currency": "EUR", "timezone": "UTC", "demand_charge_per_kw": "0"}


def test_tariffs_are_checked_as_a_whole(staff: Client) -> None:
    hole = {"kind": "time_of_use", "periods": "[]"}
    found = errors(staff.post(f"{page_of('tariff')}add/", {**TARIFF, **hole}))
    assert "at least one period" in found["periods"][0]
    flat = {"kind": "flat", "price_per_kwh": "0.25", "periods": "[]"}
    assert staff.post(f"{page_of('tariff')}add/", {**TARIFF, **flat}).status_code == 302
    assert Tariff.objects.get().kind == "flat"


def test_periods_of_a_wrong_shape_are_an_error_and_not_a_crash(staff: Client) -> None:
    for periods in ('[{"months": [1]}]', "[3]", '{"a": 1}', '[{"months": "x", "weekdays": 1}]'):
        body = {**TARIFF, "kind": "time_of_use", "periods": periods}
        assert "periods" in errors(staff.post(f"{page_of('tariff')}add/", body))
    assert not Tariff.objects.exists()


def test_hours_are_imported_in_a_dialog(staff: Client) -> None:
    tariff = tariff_services.tariff_create(caller=SYSTEM, values={"name": "spot", "kind": "hourly"})
    path = f"{page_of('tariff')}{tariff.pk}/import_hours/"
    assert staff.get(path).status_code == 200
    body = {"csv": HOURS, "mode": "extend", "_form_submitted": "on"}
    assert staff.post(path, body)["HX-Redirect"] == f"{page_of('tariff')}{tariff.pk}/change/"
    assert TariffHour.objects.count() == 2
    broken = {**body, "csv": HOURS.replace("01:00Z", "05:00Z"), "mode": "replace"}
    staff.post(path, broken)
    said = [str(m) for m in staff.get(f"{page_of('tariff')}").context["messages"]]
    assert any("/csv/3/starts_at" in text for text in said)
    assert TariffHour.objects.count() == 2


def test_carbon_hours_are_imported_in_a_dialog(staff: Client) -> None:
    series = CarbonSeries.objects.create(name="de")
    body = {
        "csv": HOURS.replace("price_per_kwh", "g_per_kwh"),
        "mode": "replace",
        "_form_submitted": "on",
    }
    assert (
        staff.post(f"{page_of('carbonseries')}{series.pk}/import_hours/", body).status_code == 200
    )
    assert series.carbonhour_set.count() == 2


def test_a_join_token_is_a_command_that_is_shown_once(staff: Client, cluster: Cluster) -> None:
    body = {"cluster": cluster.pk, "lifetime_s": "600"}
    answer = staff.post(f"{page_of('jointoken')}add/", body, follow=True)
    token = JoinToken.objects.get()
    found = re.search(r"<code>(.*?)</code>", answer.content.decode())
    assert found is not None
    assignment, *command = shlex.split(unescape(found[1]))
    secret = assignment.removeprefix("FAIRWATT_JOIN_TOKEN=")
    assert bytes(token.hash) == hash_of(secret)
    assert command[:3] == ["fairwatt-agent", "--server", "http://testserver"]
    assert command[3:7] == ["--name", "$(hostname)", "--state-dir", "/var/lib/fairwatt"]
    assert command[7:] == ["--tenant-uids", "200000-299999"]  # or the agent would refuse
    assert secret not in staff.get(page_of("jointoken")).content.decode()
    assert act(staff, "jointoken", "revoke", token) == ["Revoked: 1."]
    token.refresh_from_db()
    assert token.revoked_at is not None


def test_a_quota_is_set(staff: Client, tenant: Tenant, gpu_type: GpuType) -> None:
    body = {"tenant": tenant.pk, "gpu_type": gpu_type.pk, "gpus": "4"}
    assert staff.post(f"{page_of('gpuquota')}add/", body).status_code == 302
    quota = GpuQuota.objects.get()
    assert staff.post(f"{page_of('gpuquota')}{quota.pk}/change/", {"gpus": "6"}).status_code == 302
    quota.refresh_from_db()
    assert (quota.gpus, quota.version) == (6, 2)


def test_partitions_and_racks(staff: Client, cluster: Cluster) -> None:
    body = {"cluster": cluster.pk, "name": "prod", "lends": "on"}
    assert staff.post(f"{page_of('partition')}add/", body).status_code == 302
    assert Partition.objects.get().lends
    switch = services.switch_create(SYSTEM, {"cluster": "berlin", "name": "s1"})
    rack = {"cluster": cluster.pk, "name": "r1", "switch": switch.pk}
    assert staff.post(f"{page_of('rack')}add/", rack).status_code == 302
    row = Rack.objects.get()
    assert row.switch == switch
    assert (
        staff.post(f"{page_of('rack')}{row.pk}/change/", {"name": "r1", "switch": ""}).status_code
        == 302
    )
    row.refresh_from_db()
    assert row.switch is None
    assert staff.post(f"{page_of('switch')}{switch.pk}/delete/", {"post": "yes"}).status_code == 302


def test_gpu_types_keep_their_name(staff: Client, gpu_type: GpuType) -> None:
    body = {"name": "B200", "memory_mib": "5", "idle_w": "50", "max_w": "400", "clocks_mhz": "9,5"}
    assert staff.post(f"{page_of('gputype')}{gpu_type.pk}/change/", body).status_code == 302
    gpu_type.refresh_from_db()
    assert (gpu_type.name, gpu_type.memory_mib, gpu_type.clocks_mhz) == ("A100", 5, [5, 9])


def test_others_do_not_get_in(everything: dict[str, int]) -> None:
    assert Client().get(f"{page_of('cluster')}").status_code == 302
