"""`cancel`, `hold` and `release`."""

from collections.abc import Callable
from typing import Annotated

import typer

from fairwatt.cli.session import connected
from fairwatt.cli.show import Json, as_json, put
from fairwatt.errors import FairwattError
from fairwatt.structs.jobs import Job

app = typer.Typer(rich_markup_mode=None)
Ids = Annotated[list[int], typer.Argument(metavar="JOB...", help="Their numbers.")]
MaybeIds = Annotated[list[int] | None, typer.Argument(metavar="[JOB...]", help="Their numbers.")]


@app.command()
def cancel(
    job_ids: MaybeIds = None,
    array: Annotated[int | None, typer.Option(help="All of an array.")] = None,
    label: Annotated[str | None, typer.Option("--label", "-l", help="All with NAME=VALUE.")] = None,
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
def hold(job_ids: Ids, json: Json = False) -> None:
    """Keep queued jobs from starting."""
    with connected() as client:
        _each(job_ids, client.hold, json)


@app.command()
def release(job_ids: Ids, json: Json = False) -> None:
    """Let held jobs start."""
    with connected() as client:
        _each(job_ids, client.release, json)


def _each(job_ids: list[int], act: Callable[[int], Job], json: bool) -> None:
    for job_id in job_ids:
        job = act(job_id)
        held = ", held" if job.held else ""
        as_json(job) if json else put(f"job {job.id}  {job.state}{held} ({job.reason})")
