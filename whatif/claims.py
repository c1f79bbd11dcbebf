"""A worker's right to a run: taken by one, kept alive while it works, lost when it falls silent."""

from datetime import datetime, timedelta

from django.db import connection

from whatif.models import Simulation, SimulationRun, WorkState

# Progress is written about every second; a worker this silent is dead, or its machine is.
SILENT = timedelta(seconds=60)

_CLAIM = """
UPDATE whatif_simulationrun SET
    state = 'running', fence = fence + 1, started_at = %(now)s, seen_at = %(now)s,
    simulated_s = 0, jobs_done = 0
WHERE id = %(run)s AND (state = 'queued' OR state = 'running' AND seen_at < %(silent)s)
RETURNING fence
"""


class Superseded(Exception):
    """Another worker has the run now, or it was cancelled: whatever we found, nobody wants it."""


def claim(run_id: int, *, now: datetime) -> SimulationRun | None:
    """The run, ours alone; None when somebody is at it, or when it is over."""
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM, {"run": run_id, "now": now, "silent": now - SILENT})
        taken = cursor.fetchone()
    if taken is None:
        return None
    run = SimulationRun.objects.select_related("simulation__cluster__tariff").get(pk=run_id)
    run.fence = taken[0]
    Simulation.objects.filter(pk=run.simulation_id, state=WorkState.QUEUED).update(
        state=WorkState.RUNNING, started_at=now
    )
    return run


def write(run: SimulationRun, **columns: object) -> None:
    """Write if the run is still ours."""
    ours = SimulationRun.objects.filter(pk=run.pk, fence=run.fence, state=WorkState.RUNNING)
    if not ours.update(**columns):
        raise Superseded


def abandoned(*, now: datetime, limit: int = 100) -> list[int]:
    """Runs that nobody works at: their message was lost, or their worker was."""
    forgotten = SimulationRun.objects.filter(
        state=WorkState.QUEUED, simulation__created_at__lt=now - SILENT
    )
    silent = SimulationRun.objects.filter(state=WorkState.RUNNING, seen_at__lt=now - SILENT)
    return [
        *silent.order_by("pk").values_list("pk", flat=True)[:limit],
        *forgotten.order_by("pk").values_list("pk", flat=True)[:limit],
    ]
