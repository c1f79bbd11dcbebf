"""What became of a job that is over, in one sentence and in fields."""

import signal
from dataclasses import dataclass

from jobs.lifecycle import State
from jobs.logs import page
from jobs.models import Artifact, Attempt, Job, JobDependency, Log, Part

_TAIL_BYTES = 4096
_LONGEST_LINE = 300
_NODE_FAULTS = {
    "node_lost": "its node fell silent",
    "lease_lost": "its node lost touch with the service",
    "node_rebooted": "its node started anew",
    "shim_lost": "somebody killed it from outside",
}


@dataclass(frozen=True, slots=True)
class JobEnd:
    """Of the last attempt, and of the job whose end ended this one."""

    attempt: int | None = None
    node: str | None = None
    exit_code: int | None = None
    signal: int | None = None
    out_of_memory: bool = False
    stderr: str = ""
    parent_id: int | None = None
    text: str = ""


def job_end(job: Job) -> JobEnd:
    attempt = Attempt.objects.filter(job=job.pk).order_by("-number").first()
    if attempt is None:
        parent = _parent(job)
        parent_id = None if parent is None else parent.pk
        return JobEnd(parent_id=parent_id, text=_never_ran(job, parent))
    part = _part(attempt)
    said = _last_line(attempt, part)
    return JobEnd(
        attempt=attempt.number,
        node=part.node.name if part else None,
        exit_code=attempt.exit_code,
        signal=attempt.signal,
        out_of_memory=attempt.out_of_memory,
        stderr=said,
        text=_sentence(job, attempt, part, said) + _artifacts(job, attempt),
    )


def _part(attempt: Attempt) -> Part | None:
    """Of the node that spoke for the attempt when it ended."""
    rows = Part.objects.filter(attempt=attempt.pk).select_related("node")
    parts = list(rows.order_by("node_id"))
    same = [
        part
        for part in parts
        if (part.exit_code, part.signal, part.detail)
        == (attempt.exit_code, attempt.signal, attempt.detail)
    ]
    return next(iter(same or parts), None)


def _last_line(attempt: Attempt, part: Part | None) -> str:
    if part is None or attempt.exit_code == 0:
        return ""
    logs = Log.objects.filter(attempt=attempt.pk, node=part.node_id, stream="stderr", size__gt=0)
    rank = -1 if part.failed_rank is None else part.failed_rank
    log = logs.filter(rank__in=(-1, rank)).order_by("-rank").first()
    if log is None:
        return ""
    text = page(log, offset=max(0, log.size - _TAIL_BYTES), limit=_TAIL_BYTES).text
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:_LONGEST_LINE] if lines else ""


def _sentence(job: Job, attempt: Attempt, part: Part | None, said: str) -> str:
    if job.state == State.SUCCEEDED:
        return "It has ended well."
    if job.state == State.CANCELLED:
        return "It was cancelled."
    happened = _happened(job, attempt, part)
    tries = f" It was tried {job.retries + 1} times." if job.retries else ""
    last = f" The last line it wrote to stderr: {said}" if said else ""
    return f"{happened}{tries}{last}"


def _happened(job: Job, attempt: Attempt, part: Part | None) -> str:
    where = f" on {part.node.name}" if part else ""
    told = {
        "time_limit": f"It ran for as long as its time limit of {job.time_limit_s} s allows.",
        "out_of_memory": f"It needed more memory than it had{where}; "
        "ask for more with memory_mib_per_gpu.",
        "input_failed": f"What it brings along could not be used{where}: {attempt.detail}.",
        "refused": f"Its nodes refused to run it; the last one said{where}: {attempt.detail}.",
    }
    if job.reason in told:
        return told[job.reason]
    if job.reason in _NODE_FAULTS:
        return f"It could not be started again after {_NODE_FAULTS[job.reason]}."
    if attempt.signal is not None:
        return f"It was killed by {_signal_name(attempt.signal)}{where}."
    if attempt.exit_code is not None:
        return f"Its program ended with exit code {attempt.exit_code}{where}."
    return f"It has failed: {attempt.detail or job.reason}."


def _artifacts(job: Job, attempt: Attempt) -> str:
    """What it should have left behind and is not there, or not yet."""
    if not job.artifacts:
        return ""
    missed = Artifact.objects.filter(attempt=attempt.pk).exclude(state=Artifact.State.STORED)
    rows = missed.select_related("node").order_by("name", "node_id")
    return "".join(_missed(artifact) for artifact in rows)


def _missed(artifact: Artifact) -> str:
    if artifact.state == Artifact.State.PENDING:
        return f" Its artifact {artifact.name} is on its way from {artifact.node.name}."
    why = artifact.detail.rstrip(".")
    return f" Its artifact {artifact.name} was not kept from {artifact.node.name}: {why}."


def _never_ran(job: Job, parent: Job | None) -> str:
    if parent is not None:
        outcome = "failed" if parent.state == State.FAILED else "was cancelled"
        return f"It was cancelled because job {parent.pk}, which it depends on, {outcome}."
    return "It was cancelled before it ran." if job.state == State.CANCELLED else "It has failed."


def _parent(job: Job) -> Job | None:
    """The first of those it waited for that did not succeed."""
    if job.reason != "dependency_failed":
        return None
    links = JobDependency.objects.filter(job=job.pk, kind=JobDependency.Kind.SUCCEEDED)
    ended = links.filter(on_job__state__in=(State.FAILED, State.CANCELLED))
    found = ended.select_related("on_job").order_by("on_job_id").first()
    return found.on_job if found else None


def _signal_name(number: int) -> str:
    try:
        return f"{signal.Signals(number).name} (signal {number})"
    except ValueError:
        return f"signal {number}"
