"""What attempts leave behind comes in from their nodes: from where we left off, up to the quota."""

from datetime import datetime

from django.db import IntegrityError, transaction

from agent.wire import ArtifactPart, ArtifactTaken
from jobs.models import Artifact, Attempt
from rest.problems import Conflict, NotFound, Problem, problem_from
from storage.models import Blob, Upload
from storage.uploads import Wanted, part_take, upload_begin

State = Artifact.State
WRONG_OFFSET = "wrong_offset"


def attempt_of(node_id: int, attempt_id: int, fence: int) -> Attempt:
    """An attempt that the node has, or had, a part in; an older fence finds nothing."""
    rows = Attempt.objects.select_related("job__workdir")
    found = rows.filter(pk=attempt_id, fence=fence, parts__node=node_id).first()
    if found is None:
        raise NotFound
    return found


def artifact_take(
    node_id: int,
    attempt: Attempt,
    name: str,
    part: ArtifactPart,
    data: bytes,
    *,
    now: datetime,
) -> ArtifactTaken:
    artifact = _row(node_id, attempt, name, now)
    if artifact.state != State.PENDING:
        return ArtifactTaken(part.size, closed=True, detail=artifact.detail[:200])
    if part.digest is None:
        return _close(artifact, State.MISSING, part.fault)
    wanted = Wanted(attempt.tenant_id, part.digest, part.size)
    try:
        with transaction.atomic():
            begun = upload_begin(wanted, now=now)
        if isinstance(begun, Upload):
            begun = _go_on(begun, part, data, now)
    except (Problem, IntegrityError) as refused:
        return _close(artifact, State.REFUSED, problem_from(refused).text)
    if isinstance(begun, Upload):
        return ArtifactTaken(begun.received)
    return _store(artifact, begun, part)


def _row(node_id: int, attempt: Attempt, name: str, now: datetime) -> Artifact:
    """A node may be faster than the round trip that tells us of the end."""
    paths = {declared["name"]: declared["path"] for declared in attempt.job.artifacts}
    if name not in paths:
        raise NotFound("The job has no artifact of this name.")
    row, _ = Artifact.objects.get_or_create(
        attempt=attempt,
        node_id=node_id,
        name=name,
        defaults={"tenant_id": attempt.tenant_id, "path": paths[name], "created_at": now},
    )
    return row


def _go_on(upload: Upload, part: ArtifactPart, data: bytes, now: datetime) -> Upload | Blob:
    """A part that does not fit where we are is not wrong: the answer says where to go on."""
    try:
        return part_take(upload, part.offset, data, now=now)
    except Conflict as conflict:
        if conflict.code != WRONG_OFFSET:
            raise
        return Upload.objects.get(pk=upload.pk)


def _store(artifact: Artifact, blob: Blob, part: ArtifactPart) -> ArtifactTaken:
    Artifact.objects.filter(pk=artifact.pk, state=State.PENDING).update(
        state=State.STORED, blob=blob, packed=part.packed
    )
    return ArtifactTaken(part.size, closed=True)


def _close(artifact: Artifact, state: State, detail: str) -> ArtifactTaken:
    Artifact.objects.filter(pk=artifact.pk, state=State.PENDING).update(state=state, detail=detail)
    return ArtifactTaken(0, closed=True, detail=detail[:200])
