"""A tenant's simulation, and its jobs in a forecast that all tenants share."""

from datetime import datetime

from jobs.models import Job
from tests.live.seed_machines import Machines
from tests.live.seed_tenant import Owned
from whatif.models import Forecast, ForecastJob, Simulation, SimulationRun, WorkState


def seed_forecast(machines: Machines, now: datetime) -> None:
    forecast = Forecast.objects.create(
        cluster=machines.cluster,
        state=WorkState.SUCCEEDED,
        policy="fifo",
        made_at=now,
        ended_at=now,
    )
    machines.ids["forecasts"] = forecast.pk


def seed_whatif(machines: Machines, owner: Owned, now: datetime) -> None:
    owner.ids["simulations"] = _simulation(owner, now).pk
    for job in Job.objects.filter(tenant=owner.tenant_id, state=Job.State.QUEUED):
        ForecastJob.objects.create(
            forecast_id=machines.ids["forecasts"], tenant_id=owner.tenant_id, job=job
        )


def _simulation(owner: Owned, now: datetime) -> Simulation:
    text = owner.marks.text
    names = {"policy": text("policy"), "label": text("label")}
    row = {**names, "seed": 0, "figures": {}, "tenants": {text("tenant"): {}}, "partitions": {}}
    simulation = Simulation.objects.create(
        tenant_id=owner.tenant_id,
        name=text("simulation"),
        kind=Simulation.Kind.TRACE,
        request={"name": text("request")},
        state=WorkState.SUCCEEDED,
        snapshot=text("snapshot").encode(),
        results={"rows": [row], "intervals": {text("label"): {}}},
        report=text("report").encode(),
        error=text("error"),
        ended_at=now,
    )
    SimulationRun.objects.create(
        tenant_id=owner.tenant_id,
        simulation=simulation,
        number=0,
        **names,
        parameters={"note": text("parameter")},
        seed=0,
        state=WorkState.SUCCEEDED,
        metrics={"note": text("metric")},
        series=text("series").encode(),
        error=text("error"),
        ended_at=now,
    )
    return simulation
