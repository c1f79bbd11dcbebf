"""One run of a simulation: claimed, run, measured and stored, or failed with a reason."""

import logging
import resource
import zlib
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec
from celery.exceptions import SoftTimeLimitExceeded
from django.utils import timezone

from simulator.engine import Outcome, Progress
from simulator.measure import measure
from simulator.report.files import plain
from simulator.report.series import series_of
from whatif.claims import Superseded, claim, write
from whatif.models import SimulationRun, WorkState
from whatif.results import settle
from whatif.worlds import PreparedRun, prepare, tenant_names

SOFT_LIMIT_S = 600
HARD_LIMIT_S = 660
MEMORY_LIMIT_MIB = 3072
WRITE_EVERY_S = 1.0

logger = logging.getLogger(__name__)


class TooLarge(Exception):
    """The run takes more memory than a worker has for it."""


def run_claimed(run_id: int, *, now: datetime) -> None:
    """Harmless when repeated: of two workers one gets the run, and an ended run stays as it is."""
    run = claim(run_id, now=now)
    if run is None:
        return
    try:
        found = _found(run, now)
        ended = timezone.now()
        write(run, state=WorkState.SUCCEEDED, ended_at=ended, seen_at=ended, **found)
    except Superseded:
        return
    except Exception as error:  # noqa: BLE001  # whatever a policy or a trace does, the run says so
        logger.warning("simulation run %s failed: %r", run_id, error)
        _fail(run, _reason(error))
    settle(run.simulation_id, now=timezone.now())


def _found(run: SimulationRun, now: datetime) -> dict[str, Any]:
    simulation = run.simulation
    prepared = prepare(simulation, run, now=now)
    jobs = len(prepared.engine.setting.jobs)
    write(run, jobs_total=jobs)
    outcome = prepared.engine.run(_reporting(run, prepared))
    measured = measure(outcome, prepared.tariff)
    names = tenant_names(prepared.engine, simulation)
    metrics = {
        "summary": measured.summary,
        "tenants": dict(zip(names, measured.tenants.values(), strict=True)),
        "partitions": measured.partitions,
        "read": prepared.read,
    }
    first_of_policy = run.seed == simulation.request["seeds"][0]
    return {
        "metrics": plain(metrics),
        "series": _series(outcome, measured) if first_of_policy else None,
        "simulated_s": outcome.ended_s - outcome.setting.origin_s,
        "jobs_done": int(measured.summary["finished"]),
    }


def _series(outcome: Outcome, measured: Any) -> bytes:
    return zlib.compress(msgspec.json.encode(series_of(outcome, measured)))


def _reporting(
    run: SimulationRun, prepared: PreparedRun, clock: Callable[[], float] = monotonic
) -> Progress:
    """Writes progress at most once a second, and notices there that the run is no longer ours."""
    origin_s = prepared.engine.setting.origin_s
    last_s = clock()

    def report(now_s: float, finished: int) -> None:
        nonlocal last_s
        if clock() - last_s < WRITE_EVERY_S:
            return
        last_s = clock()
        if memory_mib() > MEMORY_LIMIT_MIB:
            raise TooLarge
        seen_at = timezone.now()
        write(run, simulated_s=now_s - origin_s, jobs_done=finished, seen_at=seen_at)

    return report


def memory_mib() -> float:
    """What this process holds now; the second number of statm counts resident pages."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def _reason(error: Exception) -> str:
    if isinstance(error, SoftTimeLimitExceeded):
        return f"It took longer than {SOFT_LIMIT_S} s; ask for fewer jobs or fewer days."
    if isinstance(error, TooLarge | MemoryError):
        return f"It took more than {MEMORY_LIMIT_MIB} MiB of memory; ask for fewer jobs or nodes."
    return f"{type(error).__name__}: {error}"[:1000]


def _fail(run: SimulationRun, reason: str) -> None:
    ours = SimulationRun.objects.filter(pk=run.pk, fence=run.fence, state=WorkState.RUNNING)
    ours.update(state=WorkState.FAILED, error=reason, ended_at=timezone.now())
