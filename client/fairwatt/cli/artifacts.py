"""`artifacts`."""

from pathlib import Path
from typing import Annotated

import typer

from fairwatt.cli.ends import say
from fairwatt.cli.progress import measured
from fairwatt.cli.session import connected
from fairwatt.cli.show import Json, as_json, put, rows
from fairwatt.errors import FairwattError
from fairwatt.structs.artifacts import Artifact
from fairwatt.synchronous import Client

app = typer.Typer(rich_markup_mode=None)
Into = Annotated[
    Path | None, typer.Option("--download", "-d", metavar="DIR", help="Fetch them into a folder.")
]


@app.command()
def artifacts(
    job_id: int,
    download: Into = None,
    name: Annotated[list[str] | None, typer.Option(help="Only these; repeat it.")] = None,
    json: Json = False,
) -> None:
    """List what a job left behind, or download what its last attempt did.

    fairwatt artifacts 12 --download results
    """
    with connected() as client:
        chosen = [each for each in client.artifacts(job_id) if not name or each.name in name]
        if download is not None:
            _download(client, job_id, _newest(chosen), download, json)
        elif not rows(chosen, COLUMNS, json=json) and not json:
            say(f"Job {job_id} has left nothing behind.")


COLUMNS = (
    ("NAME", lambda each: each.name),
    ("STATE", lambda each: each.state.value),
    ("BYTES", lambda each: each.size),
    ("ATTEMPT", lambda each: each.attempt),
    ("NODE", lambda each: each.node),
    ("DETAIL", lambda each: each.detail),
)


def _newest(found: list[Artifact]) -> list[Artifact]:
    last = max((each.attempt for each in found), default=0)
    return [each for each in found if each.attempt == last]


def _download(client: Client, job_id: int, found: list[Artifact], folder: Path, json: bool) -> None:
    if not found:
        raise FairwattError(
            f"Job {job_id} has left nothing of that kind behind.",
            f"`fairwatt artifacts {job_id}` lists what there is.",
        )
    several = len({each.node for each in found}) > 1
    for each in found:
        # Each node of a gang has its own.
        place = folder / each.node if several else folder
        place.mkdir(parents=True, exist_ok=True)
        with measured(f"downloading {each.name}") as advance:
            path = client.download_artifact(each, place, on_progress=advance)
        as_json({"name": each.name, "path": str(path)}) if json else put(str(path))
