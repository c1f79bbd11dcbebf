"""Logs, energy and statements over HTTP."""

import csv
import io
from decimal import Decimal
from typing import Any

import pytest

from energy.api.statements import COLUMNS, csv_text
from energy.ledger.settle import settle
from energy.models import LedgerRow
from jobs.api.event_stream import Slots
from jobs.api.logs import wait_for_more
from jobs.models import Log, LogChunk
from rest.problems import Problem
from scheduler_service.factories import NOW
from tariffs.models import Tariff
from tenancy.models import Tenant
from tenancy.roles import Role
from tests.api import Api
from tests.energy.ledger.attempts import Metered, make_priced_cluster
from tests.energy.telemetry.readings import HELD_MW
from tests.jobs.conftest import World

SPAN = "from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z"


@pytest.fixture
def ended(world: World) -> Metered:
    """An hour and a half on two GPUs, settled."""
    metered = Metered.place(make_priced_cluster(), gpus=2, estimated_run_s=6000)
    metered.start()
    metered.run(5400, every_ms=5000)
    metered.end()
    metered.deliver()
    settle(metered.attempt.pk, now=metered.now)
    return metered


@pytest.fixture
def owner(world: World, ended: Metered) -> Api:
    return world.api(tenant=ended.job.tenant)


def _printed(metered: Metered, text: str, stream: str = "stdout", closed: bool = True) -> Log:
    tenant = metered.job.tenant
    log = Log.objects.create(
        tenant=tenant, attempt=metered.attempt, node=metered.agent.node, stream=stream,
        size=len(text), closed=closed, updated_at=NOW,
    )  # fmt: skip
    LogChunk.objects.create(tenant=tenant, log=log, offset=0, data=text.encode())
    return log


# Energy of a job.


def test_a_job_shows_what_it_drew_beside_what_was_expected(owner: Api, ended: Metered) -> None:
    answer = owner.get(f"/api/v1/jobs/{ended.job.pk}/energy/")
    assert answer.status_code == 200, answer.content
    body = answer.json()
    assert body["open_mj"] == 0
    (total,) = body["totals"]
    assert total["gpu_mj"] == 2 * 5400 * HELD_MW == ended.drawn_mj()
    (attempt,) = body["attempts"]
    assert (attempt["predicted_by"], attempt["predicted_gpu_mj"]) == (
        "nameplate",
        2 * 400 * 6_000_000,
    )
    assert attempt["prediction_error"] == pytest.approx(400 * 6000 / (300 * 5400) - 1)
    assert [meter["now_mj"] - meter["start_mj"] for meter in attempt["meters"]] == [
        5400 * HELD_MW,
        5400 * HELD_MW,
    ]
    first, second = attempt["windows"]
    assert first["gpu_mj"] + second["gpu_mj"] == total["gpu_mj"]
    assert Decimal(first["cost"]) + Decimal(second["cost"]) == Decimal(total["cost"])
    assert (first["price_per_kwh"], first["pue"], first["coverage"]) == (
        "0.360000000000",
        "1.50",
        1.0,
    )


def test_a_running_job_shows_what_is_not_settled_yet(world: World) -> None:
    metered = Metered.place(make_priced_cluster())
    metered.start()
    metered.run(60)
    metered.deliver()
    body = world.api(tenant=metered.job.tenant).get(f"/api/v1/jobs/{metered.job.pk}/energy/").json()
    assert (body["totals"], body["open_mj"]) == ([], 60 * HELD_MW)
    assert body["attempts"][0]["prediction_error"] is None


def test_energy_of_others_jobs_is_not_there(member: Api, ended: Metered) -> None:
    for what in ("energy", "logs"):
        assert member.get(f"/api/v1/jobs/{ended.job.pk}/{what}/").status_code == 404


# Statements.


def _statement(api: Api, tenant: Tenant, query: str = SPAN, **headers: str) -> Any:
    return api.get(f"/api/v1/tenants/{tenant.pk}/statement/?{query}", headers=headers or None)


def test_a_statement_adds_up_to_the_meters(owner: Api, ended: Metered) -> None:
    body = _statement(owner, ended.job.tenant).json()
    (total,), (line,) = body["totals"], body["lines"]
    assert total["gpu_mj"] == line["gpu_mj"] == ended.drawn_mj()
    assert (line["job_id"], line["cluster"], line["currency"]) == (ended.job.pk, "c", "EUR")
    assert Decimal(total["cost"]) == sum(LedgerRow.objects.values_list("cost", flat=True))
    assert body["next"] is None


