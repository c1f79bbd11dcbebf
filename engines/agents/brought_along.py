"""What an attempt brings to its node, apart from values that nobody may see."""

from datetime import timedelta

from django.db.models import F, Sum

from agent.wire import Archive, ArchiveFormat, ArtifactPath, GitCommit, Mount, Workdir
from clusters.models import Volume
from clusters.selectors import open_to
from jobs.models import Attempt, Job

# Where the time is up before an attempt begins, it is told the shortest that there is.
SHORTEST_S = 1.0


def workdir_of(job: Job) -> Workdir | None:
    if job.git_url is not None and job.git_commit is not None:
        return Workdir(git=GitCommit(job.git_url, job.git_commit))
    if job.workdir is None:
        return None
    blob = job.workdir
    return Workdir(archive=Archive(blob.digest, blob.size, ArchiveFormat(blob.format)))


def volumes_of(job: Job) -> dict[str, Volume]:
    """Those of the volumes it names that its tenant may still mount."""
    if not job.mounts:
        return {}
    names = [mount["volume"] for mount in job.mounts]
    rows = Volume.objects.filter(open_to(job.tenant_id), cluster=job.cluster_id, name__in=names)
    return {row.name: row for row in rows}


def mounts_of(job: Job) -> tuple[Mount, ...]:
    volumes = volumes_of(job)
    return tuple(
        Mount(
            name=mount["volume"],
            path=volumes[mount["volume"]].path,
            target=mount["target"],
            read_only=mount["read_only"] or volumes[mount["volume"]].read_only,
        )
        for mount in job.mounts
        if mount["volume"] in volumes
    )


def artifact_paths(job: Job) -> tuple[ArtifactPath, ...]:
    return tuple(ArtifactPath(each["name"], each["path"]) for each in job.artifacts)


def time_left_s(attempt: Attempt) -> float | None:
    """The limit is for all attempts together; waiting between them does not count."""
    limit_s = attempt.job.time_limit_s
    if limit_s is None:
        return None
    earlier = Attempt.objects.filter(job=attempt.job_id, started_at__isnull=False)
    ran = earlier.exclude(pk=attempt.pk).aggregate(ran=Sum(F("ended_at") - F("started_at")))["ran"]
    return max(SHORTEST_S, limit_s - (ran or timedelta()).total_seconds())
