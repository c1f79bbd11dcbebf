"""What people do in the console goes through the services, audited, and only by those who may."""

from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from clusters.models import Cluster, Node
from console.reads.comparison import sentence
from energy.models import PowerBudget
from jobs.models import Job
from jobs.services import job_submit
from jobs.specs import JobSpec
from scheduler_service.factories import NOW
from tenancy.models import AuditRow, Tenant
from tests.console.conftest import Work
from tests.jobs.conftest import World
from tests.whatif.conftest import Messages
from whatif.models import Simulation


def post(client: Client, name: str, pk: int, **form: str) -> int:
    return client.post(reverse(f"console:{name}", args=[pk]), form).status_code


def test_a_job_is_held_released_and_cancelled(ours: Client, work: Work) -> None:
    job = work.waiting
    assert post(ours, "hold", job.pk) == 302
    assert Job.objects.get(pk=job.pk).held
    assert post(ours, "release", job.pk) == 302
    assert post(ours, "cancel", job.pk) == 302
    assert Job.objects.get(pk=job.pk).state == "cancelled"
    assert post(ours, "hold", job.pk) == 409
    row = AuditRow.objects.get(action="job.cancel")
    assert row.user_id == User.objects.get(username="ada").pk


@pytest.mark.parametrize("action", ["hold", "release", "cancel", "resubmit"])
def test_another_tenants_job_is_not_there(action: str, theirs: Client, work: Work) -> None:
    assert post(theirs, action, work.waiting.pk) == 404
    assert Job.objects.get(pk=work.waiting.pk).state == "queued"


def test_a_job_is_submitted_again_with_its_variables(ours: Client, world: World) -> None:
    spec = JobSpec(
        name="first",
        cluster="demo",
        argv=["true"],
        env={"KEY": "value"},
        labels={"team": "a"},
        gpus=2,
        tardiness_price_per_h=Decimal("0.5"),
    )
    first = job_submit(caller=world.caller(), spec=spec, now=NOW)
    assert post(ours, "resubmit", first.pk) == 302
    again = Job.objects.latest("pk")
    assert again.pk != first.pk
    same = ("name", "argv", "labels", "min_gpus", "env_names", "tardiness_price_per_h", "span")
    old = Job.objects.get(pk=first.pk)
    assert [getattr(again, name) for name in same] == [getattr(old, name) for name in same]


def test_a_suspended_tenant_changes_nothing(ours: Client, work: Work, world: World) -> None:
    Tenant.objects.filter(pk=world.ours.pk).update(suspended=True)
    assert post(ours, "cancel", work.waiting.pk) == 403
    assert Job.objects.get(pk=work.waiting.pk).state == "queued"


def test_nothing_is_done_by_a_link(ours: Client, work: Work) -> None:
    assert ours.get(reverse("console:cancel", args=[work.waiting.pk])).status_code == 405


def test_nothing_is_done_from_elsewhere(world: World, work: Work, ours: Client) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.get(username="ada"))
    assert post(strict, "cancel", work.waiting.pk) == 403


@pytest.mark.parametrize(
    ("name", "whose"),
    [("drain", "node"), ("resume", "node"), ("set-policy", "cluster"), ("order-power", "cluster")],
)
def test_members_do_not_operate(name: str, whose: str, ours: Client, world: World) -> None:
    pk = world.nodes[0].pk if whose == "node" else world.cluster.pk
    assert post(ours, name, pk, watts="100", policy="sjf") == 403


def test_a_node_is_drained_and_resumed(staff: Client, world: World) -> None:
    node = world.nodes[0]
    assert post(staff, "drain", node.pk, reason="fan") == 302
    found = Node.objects.get(pk=node.pk)
    assert (found.state, found.state_reason) == ("drained", "fan")
    assert post(staff, "resume", node.pk) == 302
    assert Node.objects.get(pk=node.pk).state == "ready"


def test_a_policy_is_switched_by_its_schema(staff: Client, world: World) -> None:
    shown = staff.get(reverse("console:policy", args=[world.cluster.pk]), {"policy": "fairwatt"})
    assert b"parameter-wait_price_per_h" in shown.content
    form = {"policy": "fairwatt", "parameter-wait_price_per_h": "0.5", "parameter-slack": "1.5"}
    assert post(staff, "set-policy", world.cluster.pk, **form) == 302
    found = Cluster.objects.get(pk=world.cluster.pk)
    assert (found.policy, found.policy_parameters["wait_price_per_h"]) == ("fairwatt", 0.5)
    assert "slack" not in found.policy_parameters


@pytest.mark.parametrize("wrong", ["-1", "many", "1e99"])
def test_a_parameter_out_of_range_is_said_so(wrong: str, staff: Client, world: World) -> None:
    form = {"policy": "fairwatt", "parameter-wait_price_per_h": wrong}
    assert post(staff, "set-policy", world.cluster.pk, **form) in {400, 422}
    assert Cluster.objects.get(pk=world.cluster.pk).policy == "fifo"


def test_a_power_budget_is_asked_ordered_and_withdrawn(staff: Client, world: World) -> None:
    path = reverse("console:order-power", args=[world.cluster.pk])
    asked = staff.post(path, {"watts": "900", "when": "tonight", "do": "ask"})
    assert asked.status_code == 200
    assert not PowerBudget.objects.exists()
    assert staff.post(path, {"watts": "900", "when": "tonight", "do": "order"}).status_code == 302
    row = PowerBudget.objects.get()
    assert (row.watts, row.ends_at is None) == (900, False)
    assert post(staff, "withdraw-power", row.pk) == 302
    assert staff.post(path, {"watts": "0", "do": "order"}).status_code == 400


def test_another_policy_is_asked_for(
    staff: Client, work: Work, world: World, messages: Messages
) -> None:
    answer = staff.post(reverse("console:ask"), {"cluster": "demo", "policy": "sjf"})
    row = Simulation.objects.get()
    assert answer["Location"] == reverse("console:answer", args=[row.pk])
    assert staff.get(answer["Location"]).status_code == 200
    messages.work()
    page = staff.get(reverse("console:answer-live", args=[row.pk]))
    assert page.status_code == 200
    unknown = staff.post(reverse("console:ask"), {"cluster": "demo", "policy": "nope"})
    assert unknown.status_code in {400, 409, 422}


def test_one_sentence() -> None:
    now = {"energy_cost": {"mean": 100.0}, "jct_mean_s": {"mean": 10.0}}
    other = {"energy_cost": {"mean": 82.0}, "jct_mean_s": {"mean": 11.0}}
    assert sentence(now, other, "andreas") == "andreas: 18 % cheaper, 10 % slower."