def test_neighbouring_statements_share_nothing(owner: Api, ended: Metered) -> None:
    tenant = ended.job.tenant
    cut = "2026-01-05T13:00:00Z"
    before = _statement(owner, tenant, f"from=2026-01-01T00:00:00Z&to={cut}").json()
    after = _statement(owner, tenant, f"from={cut}&to=2026-02-01T00:00:00Z").json()
    sums = [body["totals"][0]["gpu_mj"] for body in (before, after)]
    assert sums == [2 * 3600 * HELD_MW, 2 * 1800 * HELD_MW]


def test_lines_come_in_pages_and_totals_do_not(owner: Api, ended: Metered) -> None:
    metered, jobs = ended, [ended.job.pk]
    for _ in range(4):
        metered = metered.again(min_gpus=2, max_gpus=2)
        metered.start()
        metered.run(10)
        metered.end()
        settle(metered.attempt.pk, now=metered.now)
        jobs.append(metered.job.pk)
    seen, cursor = [], ""
    while True:
        body = _statement(owner, ended.job.tenant, f"{SPAN}&limit=2{cursor}").json()
        seen += [line["job_id"] for line in body["lines"]]
        assert body["totals"][0]["gpu_mj"] == 2 * 5440 * HELD_MW
        if body["next"] is None:
            break
        cursor = f"&cursor={body['next']}"
    assert seen == jobs


def test_the_table_says_the_same(owner: Api, ended: Metered) -> None:
    answer = _statement(owner, ended.job.tenant, Accept="text/csv")
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert answer["Content-Disposition"].startswith('attachment; filename="acme-20260101-')
    (row,) = csv.DictReader(io.StringIO(answer.content.decode()))
    (line,) = _statement(owner, ended.job.tenant).json()["lines"]
    assert {name: str(line[name]) for name in row} == row


def test_a_name_is_not_a_formula() -> None:
    line = dict.fromkeys(COLUMNS, 0)
    text = csv_text([{**line, "name": "=HYPERLINK(1)"}, {**line, "name": "plain"}])
    assert [row["name"] for row in csv.DictReader(io.StringIO(text))] == ["'=HYPERLINK(1)", "plain"]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("from=yesterday", "invalid"),
        ("from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z", "ends_before_start"),
        ("format=csv", "unknown_parameter"),
        ("limit=0", "invalid"),
    ],
)
def test_bad_questions(owner: Api, ended: Metered, query: str, code: str) -> None:
    answer = _statement(owner, ended.job.tenant, query)
    assert (answer.status_code, answer.json()["code"]) == (400, code)


def test_a_statement_of_another_tenant_is_not_there(member: Api, ended: Metered) -> None:
    assert _statement(member, ended.job.tenant).status_code == 404


# Corrections.


def test_a_corrected_tariff_is_corrected_by_new_rows(
    world: World, owner: Api, ended: Metered
) -> None:
    before = _statement(owner, ended.job.tenant).json()["totals"][0]
    rows = LedgerRow.objects.count()
    Tariff.objects.update(price_per_kwh=Decimal("0.72"))
    span = {"from_at": "2026-01-05T00:00:00Z", "until_at": "2026-01-06T00:00:00Z"}
    operator, address = (
        world.api(Role.OPERATOR),
        f"/api/v1/clusters/{ended.job.cluster_id}/reprice/",
    )

    answer = operator.post(address, span)
    assert (answer.status_code, answer.json()) == (200, {"rows": 8})
    assert LedgerRow.objects.count() == rows + 8
    assert operator.post(address, span).json() == {"rows": 0}
    assert settle(ended.attempt.pk, now=ended.now) == 0
    after = _statement(owner, ended.job.tenant).json()["totals"][0]
    assert after["gpu_mj"] == before["gpu_mj"]
    assert Decimal(after["cost"]) == pytest.approx(
        2 * Decimal(before["cost"]), abs=Decimal("1e-11")
    )


