"""Profiling runs under way: let in a few at a time, steered from one configuration to the next."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Count, F, Q

from clusters.models import Cluster
from jobs.lifecycle import TERMINAL
from jobs.models import (
    Allocation,
    Attempt,
    Job,
    Part,
    Profile,
    ProfileFit,
    ProfilePoint,
    ProfilingRun,
)
from jobs.nudge import nudge
from jobs.profiling.fits import fit_refused, profile_fit
from jobs.profiling.fitting.problems import FitRefused
from jobs.profiling.steering import (
    WEIGHT,
    Configuration,
    MeasuredConfiguration,
    SettledReport,
    Sweep,
    result,
)
from jobs.services.cancel import job_cancel
from tenancy.callers import SYSTEM

State = ProfilingRun.State


def profiling_runs_advance(*, now: datetime) -> None:
    """Called every second; without a run under way it costs one query."""
    live = ProfilingRun.objects.filter(state__in=(State.WAITING, State.ADMITTED))
    for run_id, cluster_id, state in list(
        live.order_by("id").values_list("pk", "cluster", "state")
    ):
        with transaction.atomic():
            run = live.select_for_update(skip_locked=True).filter(pk=run_id).first()
            if run is None:
                continue
            if state == State.WAITING:
                _admit(run, cluster_id, now)
            else:
                _steer(run, now)


def _admit(run: ProfilingRun, cluster_id: int, now: datetime) -> None:
    job = Job.objects.get(pk=run.job_id)
    if job.state in TERMINAL:
        _end(run, State.FAILED, f"its job was {job.state} before its turn", now)
        return
    # One look at a time counts: two could both find the last place free.
    Cluster.objects.select_for_update(no_key=True).get(pk=cluster_id)
    admitted = ProfilingRun.objects.filter(cluster=cluster_id, state=State.ADMITTED).count()
    if admitted < places(cluster_id):
        run.state, run.admitted_at = State.ADMITTED, now
        run.save(update_fields=["state", "admitted_at"])
        Job.objects.filter(pk=run.job_id, held=True).update(held=False, version=F("version") + 1)
        nudge(cluster_id)


def places(cluster_id: int) -> int:
    """How many may run at once, each with one GPU: a share of the cluster, but always one."""
    good = Q(node__gpu__healthy=True, node__state="ready")
    gpus = Cluster.objects.aggregate(n=Count("node__gpu", filter=good & Q(pk=cluster_id)))["n"]
    return max(1, int(settings.PROFILING_SHARE * gpus))


def _steer(run: ProfilingRun, now: datetime) -> None:
    job = Job.objects.get(pk=run.job_id)
    if job.state in TERMINAL:
        _finish(run, f"its program ended ({job.reason}) before all was measured", now)
        return
    attempt = Attempt.objects.filter(job=job.pk, state=Attempt.State.RUNNING).first()
    if attempt is None:
        return
    run.began_at = run.began_at or now
    measured, sweep = measured_by(run), _sweep(attempt, job)
    wanted = sweep.next(measured)
    if wanted is not None and _is_set(attempt, wanted) and run.asked_at is not None:
        found = result(wanted, _settled_report(attempt), (now - run.asked_at).total_seconds())
        if found is not None:
            measured = [*measured, found]
            run.measured = [*run.measured, _document(found)]
            wanted = sweep.next(measured)
    late = now - run.began_at > timedelta(seconds=settings.PROFILING_LONGEST_S)
    if wanted is None or late:
        _finish(run, "it took too long; what was measured stays" if late and wanted else "", now)
        job_cancel(caller=SYSTEM, job_id=job.pk, now=now)
        return
    if not _is_set(attempt, wanted) or run.asked_at is None:
        run.asked_at = now
        Attempt.objects.filter(pk=attempt.pk).update(
            steered_clock_mhz=wanted.clock_mhz, steered_cpus=wanted.cpus
        )
    run.save(update_fields=["began_at", "asked_at", "measured"])


def _is_set(attempt: Attempt, wanted: Configuration) -> bool:
    return (attempt.steered_clock_mhz, attempt.steered_cpus) == (wanted.clock_mhz, wanted.cpus)


def _sweep(attempt: Attempt, job: Job) -> Sweep:
    held = attempt.allocation_set.select_related("node__gpu_type").get()
    return Sweep(tuple(held.node.gpu_type.clocks_mhz), max(1, job.cpus_per_gpu))


def _settled_report(attempt: Attempt) -> SettledReport | None:
    part = Part.objects.filter(attempt=attempt).first()
    if part is None or part.speed_steps is None or part.speed_s is None:
        return None
    return SettledReport(
        Configuration(part.speed_clock_mhz, part.speed_cpus or 0),
        part.speed_steps,
        part.speed_s,
        part.speed_mj or 0,
        part.speed_mj_s or 0.0,
    )


def _document(found: MeasuredConfiguration) -> dict[str, Any]:
    return {
        "clock_mhz": found.at.clock_mhz,
        "cpus": found.at.cpus,
        "steps_per_s": found.steps_per_s,
        "watts": found.watts,
    }


def measured_by(run: ProfilingRun) -> list[MeasuredConfiguration]:
    return [
        MeasuredConfiguration(
            Configuration(one["clock_mhz"], one["cpus"]), one["steps_per_s"], one["watts"]
        )
        for one in run.measured
    ]


def _finish(run: ProfilingRun, detail: str, now: datetime) -> None:
    """Keep what was measured, and make a version of it."""
    points = _points(run, measured_by(run), now)
    # What an earlier run measured is out of date.
    earlier = ProfilePoint.objects.filter(profile=run.profile_id)
    earlier.filter(source=ProfilePoint.Source.PROFILING).delete()
    ProfilePoint.objects.bulk_create(points)
    Profile.objects.filter(pk=run.profile_id, basis=Profile.Basis.NEUTRAL).update(
        basis=Profile.Basis.MEASURED if points else Profile.Basis.NEUTRAL
    )
    Profile.objects.filter(pk=run.profile_id).update(updated_at=now, revision=F("revision") + 1)
    if not points:
        detail = detail or "nothing could be measured: does the program report its steps?"
        _end(run, State.FAILED, detail, now)
        return
    try:
        profile_fit(run.profile_id, cause=ProfileFit.Cause.PROFILING, now=now)
    except FitRefused as refused:
        fit_refused(run.profile_id, refused)
        _end(run, State.FAILED, str(refused), now)
        return
    _end(run, State.FAILED if detail and len(points) < 2 else State.SUCCEEDED, detail, now)


def _points(
    run: ProfilingRun, measured: Sequence[MeasuredConfiguration], now: datetime
) -> list[ProfilePoint]:
    held = (
        Allocation.objects.filter(attempt__job=run.job_id)
        .select_related("node__gpu_type")
        .order_by("-attempt__number")
        .first()
    )
    if held is None:
        return []
    return [
        ProfilePoint(
            tenant_id=run.tenant_id,
            profile_id=run.profile_id,
            gpu_type=held.node.gpu_type.name,
            gpus=1,
            clock_mhz=one.at.clock_mhz,
            cpus_per_gpu=one.at.cpus,
            memory_mib_per_gpu=held.memory_mib,
            steps_per_s=one.steps_per_s,
            watts_per_gpu=one.watts,
            source=ProfilePoint.Source.PROFILING,
            weight=WEIGHT,
            attempt_id=held.attempt_id,
            measured_at=now,
        )
        for one in measured
        if one.steps_per_s is not None
    ]


def _end(run: ProfilingRun, state: ProfilingRun.State, detail: str, now: datetime) -> None:
    run.state, run.detail, run.ended_at = state, detail[:1000], now
    run.save(update_fields=["state", "detail", "ended_at", "measured", "began_at", "asked_at"])
