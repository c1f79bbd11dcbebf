"""What a sync says about the node's attempts and GPUs."""

from agent.devices.base import DeviceLostError
from agent.run import processes
from agent.run.attempt_gpus import AttemptGpus
from agent.run.attempt_run import AttemptRun
from agent.run.attempts import NodeAttempts
from agent.wire import MAX_ATTEMPTS, AttemptReport, DesiredAttempt, GpuStatus, State

MAX_PIDS = 64


def attempt_reports(
    attempts: NodeAttempts, gpus: AttemptGpus, boot_id: str, now_s: float
) -> tuple[AttemptReport, ...]:
    """Every attempt the service has not acknowledged the end of; the newest fence of each."""
    known = [
        _running(run, gpus, now_s)
        for ref, run in attempts.runs.items()
        if ref not in attempts.fenced
    ]
    known += [_waiting(attempt, attempts.blocked(attempt)) for attempt in attempts.waiting()]
    known += [
        ended.report_at(boot_id, now_s)
        for ended in attempts.store.ended.values()
        if not ended.acked
    ]
    newest = {each.attempt_id: each for each in sorted(known, key=lambda each: each.fence)}
    in_order = [each for each in known if newest[each.attempt_id] is each]
    return tuple(in_order[:MAX_ATTEMPTS])


def gpu_statuses(attempts: NodeAttempts, gpus: AttemptGpus) -> tuple[GpuStatus, ...]:
    return tuple(_gpu_status(uuid, attempts, gpus) for uuid in gpus.devices)


def _running(run: AttemptRun, gpus: AttemptGpus, now_s: float) -> AttemptReport:
    latest = gpus.sampler.latest
    now_mj = {uuid: m.energy_mj for uuid, m in latest.items() if m.energy_mj is not None}
    return AttemptReport(
        attempt_id=run.attempt.attempt_id,
        fence=run.attempt.fence,
        state=run.state,
        ran_s=max(0.0, now_s - run.held_s),
        detail=(run.stop_reason or run.waits_for)[:2000],
        progress_step=run.progress.step,
        checkpoint_step=run.progress.checkpoint_step,
        checkpoint_age_s=run.progress.checkpoint_age_s(now_s),
        energy=run.energy(now_mj, latest),
        speed=run.speedometer.speed(),
        fetching=run.fetching,
    )


def _waiting(attempt: DesiredAttempt, why: str) -> AttemptReport:
    return AttemptReport(
        attempt_id=attempt.attempt_id, fence=attempt.fence, state=State.STARTING, detail=why[:2000]
    )


def _gpu_status(uuid: str, attempts: NodeAttempts, gpus: AttemptGpus) -> GpuStatus:
    latest, setting = gpus.sampler.latest[uuid], gpus.controls.settings[uuid]
    holder = attempts.holder(uuid)
    # A node that takes no work says so of the GPUs that it could be given for.
    fault = latest.fault or (attempts.shortage()[:200] if holder is None else "")
    return GpuStatus(
        uuid=uuid,
        healthy=not fault,
        energy_mj=latest.energy_mj,
        energy_method=latest.method,
        health_reason=fault,
        attempt_id=holder,
        clock_mhz=setting.clock_mhz,
        power_cap_w=setting.power_cap_w,
        control_refusal=gpus.controls.refusals[uuid],
        foreign_pids=tuple(sorted(_foreign_pids(uuid, attempts, gpus)))[:MAX_PIDS],
    )


def _foreign_pids(uuid: str, attempts: NodeAttempts, gpus: AttemptGpus) -> frozenset[int]:
    """Processes on a GPU that belong to no attempt of this node."""
    try:
        found = gpus.devices[uuid].processes()
    except DeviceLostError:
        return frozenset()
    shims = {run.shim.pid for run in attempts.runs.values() if run.shim is not None}
    if not found - shims or _held_by_container(uuid, attempts):
        return frozenset()
    return found.difference(*(processes.tree(pid) for pid in shims))


def _held_by_container(uuid: str, attempts: NodeAttempts) -> bool:
    """Processes of a container are children of its engine and look foreign."""
    runs = (run for run in attempts.runs.values() if uuid in run.attempt.gpu_uuids)
    return any(run.attempt.image is not None for run in runs)