def test_a_price_that_changes_within_an_hour_shares_its_energy_out(
    world: World, ended: Metered
) -> None:
    every = {"months": list(range(1, 13)), "weekdays": list(range(7)), "name": ""}
    periods = [
        {**every, "from_minute": 0, "to_minute": 740, "price_per_kwh": "0.1"},
        {**every, "from_minute": 740, "to_minute": 1440, "price_per_kwh": "0.4"},
    ]
    Tariff.objects.update(kind="time_of_use", price_per_kwh=None, periods=periods)
    address = f"/api/v1/clusters/{ended.job.cluster_id}/reprice/"
    span = {"from_at": "2026-01-05T00:00:00Z", "until_at": "2026-01-06T00:00:00Z"}
    assert world.api(Role.OPERATOR).post(address, span).status_code == 200

    cheap = LedgerRow.objects.filter(price_per_kwh=Decimal("0.1"))
    assert [row.gpu_mj for row in cheap] == [1200 * HELD_MW, 1200 * HELD_MW]
    assert sum(LedgerRow.objects.values_list("gpu_mj", flat=True)) == ended.drawn_mj()


@pytest.mark.parametrize("until", ["2026-01-04T00:00:00Z", "2026-03-06T00:00:00Z"])
def test_corrections_have_bounds(world: World, ended: Metered, until: str) -> None:
    address = f"/api/v1/clusters/{ended.job.cluster_id}/reprice/"
    body = {"from_at": "2026-01-05T00:00:00Z", "until_at": until}
    assert world.api(Role.OPERATOR).post(address, body).status_code == 400


# A node's balance.


def test_a_nodes_meters_add_up(world: World, ended: Metered) -> None:
    body = world.api(Role.OPERATOR).get(f"/api/v1/nodes/{ended.agent.node.pk}/energy/").json()
    assert len(body["gpus"]) == 2
    for gpu in body["gpus"]:
        parts = ("billed_mj", "open_mj", "idle_mj", "gap_mj")
        assert sum(gpu[part] for part in parts) == gpu["counter_mj"] == 5400 * HELD_MW


# Logs.


def test_the_end_of_a_log_comes_first(owner: Api, ended: Metered) -> None:
    _printed(ended, "".join(f"line {number}\n" for number in range(1000)))
    body = owner.get(f"/api/v1/jobs/{ended.job.pk}/logs/?limit=100").json()
    assert body["text"].endswith("line 999\n")
    assert len(body["text"]) == 100
    assert (body["next_offset"], body["closed"]) == (body["size"], True)


def test_streams_are_chosen_and_listed(owner: Api, ended: Metered) -> None:
    _printed(ended, "out")
    _printed(ended, "err", "stderr")
    path = f"/api/v1/jobs/{ended.job.pk}/logs/"
    assert owner.get(path).json()["text"] == "out"
    body = owner.get(f"{path}?stream=stderr&attempt=1&node=n1").json()
    assert body["text"] == "err"
    assert [stream["stream"] for stream in body["streams"]] == ["stdout", "stderr"]
    assert owner.get(f"{path}?attempt=2").json()["code"] == "no_log"
    assert owner.get(f"{path}?stream=stdin").status_code == 400


def test_following_goes_on_where_it_was(owner: Api, ended: Metered) -> None:
    log = _printed(ended, "one two", closed=False)
    path = f"/api/v1/jobs/{ended.job.pk}/logs/"
    body = owner.get(f"{path}?offset=4&wait_s=1").json()
    assert (body["text"], body["offset"], body["next_offset"]) == ("two", 4, 7)
    Log.objects.filter(pk=log.pk).update(closed=True)
    assert owner.get(f"{path}?offset=7&wait_s=20").json()["text"] == ""


def test_waiting_ends_with_news_and_holds_a_place(ended: Metered) -> None:
    log = _printed(ended, "one", closed=False)
    slots, pauses = Slots(1), []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        with pytest.raises(Problem):
            slots.take(0.0)
        if len(pauses) == 3:
            Log.objects.filter(pk=log.pk).update(size=9)

    wait_for_more(log, 3, 20, slots=slots, clock=lambda: 0.0, pause=pause)
    assert len(pauses) == 3
    slots.free(slots.take(0.0))


def test_waiting_without_news_ends(ended: Metered) -> None:
    log = _printed(ended, "one", closed=False)
    times = iter(range(100))
    wait_for_more(log, 3, 5, slots=Slots(1), clock=lambda: next(times), pause=lambda _: None)
    assert next(times) < 20
