"""Asking for simulations, and for their end."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from clusters.services.references import cluster_named, tariff_named
from rest.problems import Conflict, Forbidden, NotFound
from tenancy import audit
from tenancy.callers import Caller
from whatif import dispatch
from whatif.changes import check_names
from whatif.models import LIVE, Simulation, SimulationRun, WorkState
from whatif.request import check, label
from whatif.selectors import simulations

# Of one tenant, and of the operators together.
LIVE_MAX = 20


@transaction.atomic(savepoint=False)
def simulation_create(*, caller: Caller, values: Mapping[str, Any], now: datetime) -> Simulation:
    check(values)
    if values["live"] and not caller.may("simulations.live"):
        detail = "The whole queue is run by operators; ask for a forecast to learn of your jobs."
        raise Forbidden(detail, code="missing_right")
    cluster = None if values["cluster"] is None else cluster_named(values["cluster"])
    check_names(values["policies"], cluster if values["live"] else None)
    if values["tariff"] is not None:
        tariff_named(values["tariff"])
    if Simulation.objects.filter(tenant=caller.tenant_id, state__in=LIVE).count() >= LIVE_MAX:
        detail = f"{LIVE_MAX} simulations are waiting or running already; wait or cancel some."
        raise Conflict(detail, code="too_many_simulations")
    simulation = Simulation.objects.create(
        tenant_id=caller.tenant_id,
        requested_by_id=caller.token_id,
        cluster=cluster,
        name=values["name"],
        kind=Simulation.Kind.LIVE if values["live"] else Simulation.Kind.TRACE,
        request=dict(values),
        created_at=now,
    )
    runs = SimulationRun.objects.bulk_create(_runs(simulation, values))
    changes = {"name": simulation.name, "kind": simulation.kind, "runs": len(runs)}
    audit.record(caller, "simulation.create", simulation, changes, tenant_id=caller.tenant_id)
    dispatch.send(dispatch.RUN, [run.pk for run in runs])
    return simulations(caller).get(pk=simulation.pk)


def _runs(simulation: Simulation, values: Mapping[str, Any]) -> list[SimulationRun]:
    cells = [(chosen, seed) for chosen in values["policies"] for seed in values["seeds"]]
    return [
        SimulationRun(
            simulation=simulation,
            tenant_id=simulation.tenant_id,
            number=number,
            policy=chosen["name"],
            label=label(chosen),
            parameters=chosen["parameters"],
            seed=seed,
        )
        for number, (chosen, seed) in enumerate(cells)
    ]


@transaction.atomic(savepoint=False)
def simulation_cancel(*, caller: Caller, simulation_id: int, now: datetime) -> Simulation:
    """Cancelling what is cancelled changes nothing; a run notices within about a second."""
    simulation = simulations(caller).filter(pk=simulation_id).first()
    if simulation is None:
        raise NotFound
    live = Simulation.objects.filter(pk=simulation_id, state__in=LIVE)
    if live.update(state=WorkState.CANCELLED, ended_at=now):
        runs = SimulationRun.objects.filter(simulation=simulation_id, state__in=LIVE)
        runs.update(state=WorkState.CANCELLED, ended_at=now)
        changes = {"from": simulation.state}
        owner = simulation.tenant_id
        audit.record(caller, "simulation.cancel", simulation, changes, tenant_id=owner)
    elif simulation.state != WorkState.CANCELLED:
        detail = f"The simulation has {simulation.state}; only live ones are cancelled."
        raise Conflict(detail, code="simulation_ended")
    return simulations(caller).get(pk=simulation_id)
