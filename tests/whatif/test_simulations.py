"""A simulation from the request to its report, as its tenant sees it."""

from decimal import Decimal
from typing import Any

import pytest

from rest.problems import Contradiction
from scheduler_service.factories import NOW, make_jobs
from tariffs.services.tariffs import tariff_create
from tenancy.callers import SYSTEM
from tenancy.models import AuditRow
from tests.api import Api
from tests.jobs.conftest import World
from tests.whatif.conftest import LINES, REQUEST, SIMULATIONS, Messages, asked, runs_of
from whatif import dispatch
from whatif.models import Simulation, SimulationRun, WorkState
from whatif.request import FAULTS_SHOWN, TRACE_JOBS_MAX, check
from whatif.services.simulations import LIVE_MAX

pytestmark = pytest.mark.django_db
LIVE: dict[str, Any] = {"trace": None, "machines": None, "live": True, "cluster": "demo"}


def read(api: Api, simulation: Simulation, part: str = "") -> Any:
    return api.get(f"{SIMULATIONS}{simulation.pk}/{part}")


def test_asking_stores_a_run_per_policy_and_seed_and_rings_for_each(
    member: Api, world: World, messages: Messages
) -> None:
    simulation = asked(member, seeds=[3, 4])
    assert (simulation.tenant_id, simulation.kind) == (world.ours.pk, "trace")
    runs = runs_of(simulation)
    assert [(run.label, run.seed) for run in runs] == [
        ("fifo", 3), ("fifo", 4), ("sjf", 3), ("sjf", 4),
    ]  # fmt: skip
    assert {run.tenant_id for run in runs} == {world.ours.pk}
    assert messages.sent == [(dispatch.RUN, run.pk) for run in runs]
    assert AuditRow.objects.get(action="simulation.create").tenant_id == world.ours.pk


def test_results_and_report_of_a_trace(member: Api, messages: Messages) -> None:
    simulation = asked(member)
    assert read(member, simulation, "results/").json()["code"] == "no_results"
    messages.work()
    shown = read(member, simulation).json()
    assert (shown["state"], shown["error"]) == ("succeeded", "")
    assert shown["progress"] == {
        "simulated_s": 160.0, "jobs_done": 6, "jobs_total": 6, "runs_done": 2, "runs_total": 2,
    }  # fmt: skip
    assert [run["state"] for run in shown["runs"]] == ["succeeded"] * 2
    rows = read(member, simulation, "results/").json()["rows"]
    # First come, first served: 4 GPUs until 1100, 8 until 1150, 2 until 1160.
    fifo, sjf = (row["figures"] for row in rows)
    assert fifo["jct_mean_s"] == pytest.approx((100 + 149 + 158) / 3)
    assert sjf["jct_mean_s"] < fifo["jct_mean_s"]
    assert set(rows[0]["tenants"]) == {"a", "b"}
    page = read(member, simulation, "report/")
    assert page["Content-Type"] == "text/html; charset=utf-8"
    assert "sandbox" in page["Content-Security-Policy"]
    assert b"<title>try</title>" in page.content


def test_intervals_over_seeds(member: Api, messages: Messages) -> None:
    drawn = {"jobs": 30, "load": 0.9, "arrivals": "bursty", "tenants": 2}
    simulation = asked(member, trace=None, generate=drawn, seeds=[1, 2, 3])
    messages.work()
    found = read(member, simulation, "results/").json()
    mean = found["intervals"]["fifo"]["jct_mean_s"]
    assert mean["low"] < mean["mean"] < mean["high"]
    assert len({row["figures"]["jct_mean_s"] for row in found["rows"]}) > 3


def test_a_stored_tariff_prices_the_energy(member: Api, messages: Messages) -> None:
    values = {"name": "flat", "kind": "flat", "price_per_kwh": Decimal("0.5")}
    tariff_create(caller=SYSTEM, values=values)
    simulation = asked(member, tariff="flat", policies=[{"name": "fifo"}])
    messages.work()
    (row,) = read(member, simulation, "results/").json()["rows"]
    figures = row["figures"]
    assert figures["energy_cost"] == pytest.approx(figures["energy_kwh"] * 0.5)


