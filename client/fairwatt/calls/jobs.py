"""Jobs: submit, read, change, cancel."""

from collections.abc import Sequence
from pathlib import PurePath

from msgspec import structs

from fairwatt.call import Call, Flow, Stream, get, patch, post
from fairwatt.calls.clusters import the_cluster
from fairwatt.operation import Asker, operation, procedure, stream
from fairwatt.pages import Page, all_pages
from fairwatt.structs.attempts import Attempt, AttemptDetail
from fairwatt.structs.bulk import BulkItem, BulkResult
from fairwatt.structs.explanations import Explanation
from fairwatt.structs.jobs import Cancelled, Job, JobDetail, JobPatch, JobSpec

BULK = 2000


class JobCalls(Asker):
    @procedure
    def submit(self, spec: JobSpec, *, key: str | None = None) -> Flow[Job]:
        """Submit a job. With a `key` of yours, submitting it again gives the same job.

        >>> job = client.submit(fairwatt.JobSpec(argv=["python3", "-c", "print(1)"], gpus=1))
        >>> job.state
        <JobState.QUEUED: 'queued'>
        """
        full = yield from completed(self, spec)
        return (yield from self.ask(post("jobs/", Job, full, key=key)))

    @procedure
    def submit_many(self, specs: Sequence[JobSpec], *, key: str | None = None) -> Flow[BulkResult]:
        """Submit many; each is taken or refused on its own.

        >>> specs = [fairwatt.JobSpec(argv=["true"], name=f"sweep-{n}") for n in range(3)]
        >>> client.submit_many(specs).stored
        3
        """
        items: list[BulkItem] = []
        for start in range(0, len(specs), BULK):
            batch = yield from _completed_all(self, specs[start : start + BULK])
            own = f"{key}-{start}" if key else None
            done = yield from self.ask(post("jobs/bulk/", BulkResult, {"jobs": batch}, key=own))
            items += [structs.replace(item, index=start + item.index) for item in done.items]
        stored = sum(item.id is not None for item in items)
        return BulkResult(stored=stored, refused=len(items) - stored, items=items)

    @operation
    def job(self, job_id: int) -> Call[JobDetail]:
        """One job, with what it waits for.

        >>> client.job(job.id).name
        'python3'
        """
        return get(f"jobs/{job_id}/", JobDetail)

    @stream
    def jobs(
        self,
        *,
        state: str | None = None,
        cluster: str | None = None,
        tenant: str | None = None,
        name: str | None = None,
        array: int | None = None,
        label: str | None = None,
        ordering: str | None = None,
    ) -> Stream[Job]:
        """All jobs, page after page; `label="team=vision"`, `ordering="-submitted_at"`.

        >>> newest = next(client.jobs(ordering="-id"))
        """
        query = {
            "state": state,
            "cluster": cluster,
            "tenant": tenant,
            "name": name,
            "array": array,
            "label": label,
            "ordering": ordering,
        }
        return all_pages(self.rules, "jobs/", Page[Job], query)

    @operation
    def change(self, job_id: int, changes: JobPatch) -> Call[Job]:
        """Change a queued job: its priority, deadline, tardiness price or estimates.

        >>> client.change(held.id, fairwatt.JobPatch(priority=80)).priority
        80
        """
        return patch(f"jobs/{job_id}/", Job, changes, version=None)

    @operation
    def hold(self, job_id: int) -> Call[Job]:
        """Keep a queued job from starting.

        >>> client.hold(held.id).held
        True
        """
        return post(f"jobs/{job_id}/hold/", Job)

    @operation
    def release(self, job_id: int) -> Call[Job]:
        """Let a held job start.

        >>> client.release(held.id).held
        False
        """
        return post(f"jobs/{job_id}/release/", Job)

    @operation
    def cancel(self, job_id: int, *, key: str | None = None) -> Call[Job]:
        """Cancel a job: at once if it waits, otherwise as soon as its program has stopped.

        >>> client.cancel(held.id).state
        <JobState.CANCELLED: 'cancelled'>
        """
        return post(f"jobs/{job_id}/cancel/", Job, key=key)

    @operation
    def cancel_many(
        self,
        *,
        state: str | None = None,
        cluster: str | None = None,
        name: str | None = None,
        array: int | None = None,
        label: str | None = None,
    ) -> Call[Cancelled]:
        """Cancel all that `jobs` would list with the same filters; one at least is needed.

        >>> client.cancel_many(label="team=nobody").cancelled
        0
        """
        return post(
            "jobs/cancel/",
            Cancelled,
            state=state,
            cluster=cluster,
            name=name,
            array=array,
            label=label,
        )

    @operation
    def explain(self, job_id: int) -> Call[Explanation]:
        """Why it is where it is: reason, evidence, remedies, and when it is expected to start.

        >>> client.explain(waiting.id).remedies[0].action
        'reduce_gpus'
        """
        return get(f"jobs/{job_id}/explain/", Explanation)

    @stream
    def attempts(self, job_id: int) -> Stream[Attempt]:
        """The tries at a job.

        >>> [attempt.number for attempt in client.attempts(done.id)]
        [1]
        """
        return all_pages(self.rules, "attempts/", Page[Attempt], {"job": job_id})

    @operation
    def attempt(self, attempt_id: int) -> Call[AttemptDetail]:
        """One try, with the GPUs it holds or held.

        >>> attempt = next(client.attempts(done.id))
        >>> len(client.attempt(attempt.id).allocations)
        1
        """
        return get(f"attempts/{attempt_id}/", AttemptDetail)


def completed(asker: Asker, spec: JobSpec) -> Flow[JobSpec]:
    """With a name and a cluster, which the service wants and a person need not type."""
    cluster = spec.cluster or (yield from the_cluster(asker))
    return structs.replace(spec, cluster=cluster, name=spec.name or name_of(spec.argv))


def _completed_all(asker: Asker, specs: Sequence[JobSpec]) -> Flow[list[JobSpec]]:
    done: list[JobSpec] = []
    for spec in specs:
        done += [(yield from completed(asker, spec))]
    return done


def name_of(argv: Sequence[str]) -> str:
    """Of the script, if there is one: `train` for `python3 -u train.py`."""
    scripts = [word for word in argv[1:] if PurePath(word).suffix in {".py", ".sh"}]
    return PurePath(scripts[0]).stem if scripts else PurePath(argv[0]).name if argv else ""
