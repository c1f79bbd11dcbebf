"""`arrays`."""

from typing import Annotated

import typer
from msgspec import structs

from fairwatt.cli.ends import say
from fairwatt.cli.session import connected
from fairwatt.cli.show import Column, Json, as_json, facts, rows
from fairwatt.cli.units import clock
from fairwatt.structs.arrays import Array

app = typer.Typer(rich_markup_mode=None)
COLUMNS: list[Column[Array]] = [
    ("ARRAY", lambda each: each.id),
    ("NAME", lambda each: each.name),
    ("JOBS", lambda each: each.size),
    ("TENANT", lambda each: each.tenant),
    ("SUBMITTED", lambda each: clock(each.created_at)),
]


@app.command()
def arrays(
    array_id: Annotated[int | None, typer.Argument(metavar="[ARRAY]", help="One of them.")] = None,
    json: Json = False,
) -> None:
    """List arrays, or say how many jobs of one are in each state."""
    with connected() as client:
        if array_id is None:
            if not rows(client.arrays(), COLUMNS, json=json) and not json:
                say("No arrays. `fairwatt array --size 3 -- true` makes one.")
            return
        found = client.array(array_id)
    if json:
        as_json(found)
        return
    counted = {state: count for state, count in structs.asdict(found.states).items() if count}
    facts([("array", f"{found.id}  {found.name}"), ("jobs", found.size), *counted.items()])