def test_an_existing_cluster_lends_its_machines(
    member: Api, world: World, messages: Messages
) -> None:
    simulation = asked(member, machines=None, cluster="demo", policies=[{"name": "fifo"}])
    messages.work()
    simulation.refresh_from_db()
    assert simulation.state == WorkState.SUCCEEDED, simulation.error
    # Two nodes of four GPUs: the job of eight spans both.
    assert simulation.results is not None
    assert simulation.results["rows"][0]["figures"]["finished"] == 3


def test_the_live_queue_is_run_by_operators(
    operator: Api, world: World, messages: Messages
) -> None:
    make_jobs(world.cluster, [world.ours, world.theirs], 4, min_gpus=8, max_gpus=8)
    simulation = asked(operator, **LIVE, seeds=[0, 1])
    messages.work()
    simulation.refresh_from_db()
    assert simulation.state == WorkState.SUCCEEDED, simulation.error
    assert simulation.tenant_id is None
    assert simulation.results is not None
    row = simulation.results["rows"][0]
    assert row["figures"]["finished"] == 4
    assert {"ours", "theirs"} <= set(row["tenants"])


def test_all_runs_of_a_live_simulation_share_one_snapshot(
    operator: Api, world: World, messages: Messages
) -> None:
    make_jobs(world.cluster, world.ours, 2)
    simulation = asked(operator, **LIVE)
    first, second = messages.sent
    messages.sent = [first]
    messages.work()
    make_jobs(world.cluster, world.ours, 5)
    messages.sent = [second]
    messages.work()
    assert [run.jobs_total for run in runs_of(simulation)] == [2, 2]


def test_tenants_do_not_run_the_whole_queue(member: Api, messages: Messages) -> None:
    answer = member.post(SIMULATIONS, {**REQUEST, **LIVE})
    assert (answer.status_code, answer.json()["code"]) == (403, "missing_right")
    assert not Simulation.objects.exists()


def test_others_do_not_see_it(
    stranger: Api, member: Api, operator: Api, messages: Messages
) -> None:
    simulation = asked(member)
    messages.work()
    for part in ("", "results/", "report/"):
        assert read(stranger, simulation, part).status_code == 404
        assert read(operator, simulation, part).status_code == 200
    assert stranger.post(f"{SIMULATIONS}{simulation.pk}/cancel/").status_code == 404
    assert stranger.get(SIMULATIONS).json()["items"] == []
    assert len(member.get(SIMULATIONS).json()["items"]) == 1
    of_operators = asked(operator)
    assert read(member, of_operators).status_code == 404


def test_cancelling_ends_what_waits(member: Api, messages: Messages) -> None:
    simulation = asked(member)
    answer = member.post(f"{SIMULATIONS}{simulation.pk}/cancel/")
    assert (answer.status_code, answer.json()["state"]) == (200, "cancelled")
    messages.work()
    assert {run.state for run in runs_of(simulation)} == {"cancelled"}
    assert member.post(f"{SIMULATIONS}{simulation.pk}/cancel/").status_code == 200


def test_what_has_ended_is_not_cancelled(member: Api, messages: Messages) -> None:
    simulation = asked(member)
    messages.work()
    answer = member.post(f"{SIMULATIONS}{simulation.pk}/cancel/")
    assert (answer.status_code, answer.json()["code"]) == (409, "simulation_ended")


def test_a_tenant_may_have_so_many(member: Api, stranger: Api, messages: Messages) -> None:
    policies = [{"name": "fifo"}]
    for _ in range(LIVE_MAX):
        asked(member, policies=policies)
    answer = member.post(SIMULATIONS, REQUEST)
    assert (answer.status_code, answer.json()["code"]) == (409, "too_many_simulations")
    asked(stranger, policies=policies)


