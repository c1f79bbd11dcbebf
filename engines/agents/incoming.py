"""What a node says about its attempts, applied once however often and in whatever order."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import transaction
from msgspec import to_builtins

from agent.wire import AttemptRef, AttemptReport, End
from agent.wire import State as ReportState
from energy.ledger.meters import meters_read
from engines.agents.beginnings import attempts_begin
from engines.agents.endings import attempts_succeed
from engines.agents.node_state import KnownNode
from engines.agents.outcome import attempt_finish
from engines.agents.progress import write_progress
from jobs.models import Attempt, Job, Part

OVER = (Attempt.State.ENDED, Attempt.State.LOST)
BEGUN = (Part.State.RUNNING, Part.State.STOPPING)
_REPORTED = (
    *("state", "log_bytes_dropped", "ended_at", "end", "exit_code", "signal", "detail"),
    *("out_of_memory", "failed_rank"),
)
# A part only moves forward; an older report of an earlier stage changes nothing.
_RANK = {Part.State.STARTING: 0, Part.State.RUNNING: 1, Part.State.STOPPING: 2, Part.State.ENDED: 3}


@dataclass
class Answers:
    """What to tell the agent: whom it need not report again, and whom it must kill."""

    acks: list[AttemptRef] = field(default_factory=list)
    stale: list[AttemptRef] = field(default_factory=list)
    moved: bool = False  # attempts or jobs are in other states than before
    refused: int = 0  # meter readings that cannot be true


def take_reports(
    node: KnownNode, reports: Sequence[AttemptReport], *, boot_id: str, now: datetime
) -> Answers:
    answers = Answers()
    others, begun, over = [], [], []
    for report in reports:
        held = node.held.get(report.attempt_id)
        if held is None or held.fence != report.fence or held.part_state is None:
            others.append(report)
            continue
        if held.fetching or report.fetching is not None:
            _note_fetching(node.node_id, report)
        part = Stage(held.part_state, held.progress_step, held.checkpoint_step)
        if part.further(report) and report.state is ReportState.RUNNING:
            begun.append(report)
        elif part.further(report):
            over.append(report)
        elif part.news(report):
            write_progress(node.node_id, report, now, at_once=False)
        if report.state is ReportState.ENDED:
            answers.acks.append(report.ref)
    if begun:
        answers.moved = True
        answers.refused += attempts_begin(node.node_id, begun, boot_id, now)
    if over:
        answers.moved = True
        answers.refused += _apply_all(node.node_id, over, boot_id, now)
    if others:
        _answer_others(node.node_id, others, answers, boot_id, now)
    reported = {report.ref for report in reports}
    _note_unreported(node, reported, answers, now)
    _end_unheard(node, reported, answers, boot_id, now)
    return answers


def _note_fetching(node_id: int, report: AttemptReport) -> None:
    """For whoever asks why it has not begun; nothing is decided by it."""
    part = Part.objects.filter(node=node_id, attempt=report.attempt_id)
    part.update(fetching=None if report.fetching is None else to_builtins(report.fetching))


def _end_unheard(
    node: KnownNode, reported: Collection[AttemptRef], answers: Answers, boot_id: str, now: datetime
) -> None:
    """Handed out in an answer that was lost, and stopped before the next: nobody will begin it.

    An agent has one sync under way, so what it does not speak of now it has never heard of.
    """
    for held in node.held.values():
        ref = AttemptRef(held.attempt_id, held.fence)
        stopping = held.state == Attempt.State.STOPPING
        if stopping and held.part_state == Part.State.STARTING and ref not in reported:
            never = AttemptReport(
                ref.attempt_id, ref.fence, ReportState.ENDED, end=End.STOPPED, detail="never begun"
            )
            answers.refused += _apply(node.node_id, never, boot_id, now)
            answers.moved = True


def _note_unreported(
    node: KnownNode, reported: Collection[AttemptRef], answers: Answers, now: datetime
) -> None:
    """An agent speaks of all it has; what it once reported and now leaves out it knows no more.

    Its state is gone, or it is another agent under the same identity. Somebody else may still run
    the attempt, for as long as a run lease: until then nobody gets its GPUs.
    """
    for held in node.held.values():
        unreported = AttemptRef(held.attempt_id, held.fence) not in reported
        if held.part_state in BEGUN and unreported != held.unreported:
            part = Part.objects.filter(node=node.node_id, attempt=held.attempt_id)
            part.update(unreported_at=now if unreported else None)
            answers.moved = True


@dataclass(frozen=True, slots=True)
class Stage:
    """How far a part is known to have come; it only moves forward, whatever order reports have."""

    state: str
    progress_step: int | None
    checkpoint_step: int | None

    def further(self, report: AttemptReport) -> bool:
        return _RANK[Part.State(report.state)] > _RANK[Part.State(self.state)]

    def news(self, report: AttemptReport) -> bool:
        return (report.progress_step or 0) > (self.progress_step or 0) or (
            (report.checkpoint_step or 0) > (self.checkpoint_step or 0)
        )


def _answer_others(
    node_id: int, reports: Sequence[AttemptReport], answers: Answers, boot_id: str, now: datetime
) -> None:
    """Of attempts that are over, or not this node's: an end is noted, anything else must stop."""
    rows = Attempt.objects.filter(
        pk__in=[report.attempt_id for report in reports], parts__node=node_id
    )
    fences = dict(rows.values_list("pk", "fence"))
    for report in reports:
        if report.state is not ReportState.ENDED:
            answers.stale.append(report.ref)
            continue
        answers.acks.append(report.ref)
        if fences.get(report.attempt_id) == report.fence:
            # Given up by us, yet what it drew until it died is its own.
            answers.refused += meters_read(node_id, boot_id, [report], now=now)


