"""`cancel`, `hold` and `release`."""

from collections.abc import Callable
from typing import Annotated

import typer

from fairwatt.cli.ends import say
from fairwatt.cli.session import connected
from fairwatt.cli.show import Json, as_json, put
from fairwatt.errors import FairwattError
from fairwatt.structs.jobs import Job
from fairwatt.structs.words import JobState
from fairwatt.synchronous import Client

app = typer.Typer(rich_markup_mode=None)
MaybeIds = Annotated[list[int] | None, typer.Argument(metavar="[JOB...]", help="Their numbers.")]
OfArray = Annotated[int | None, typer.Option(help="All of an array.")]
WithLabel = Annotated[str | None, typer.Option("--label", "-l", help="All with NAME=VALUE.")]


@app.command()
def cancel(
    job_ids: MaybeIds = None,
    array: OfArray = None,
    label: WithLabel = None,
    state: Annotated[str | None, typer.Option("--state", "-s", help="All in a state.")] = None,
    name: Annotated[str | None, typer.Option(help="All of that name.")] = None,
    json: Json = False,
) -> None:
    """Cancel jobs: those that wait at once, those that run as soon as they have stopped."""
    filters = {"array": array, "label": label, "state": state, "name": name}
    chosen = any(value is not None for value in filters.values())
    if bool(job_ids) == chosen:
        raise FairwattError(
            "Name the jobs to cancel, or a filter, not both.",
            "Such as `fairwatt cancel 12 13`, or `fairwatt cancel --label team=vision`.",
        )
    with connected() as client:
        if job_ids:
            _each(job_ids, client.cancel, json)
            return
        done = client.cancel_many(array=array, label=label, state=state, name=name)
    as_json(done) if json else put(f"cancelled {done.cancelled}, asked to stop {done.stopping}")


@app.command()
def hold(
    job_ids: MaybeIds = None,
    array: OfArray = None,
    label: WithLabel = None,
    json: Json = False,
) -> None:
    """Keep queued jobs from starting."""
    with connected() as client:
        _each(_queued(client, job_ids, array, label, held=False), client.hold, json)


@app.command()
def release(
    job_ids: MaybeIds = None,
    array: OfArray = None,
    label: WithLabel = None,
    json: Json = False,
) -> None:
    """Let held jobs start."""
    with connected() as client:
        _each(_queued(client, job_ids, array, label, held=True), client.release, json)


def _queued(
    client: Client, job_ids: list[int] | None, array: int | None, label: str | None, *, held: bool
) -> list[int]:
    """The jobs that were named, or all that wait and fit the filter."""
    if bool(job_ids) == (array is not None or label is not None):
        raise FairwattError(
            "Name the jobs, or a filter, not both.", "Such as `12 13`, or `--label team=vision`."
        )
    if job_ids:
        return job_ids
    found = client.jobs(state=JobState.QUEUED, array=array, label=label)
    chosen = [job.id for job in found if job.held is held]
    if not chosen:
        say("No queued job fits.")
    return chosen


def _each(job_ids: list[int], act: Callable[[int], Job], json: bool) -> None:
    for job_id in job_ids:
        job = act(job_id)
        held = ", held" if job.held else ""
        as_json(job) if json else put(f"job {job.id}  {job.state}{held} ({job.reason})")
