"""`ls` and `show`."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Annotated, TypeVar

import typer

from fairwatt.cli.ends import INTERRUPTED, say
from fairwatt.cli.session import connected
from fairwatt.cli.show import Column, Json, as_json, facts, put, rows
from fairwatt.cli.units import ago, clock, duration, now
from fairwatt.structs.attempts import Attempt
from fairwatt.structs.jobs import Event, Job
from fairwatt.synchronous import Client

T = TypeVar("T")
# Moves before the newest that a watch begins with: one of them may have been written late.
OVERLAP = 25

app = typer.Typer(rich_markup_mode=None)


def job_columns(at: datetime) -> list[Column[Job]]:
    return [
        ("JOB", lambda job: job.id),
        ("NAME", lambda job: job.name),
        ("STATE", lambda job: "held" if job.held and job.state == "queued" else job.state),
        ("REASON", lambda job: job.reason),
        ("GPUS", gpus_of),
        ("CLUSTER", lambda job: job.cluster),
        ("SUBMITTED", lambda job: ago(job.submitted_at, at)),
        ("RAN", lambda job: ran(job, at)),
    ]


def gpus_of(job: Job) -> str:
    if job.min_gpus == job.max_gpus:
        return str(job.max_gpus)
    return f"{job.min_gpus}-{job.max_gpus}"


def ran(job: Job, at: datetime) -> str | None:
    if job.started_at is None:
        return None
    return duration(((job.ended_at or at) - job.started_at).total_seconds())


@app.command()
def ls(
    state: Annotated[str | None, typer.Option("--state", "-s", help="queued, running …")] = None,
    name: Annotated[str | None, typer.Option()] = None,
    label: Annotated[str | None, typer.Option("--label", "-l", help="NAME=VALUE.")] = None,
    array: Annotated[int | None, typer.Option(help="Of one array.")] = None,
    cluster: Annotated[str | None, typer.Option()] = None,
    limit: Annotated[int | None, typer.Option("--limit", "-n", help="The newest so many.")] = None,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Go on with every job that moves.")
    ] = False,
    json: Json = False,
) -> None:
    """List jobs, newest first, as they come."""
    chosen = {"state": state, "label": label, "array": array, "cluster": cluster}
    with connected() as client:
        after = before_the_newest(client) if watch else 0
        found = client.jobs(**chosen, name=name, ordering="-id")  # type: ignore[arg-type]
        listed: dict[int, int] = {}
        listed_now = _noted(islice(found, limit), listed)
        if not rows(listed_now, job_columns(now()), json=json) and not json and not watch:
            say("No jobs. `fairwatt run -- python3 -c 'print(1)'` makes one.")
        if watch:
            moves = client.watch(**chosen, after=after)  # type: ignore[arg-type]
            wanted = (move for move in moves if name in {None, move.name})
            moved = (client.job(move.job_id) for move in wanted)
            until_interrupted(_changed(moved, listed), job_columns(now()), json=json)


def before_the_newest(client: Client) -> int:
    """A place to watch from: what is told twice is seen by the job's version, nothing is missed."""
    newest = list(islice(client.history(), OVERLAP))
    return newest[-1].id - 1 if newest else 0


def _noted(jobs: Iterable[Job], listed: dict[int, int]) -> Iterator[Job]:
    for job in jobs:
        listed[job.id] = job.version
        yield job


def _changed(jobs: Iterable[Job], listed: dict[int, int]) -> Iterator[Job]:
    return _noted((job for job in jobs if listed.get(job.id, 0) < job.version), listed)


def until_interrupted(items: Iterable[T], columns: Sequence[Column[T]], *, json: bool) -> None:
    """Print each as it comes, after what was printed before; Ctrl-C is how it ends."""
    try:
        sys.stdout.flush()
        for item in items:
            rows([item], columns, json=json, heading=False)
            sys.stdout.flush()
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


@app.command()
def show(job_id: int, json: Json = False) -> None:
    """Show one job, its moves and its attempts."""
    with connected() as client:
        job = client.job(job_id)
        attempts = sorted(client.attempts(job_id), key=lambda attempt: attempt.number)
        events = client.job_events(job_id).items
    if json:
        as_json({"job": job, "attempts": attempts, "events": events})
        return
    at = now()
    facts(
        [
            ("job", f"{job.id}  {job.name}"),
            ("state", job.state),
            ("reason", job.reason),
            ("tenant", job.tenant),
            ("cluster", job.cluster + (f" / {job.partition}" if job.partition else "")),
            ("program", " ".join(job.argv)),
            ("gpus", f"{gpus_of(job)} {' or '.join(job.gpu_types)}".strip()),
            ("per gpu", _per_gpu(job)),
            ("labels", ", ".join(f"{key}={value}" for key, value in job.labels.items())),
            ("deadline", clock(job.deadline_at)),
            ("estimate", duration(job.estimated_run_s) if job.estimated_run_s else None),
            ("progress", _progress(job)),
            ("waits for", ", ".join(str(d.job) for d in job.depends_on if d.met_at is None)),
        ]
    )
    put()
    rows(sorted(events, key=lambda event: event.id), EVENTS, json=False)
    if attempts:
        put()
        rows(attempts, attempt_columns(at), json=False)


EVENTS: list[Column[Event]] = [
    ("AT", lambda event: clock(event.at)),
    ("MOVED TO", lambda event: event.to_state),
    ("REASON", lambda event: event.reason),
    ("DETAIL", lambda event: event.detail),
]


def attempt_columns(at: datetime) -> list[Column[Attempt]]:
    return [
        ("ATTEMPT", lambda each: each.number),
        ("STATE", lambda each: each.state),
        ("REASON", lambda each: each.reason),
        ("GPUS", lambda each: each.gpus),
        ("STARTED", lambda each: ago(each.started_at, at)),
        ("ENDED", lambda each: ago(each.ended_at, at)),
    ]


def _per_gpu(job: Job) -> str:
    memory = job.memory_mib_per_gpu
    asked = "its share of the node's memory" if memory is None else f"{memory} MiB"
    return f"{job.cpus_per_gpu} CPUs, {asked}"


def _progress(job: Job) -> str | None:
    if not job.work_done:
        return None
    of = f" of {job.work_total:g}" if job.work_total else ""
    return f"step {job.work_done:g}{of}"