def _apply_all(node_id: int, reports: Sequence[AttemptReport], boot_id: str, now: datetime) -> int:
    """Parts that end, or begin to: how many meter readings that came along cannot be true."""
    well = attempts_succeed(node_id, reports, boot_id, now)
    others = [report for report in reports if report.attempt_id not in well.attempt_ids]
    return well.refused + sum(_apply(node_id, report, boot_id, now) for report in others)


@transaction.atomic
def _apply(node_id: int, report: AttemptReport, boot_id: str, now: datetime) -> int:
    """The part has come further: how many meter readings that came along cannot be true."""
    rows = Job.objects.select_for_update(of=("self",))
    job = rows.get(attempt=report.attempt_id)
    attempt = Attempt.objects.select_for_update().get(pk=report.attempt_id)
    parts = list(Part.objects.filter(attempt=attempt).order_by("node_id"))
    part = next(part for part in parts if part.node_id == node_id)
    if attempt.state in OVER or not _stage(part).further(report):
        return 0
    write_progress(node_id, report, now, at_once=True)
    _write_part(part, report, now)
    refused = meters_read(node_id, boot_id, [report], now=now)
    _move(attempt, job, parts, now)
    return refused


def _stage(part: Part) -> Stage:
    return Stage(part.state, part.progress_step, part.checkpoint_step)


def _write_part(part: Part, report: AttemptReport, now: datetime) -> None:
    part.state = Part.State(report.state)
    part.log_bytes_dropped = report.log_bytes_dropped
    if report.state is ReportState.ENDED:
        part.ended_at = now - timedelta(seconds=report.ended_age_s or 0)
        part.end = report.end or ""
        part.exit_code, part.signal = report.exit_code, report.signal
        part.detail = report.detail
        part.out_of_memory, part.failed_rank = report.out_of_memory, report.failed_rank
    part.save(update_fields=_REPORTED)


def _move(attempt: Attempt, job: Job, parts: Sequence[Part], now: datetime) -> None:
    states = {part.state for part in parts}
    if states == {Part.State.ENDED} and _complete(attempt, parts):
        attempt_finish(attempt, job, parts, now=now)
    elif any(part.state == Part.State.ENDED and not part.succeeded for part in parts):
        # A gang runs whole or not at all: when one part fails the others are stopped.
        Attempt.objects.filter(pk=attempt.pk).update(state=Attempt.State.STOPPING)


def _complete(attempt: Attempt, parts: Sequence[Part]) -> bool:
    """Nodes that never fetched their part cannot have one running."""
    nodes = set(attempt.allocation_set.filter(released_at=None).values_list("node_id", flat=True))
    fetched = {part.node_id for part in parts}
    return nodes <= fetched or attempt.state == Attempt.State.STOPPING