@pytest.mark.parametrize(
    ("changes", "status", "refusal"),
    [
        ({"policies": []}, 400, ("min_length", "/policies")),
        ({"policies": [{"name": "magic"}]}, 400, ("invalid_choice", "/policies/0/name")),
        (
            {"policies": [{"name": "fifo"}, {"name": "fifo", "parameters": {"min_run_s": -1}}]},
            422, ("out_of_range", "/policies/1/parameters/min_run_s"),
        ),
        (
            {"policies": [{"name": "fifo", "parameters": {"queue_gpu_s": [1]}}]},
            422, ("unknown_parameter", "/policies/0/parameters/queue_gpu_s"),
        ),
        ({"policies": [{"name": "fifo"}] * 2}, 422, ("duplicate_label", "/policies/1/label")),
        ({"live": True}, 422, ("one_source", "/live")),
        ({"trace": None}, 422, ("one_source", "/trace")),
        ({"cluster": "demo"}, 422, ("one_cluster", "/machines")),
        ({"machines": None}, 422, ("one_cluster", "/machines")),
        ({**LIVE, "cluster": None}, 422, ("cluster_required", "/cluster")),
        ({"rounds": {"on_events": False}}, 422, ("no_rounds", "/rounds/interval_s")),
        ({"seeds": list(range(32))}, 201, ("", "")),
        (
            {"seeds": list(range(32)), "policies": [{"name": n} for n in ("fifo", "edf", "sjf")]},
            422, ("too_many_runs", "/seeds"),
        ),
        ({"tariff": "nowhere"}, 409, ("unknown_tariff", "/tariff")),
        ({"machines": None, "cluster": "nowhere"}, 409, ("unknown_cluster", "/cluster")),
        ({"trace": {"lines": "{}"}}, 422, ("bad_trace", "/trace/lines/1")),
        ({"trace": {"lines": " \n"}}, 422, ("bad_trace", "/trace/lines")),
        ({"colour": 1}, 400, ("unknown_field", "/colour")),
    ],
)  # fmt: skip
def test_bad_requests_are_refused_where_they_stand(
    member: Api, messages: Messages, changes: dict[str, Any], status: int, refusal: tuple[str, str]
) -> None:
    code, pointer = refusal
    answer = member.post(SIMULATIONS, {**REQUEST, **changes})
    assert answer.status_code == status, answer.content
    if status == 201:
        return
    problem = answer.json()
    faults = [fault["pointer"] for fault in problem["errors"]]
    assert code in {problem["code"], *(fault["code"] for fault in problem["errors"])}
    assert pointer in faults
    assert (messages.sent, Simulation.objects.count()) == ([], 0)


def test_faults_of_a_trace_are_named_by_line() -> None:
    values = {**REQUEST, "generate": None, "live": False, "cluster": None, "seeds": [0]}
    values["rounds"] = {"interval_s": None, "on_events": True}
    values["policies"] = [{"name": "fifo", "label": "", "parameters": {}}]
    bad = LINES + '{"submitted_s": 1, "duration_s": 0, "gpus": 0}\n[]\n{"a":\n'
    with pytest.raises(Contradiction) as refused:
        check({**values, "trace": {"lines": bad}})
    lines = [fault.pointer.rpartition("/")[2] for fault in refused.value.errors]
    assert lines == ["4", "4", "5", "6"]
    with pytest.raises(Contradiction) as refused:
        check({**values, "trace": {"lines": "x\n" * 500}})
    assert len(refused.value.errors) == FAULTS_SHOWN
    with pytest.raises(Contradiction) as refused:
        check({**values, "trace": {"lines": LINES * TRACE_JOBS_MAX}})
    assert refused.value.errors[0].code == "too_long"


def test_the_same_key_asks_once(member: Api, messages: Messages) -> None:
    headers = {"Idempotency-Key": "once"}
    first, second = (member.post(SIMULATIONS, REQUEST, headers=headers) for _ in range(2))
    assert first.json() == second.json()
    assert SimulationRun.objects.count() == 2


def test_created_at_is_now(member: Api, messages: Messages) -> None:
    assert asked(member).created_at > NOW
