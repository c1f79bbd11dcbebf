"""Forecasts: made of the live queue, shown to each tenant for its own jobs, and scored later."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from jobs.models import Attempt, Job
from scheduler_service.factories import NOW, make_jobs
from scheduling.round import run_round
from tariffs.services.tariffs import tariff_create
from tenancy.callers import SYSTEM
from tenancy.models import Tenant
from tests.api import Api
from tests.jobs.conftest import JOBS, World
from tests.whatif.conftest import Messages
from whatif import dispatch, forecasting, scoring, tasks
from whatif.history import FEWEST, UNTAUGHT, guess_of
from whatif.models import Forecast, ForecastJob, WorkState
from whatif.services import forecast_request

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def ask(api: Api, world: World) -> Any:
    answer = api.post(f"/api/v1/clusters/{world.cluster.pk}/forecast/")
    assert answer.status_code == 202, answer.content
    return answer.json()


def estimated(api: Api, forecast_id: int) -> dict[int, Any]:
    listed = api.get(f"/api/v1/forecasts/{forecast_id}/jobs/").json()["items"]
    return {item["job_id"]: item for item in listed}


def queue(world: World, tenant: Tenant, count: int = 1, **fields: Any) -> list[Job]:
    whole = {"min_gpus": 8, "max_gpus": 8, "estimated_run_s": 3600}
    return make_jobs(world.cluster, tenant, count, **{**whole, **fields})


def made(world: World, messages: Messages, now: datetime = NOW) -> Forecast:
    forecast_id = forecast_request(world.cluster, now=now, fresh=timedelta(0))
    messages.work(now)
    return Forecast.objects.get(pk=forecast_id)


def test_every_queued_job_gets_a_start_a_finish_and_a_price(
    operator: Api, world: World, messages: Messages
) -> None:
    values = {"name": "flat", "kind": "flat", "price_per_kwh": Decimal("0.25")}
    world.cluster.tariff = tariff_create(caller=SYSTEM, values=values)
    world.cluster.save()
    first, second = queue(world, world.ours, 2)
    asked = ask(operator, world)
    assert (asked["state"], asked["made_at"], asked["score"]) == ("queued", None, None)
    messages.work()
    shown = operator.get(f"/api/v1/forecasts/{asked['id']}/").json()
    assert (shown["state"], shown["policy"], shown["error"]) == ("succeeded", "fifo", "")
    assert shown["score"]["jobs"] == 2
    found = estimated(operator, asked["id"])
    assert found[first.pk]["start_at"] == "2026-01-05T12:00:00Z"
    assert found[second.pk]["start_at"] == "2026-01-05T13:00:00Z"
    assert found[second.pk]["finish_at"] == "2026-01-05T14:00:00Z"
    # Eight GPUs at 400 W for an hour.
    assert found[second.pk]["full_energy_j"] == pytest.approx(8 * 400 * 3600)
    assert found[second.pk]["full_cost"] == "0.800000"
    low, high = found[second.pk]["start_low_at"], found[second.pk]["start_high_at"]
    assert low < found[second.pk]["start_at"] < high


def test_a_tenant_sees_its_own_jobs_only(
    member: Api, stranger: Api, operator: Api, world: World, messages: Messages
) -> None:
    (ours,), (theirs,) = queue(world, world.ours), queue(world, world.theirs)
    asked = ask(member, world)
    messages.work()
    assert set(estimated(member, asked["id"])) == {ours.pk}
    assert set(estimated(stranger, asked["id"])) == {theirs.pk}
    assert set(estimated(operator, asked["id"])) == {ours.pk, theirs.pk}
    address = f"/api/v1/clusters/{world.cluster.pk}/forecasts/"
    counts = [api.get(address).json()["items"][0]["score"]["jobs"] for api in (member, operator)]
    assert counts == [1, 2]


def test_explain_shows_it(member: Api, world: World, messages: Messages) -> None:
    (_, second) = queue(world, world.ours, 2)
    run_round(world.cluster.pk, now=NOW)
    assert member.get(f"{JOBS}{second.pk}/explain/").json()["forecast"] is None
    made(world, messages)
    shown = member.get(f"{JOBS}{second.pk}/explain/").json()["forecast"]
    assert shown["start_at"] == "2026-01-05T13:00:00Z"
    assert shown["low_at"] < shown["start_at"] < shown["high_at"]
    assert shown["made_at"] == "2026-01-05T12:00:00Z"


def test_who_asks_again_gets_the_same(member: Api, world: World, messages: Messages) -> None:
    queue(world, world.ours)
    first, second = ask(member, world), ask(member, world)
    assert first["id"] == second["id"]
    assert messages.sent == [(dispatch.FORECAST, first["id"])]
    messages.work()
    just_after = NOW + timedelta(seconds=4)
    assert forecast_request(world.cluster, now=just_after) == first["id"]
    assert forecast_request(world.cluster, now=NOW + timedelta(seconds=6)) != first["id"]


def test_no_such_cluster_or_forecast(member: Api, world: World, messages: Messages) -> None:
    for path in ("clusters/9999/forecasts/", "forecasts/9999/", "forecasts/9999/jobs/"):
        assert member.get(f"/api/v1/{path}").status_code == 404
    assert member.post("/api/v1/clusters/9999/forecast/").status_code == 404


def test_held_blocked_and_suspended_jobs_are_not_foreseen(world: World, messages: Messages) -> None:
    (free,) = queue(world, world.ours)
    queue(world, world.ours, held=True)
    queue(world, world.ours, unmet_dependencies=1)
    queue(world, world.theirs)
    Tenant.objects.filter(pk=world.theirs.pk).update(suspended=True)
    forecast = made(world, messages)
    rows = ForecastJob.objects.filter(forecast=forecast)
    assert list(rows.values_list("job_id", flat=True)) == [free.pk]


def test_only_the_head_of_a_long_queue_is_foreseen(
    world: World, messages: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forecasting, "JOBS_MAX", 3)
    queue(world, world.ours, 5)
    urgent = queue(world, world.theirs, priority=90)
    forecast = made(world, messages)
    rows = ForecastJob.objects.filter(forecast=forecast)
    assert rows.count() == 3
    assert rows.filter(job=urgent[0].pk).exists()


def test_what_never_starts_has_no_times(world: World, messages: Messages) -> None:
    (large,) = queue(world, world.ours, min_gpus=64, max_gpus=64)
    forecast = made(world, messages)
    row = ForecastJob.objects.get(forecast=forecast, job=large.pk)
    assert (row.start_at, row.finish_at, row.full_energy_j, row.full_cost) == (
        None,
        None,
        None,
        None,
    )
    large.refresh_from_db()
    assert large.forecast_start_at is None


def test_a_failed_forecast_says_why_and_makes_way(world: World, messages: Messages) -> None:
    queue(world, world.ours)
    world.cluster.policy_parameters = {"strict": "maybe"}
    world.cluster.save()
    forecast = made(world, messages)
    assert forecast.state == WorkState.FAILED
    assert forecast.error.startswith("ParameterError")
    assert made(world, messages).pk != forecast.pk


def test_repeated_messages_change_nothing(world: World, messages: Messages) -> None:
    queue(world, world.ours)
    forecast = made(world, messages)
    forecasting.make_forecast(forecast.pk, now=NOW + HOUR)
    assert Forecast.objects.get().made_at == NOW
    assert ForecastJob.objects.count() == 1


def started(job: Job, at: datetime) -> None:
    """As if an agent had begun it."""
    Job.objects.filter(pk=job.pk).update(state=Job.State.PLACED)
    Attempt.objects.create(
        tenant_id=job.tenant_id,
        job=job,
        cluster_id=job.cluster_id,
        number=Attempt.objects.filter(job=job).count() + 1,
        fence=job.pk * 100 + Attempt.objects.count(),
        state=Attempt.State.RUNNING,
        gpus=8,
        offered_at=at,
        started_at=at,
    )


def test_starts_are_scored_against_what_was_foreseen(
    member: Api, world: World, messages: Messages
) -> None:
    first, second, third = queue(world, world.ours, 3)
    made(world, messages)
    started(first, NOW + timedelta(seconds=10))
    started(second, NOW + HOUR - timedelta(seconds=30))
    assert scoring.score_forecasts() == 2
    assert scoring.score_forecasts() == 0
    errors = dict(ForecastJob.objects.values_list("job_id", "error_s"))
    assert errors == {first.pk: 10.0, second.pk: -30.0, third.pk: None}
    within = dict(ForecastJob.objects.values_list("job_id", "within"))
    assert within == {first.pk: False, second.pk: True, third.pk: None}
    address = f"/api/v1/clusters/{world.cluster.pk}/forecasts/"
    (shown,) = member.get(address).json()["items"]
    assert shown["score"] == {
        "jobs": 3, "scored": 2, "mean_error_s": -10.0, "mean_absolute_error_s": 20.0, "within": 0.5,
    }  # fmt: skip


def test_an_attempt_from_before_the_forecast_is_not_its_start(
    world: World, messages: Messages
) -> None:
    (job,) = queue(world, world.ours)
    started(job, NOW - HOUR)
    Attempt.objects.update(state=Attempt.State.ENDED, ended_at=NOW)
    Job.objects.update(state=Job.State.PREEMPTING)
    Job.objects.update(state=Job.State.QUEUED)
    made(world, messages)
    started(job, NOW + timedelta(seconds=5))
    scoring.score_forecasts()
    assert ForecastJob.objects.get().error_s == 5.0


def test_the_tick_asks_for_clusters_with_a_queue_every_half_a_minute(
    world: World, messages: Messages
) -> None:
    tasks.tick()
    assert messages.sent == []
    queue(world, world.ours)
    tasks.tick()
    tasks.tick()
    assert [task for task, _ in messages.sent] == [dispatch.FORECAST]
    Forecast.objects.update(state=WorkState.SUCCEEDED, made_at=NOW, ended_at=NOW)
    messages.sent.clear()
    tasks.tick()
    assert len(messages.sent) == 1


def test_what_no_worker_ends_is_given_up(world: World, messages: Messages) -> None:
    queue(world, world.ours)
    forecast_request(world.cluster, now=NOW)
    assert scoring.give_up(now=NOW + timedelta(minutes=14)) == 0
    Forecast.objects.update(state=WorkState.RUNNING, started_at=NOW)
    assert scoring.give_up(now=NOW + timedelta(minutes=3)) == 1
    assert Forecast.objects.get().state == WorkState.FAILED


def test_old_forecasts_are_thinned_and_forgotten(world: World, messages: Messages) -> None:
    queue(world, world.ours)
    for minute in (0, 1, 2, 11, 70, 71):
        made(world, messages, NOW + timedelta(minutes=minute))
    scoring.forget(now=NOW + timedelta(minutes=72))
    kept = [row.made_at - NOW for row in Forecast.objects.order_by("pk") if row.made_at]
    assert kept == [timedelta(minutes=minute) for minute in (0, 11, 70, 71)]
    scoring.forget(now=NOW + timedelta(days=8))
    assert (Forecast.objects.count(), ForecastJob.objects.count()) == (0, 0)


def test_run_times_are_learnt_from_what_ended(world: World) -> None:
    assert guess_of(world.cluster.pk) == UNTAUGHT
    past = {"state": "succeeded", "ended_at": NOW, "min_gpus": 2, "max_gpus": 2}
    queue(world, world.ours, FEWEST, **past, attained_gpu_s=400.0, estimated_run_s=100)
    taught = guess_of(world.cluster.pk)
    # Each took 200 s where 100 were estimated: wrong, but alike.
    assert (taught.run_s, taught.spread) == (200.0, 0.0)
