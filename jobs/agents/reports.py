"""What a node says about its attempts, applied once however often and in whatever order."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from agent.wire import AttemptRef, AttemptReport
from agent.wire import State as Told
from clusters.models import Node
from jobs.agents.outcome import attempt_finish
from jobs.ledger.meters import meters_read
from jobs.lifecycle import State, advance
from jobs.models import Attempt, Job, Part

OVER = (Attempt.State.ENDED, Attempt.State.LOST)
# A part only moves forward; an older report of an earlier stage changes nothing.
_RANK = {Part.State.STARTING: 0, Part.State.RUNNING: 1, Part.State.STOPPING: 2, Part.State.ENDED: 3}


@dataclass
class Heard:
    """What to tell the agent: whom it need not report again, and whom it must kill."""

    acks: list[AttemptRef] = field(default_factory=list)
    stale: list[AttemptRef] = field(default_factory=list)
    refused: int = 0  # meter readings that cannot be true


def hear(node: Node, reports: Sequence[AttemptReport], *, boot_id: str, now: datetime) -> Heard:
    heard = Heard()
    if not reports:
        return heard
    known = _attempts(node, reports)
    fresh = []
    for report in reports:
        attempt = known.get(report.attempt_id)
        if attempt is None or attempt.fence != report.fence or attempt.state in OVER:
            over = report.state is Told.ENDED
            (heard.acks if over else heard.stale).append(report.ref)
            if over and attempt is not None and attempt.fence == report.fence:
                # Given up by us, yet what it drew until it died is its own.
                heard.refused += meters_read(node, boot_id, report, now=now)
        else:
            fresh.append(report)
    for report in fresh:
        heard.refused += _apply(node, known[report.attempt_id], report, boot_id, now)
        if report.state is Told.ENDED:
            heard.acks.append(report.ref)
    return heard


def _attempts(node: Node, reports: Iterable[AttemptReport]) -> dict[int, Attempt]:
    """Attempts the node has a part in; another node's are as unknown as none."""
    rows = Attempt.objects.filter(
        pk__in=[report.attempt_id for report in reports], parts__node=node
    ).prefetch_related("parts")
    return {attempt.pk: attempt for attempt in rows}


def _apply(node: Node, attempt: Attempt, report: AttemptReport, boot_id: str, now: datetime) -> int:
    part = next(part for part in attempt.parts.all() if part.node_id == node.pk)
    if not _news(part, report):
        return 0
    with transaction.atomic():
        job = Job.objects.select_for_update().get(pk=attempt.job_id)
        attempt = Attempt.objects.select_for_update().get(pk=attempt.pk)
        parts = list(Part.objects.filter(attempt=attempt).order_by("node_id"))
        part = next(part for part in parts if part.node_id == node.pk)
        if attempt.state in OVER or not _news(part, report):
            return 0
        further = _further(part, report)
        _write_part(part, report, now)
        _write_progress(job, report, now)
        refused = meters_read(node, boot_id, report, now=now) if further else 0
        _move(attempt, job, parts, now)
    return refused


def _news(part: Part, report: AttemptReport) -> bool:
    if part.state == Part.State.ENDED:
        return False
    return (
        _further(part, report)
        or (report.progress_step or 0) > (part.progress_step or 0)
        or ((report.checkpoint_step or 0) > (part.checkpoint_step or 0))
    )


def _further(part: Part, report: AttemptReport) -> bool:
    return _RANK[Part.State(report.state)] > _RANK[Part.State(part.state)]


def _write_part(part: Part, report: AttemptReport, now: datetime) -> None:
    if _further(part, report):
        part.state = Part.State(report.state)
    part.progress_step = max(report.progress_step or 0, part.progress_step or 0) or None
    part.checkpoint_step = max(report.checkpoint_step or 0, part.checkpoint_step or 0) or None
    part.log_bytes_dropped = report.log_bytes_dropped
    if report.state is Told.ENDED:
        part.ended_at = now - timedelta(seconds=report.ended_age_s or 0)
        part.end = report.end or ""
        part.exit_code, part.signal = report.exit_code, report.signal
        part.detail = report.detail
    part.save()


def _write_progress(job: Job, report: AttemptReport, now: datetime) -> None:
    """The job's own columns feed the next round's estimate of what is left."""
    columns: dict[str, Any] = {}
    if report.progress_step is not None and report.progress_step > job.work_done:
        columns["work_done"] = float(report.progress_step)
    if report.checkpoint_age_s is not None:
        columns["checkpoint_at"] = now - timedelta(seconds=report.checkpoint_age_s)
    if columns:
        Job.objects.filter(pk=job.pk).update(**columns)


def _move(attempt: Attempt, job: Job, parts: Sequence[Part], now: datetime) -> None:
    states = {part.state for part in parts}
    if states == {Part.State.ENDED} and _complete(attempt, parts):
        attempt_finish(attempt, job, parts, now=now)
    elif Part.State.ENDED in states:
        # A gang runs whole or not at all: when one part is over the others are stopped.
        Attempt.objects.filter(pk=attempt.pk).update(state=Attempt.State.STOPPING)
    elif states == {Part.State.RUNNING} and attempt.state in ("offered", "starting"):
        Attempt.objects.filter(pk=attempt.pk).update(state=Attempt.State.RUNNING, started_at=now)
        advance([job.pk], sources=[State.PLACED], to=State.RUNNING, reason="started", now=now)


def _complete(attempt: Attempt, parts: Sequence[Part]) -> bool:
    """Nodes that never fetched their part cannot have one running."""
    nodes = set(attempt.allocation_set.filter(released_at=None).values_list("node_id", flat=True))
    fetched = {part.node_id for part in parts}
    return nodes <= fetched or attempt.state == Attempt.State.STOPPING
