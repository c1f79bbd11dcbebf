"""What attempts leave behind: expected when they end, stored as their nodes send it, forgotten."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from agent.wire import End
from jobs.lifecycle import TERMINAL
from jobs.models import Artifact, Attempt, Job, Part
from storage.blobs import blobs_delete
from storage.models import Blob
from tenancy import audit
from tenancy.callers import Caller
from tenancy.selectors import visible

# Ends after which there is something to send; a stopped attempt goes on elsewhere.
KEPT_ENDS = (End.EXITED, End.TIME_LIMIT)
# A node that has sent nothing for so long after the end never will.
PATIENCE = timedelta(days=1)
_BATCH = 200


def artifacts(caller: Caller, job: Job) -> QuerySet[Artifact]:
    """The newest attempt first."""
    rows = visible(Artifact.objects.filter(attempt__job=job, tenant=job.tenant_id), caller)
    return _named(rows)


def all_artifacts(caller: Caller) -> QuerySet[Artifact]:
    return _named(visible(Artifact.objects.all(), caller))


def _named(rows: QuerySet[Artifact]) -> QuerySet[Artifact]:
    return rows.select_related("blob").annotate(
        number=F("attempt__number"), job_id=F("attempt__job_id"), node_name=F("node__name")
    )


def artifacts_expect(attempt: Attempt, job: Job, parts: Sequence[Part], *, now: datetime) -> None:
    """So that whoever asks sees what is still on its way."""
    Artifact.objects.bulk_create(
        [
            Artifact(
                tenant_id=attempt.tenant_id,
                attempt=attempt,
                node_id=part.node_id,
                name=declared["name"],
                path=declared["path"],
                created_at=now,
            )
            for part in parts
            if part.end in KEPT_ENDS
            for declared in job.artifacts
        ],
        ignore_conflicts=True,
    )


@transaction.atomic
def artifact_delete(caller: Caller, artifact: Artifact) -> None:
    """Its bytes go with it, unless something else has the same."""
    said = {"name": artifact.name, "attempt": artifact.attempt_id}
    audit.record(caller, "artifact.delete", artifact, said, tenant_id=artifact.tenant_id)
    Artifact.objects.filter(pk=artifact.pk).delete()
    if artifact.blob_id is not None:
        blobs_delete(_unused(Blob.objects.filter(pk=artifact.blob_id, format="")))


def artifacts_forget(*, now: datetime) -> int:
    """Those that are too old, and those that never came."""
    Artifact.objects.filter(state=Artifact.State.PENDING, created_at__lt=now - PATIENCE).update(
        state=Artifact.State.MISSING, detail="the node never sent it"
    )
    old = Artifact.objects.filter(created_at__lt=now - timedelta(days=settings.ARTIFACTS_KEEP_DAYS))
    ids = list(old.order_by("pk").values_list("pk", flat=True)[:_BATCH])
    gone, _ = Artifact.objects.filter(pk__in=ids).delete()
    return gone


def blobs_collect(*, now: datetime) -> int:
    """Bytes that neither an artifact nor a job refers to, once nobody has used them for long."""
    kept = timedelta(days=settings.ARCHIVES_KEEP_DAYS)
    archives = Q(used_at__lt=now - kept)
    left_behind = Q(format="", used_at__lt=now - PATIENCE)
    return blobs_delete(_unused(Blob.objects.filter(archives | left_behind)))


def _unused(rows: QuerySet[Blob]) -> list[int]:
    """An ended job no longer needs its archive; one that may start again does."""
    artifact = Artifact.objects.filter(blob=OuterRef("pk"))
    job = Job.objects.filter(workdir=OuterRef("pk"), tenant=OuterRef("tenant")).exclude(
        state__in=TERMINAL
    )
    free = rows.filter(~Exists(artifact), ~Exists(job))
    return list(free.order_by("pk").values_list("pk", flat=True)[:_BATCH])
