"""`events`."""

from collections.abc import Iterator
from itertools import islice
from typing import Annotated

import typer

from fairwatt.cli.ends import say
from fairwatt.cli.jobs import EVENTS, until_interrupted
from fairwatt.cli.session import connected
from fairwatt.cli.show import Column, Json, rows
from fairwatt.cli.units import clock
from fairwatt.structs.jobs import Event, JobEvent
from fairwatt.synchronous import Client

app = typer.Typer(rich_markup_mode=None)
COLUMNS: list[Column[JobEvent]] = [
    ("AT", lambda event: clock(event.at)),
    ("JOB", lambda event: event.job_id),
    ("NAME", lambda event: event.name),
    ("MOVED TO", lambda event: event.to_state),
    ("REASON", lambda event: event.reason),
    ("CLUSTER", lambda event: event.cluster),
    ("TENANT", lambda event: event.tenant),
    ("DETAIL", lambda event: event.detail),
]


@app.command()
def events(
    job_id: Annotated[int | None, typer.Argument(help="One job's; else all jobs'.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as they happen.")] = False,
    state: Annotated[str | None, typer.Option("--state", "-s", help="Moves to it.")] = None,
    label: Annotated[str | None, typer.Option("--label", "-l", help="NAME=VALUE.")] = None,
    array: Annotated[int | None, typer.Option(help="Of one array.")] = None,
    cluster: Annotated[str | None, typer.Option()] = None,
    tenant: Annotated[str | None, typer.Option(help="For operators.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="The newest so many.")] = 25,
    json: Json = False,
) -> None:
    """How jobs moved, oldest first; with -f, as they move."""
    chosen = {"state": state, "label": label, "cluster": cluster, "tenant": tenant}
    with connected() as client:
        if job_id is not None:
            _of_one(client, job_id, follow=follow, json=json)
            return
        found = client.history(**chosen, array=array)
        known = list(islice(found, limit))[::-1]
        if not rows(known, COLUMNS, json=json) and not json and not follow:
            say("No job has moved.")
        if follow:
            after = known[-1].id if known else None
            moves = client.watch(**chosen, array=array, after=after)
            until_interrupted(moves, COLUMNS, json=json)


def _of_one(client: Client, job_id: int, *, follow: bool, json: bool) -> None:
    known = sorted(client.job_events(job_id).items, key=lambda event: event.id)
    rows(known, EVENTS, json=json)
    if follow:
        until_interrupted(_rest(client, job_id, known), EVENTS, json=json)


def _rest(client: Client, job_id: int, known: list[Event]) -> Iterator[Event]:
    return client.events(job_id, after=known[-1].id if known else 0)
