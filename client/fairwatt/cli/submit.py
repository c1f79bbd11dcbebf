"""`submit`, `run` and `array`."""

from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec import structs

from fairwatt.cli.ends import say
from fairwatt.cli.following import followed
from fairwatt.cli.job_options import spec_of, with_job_flags
from fairwatt.cli.progress import measured, working
from fairwatt.cli.session import connected
from fairwatt.cli.show import Json, as_json, put
from fairwatt.errors import FairwattError, Invalid, Refused
from fairwatt.job_file import JobFile, load
from fairwatt.structs.arrays import ArraySpec
from fairwatt.structs.jobs import Job, JobSpec
from fairwatt.synchronous import Client

app = typer.Typer(rich_markup_mode=None)
FILES = {".yaml", ".yml", ".toml"}
Words = Annotated[
    list[str] | None, typer.Argument(metavar="[FILE | -- PROGRAM ARGS...]", help="What to run.")
]
Folder = Annotated[
    Path | None, typer.Option("--folder", "-C", help="Upload it: the job's working directory.")
]
Key = Annotated[str | None, typer.Option(help="Sending it again with this key makes no second.")]


@app.command()
@with_job_flags
def submit(
    words: Words = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Stay until it is over.")] = False,
    folder: Folder = None,
    key: Key = None,
    json: Json = False,
    *,
    fields: dict[str, Any],
) -> None:
    """Submit a job, from a YAML or TOML file or from flags; flags overrule the file.

    fairwatt submit job.yaml --gpus 4
    fairwatt submit --gpus 1 -- python3 train.py --epochs 90
    """
    with connected() as client:
        job = _submitted(client, words, _with_folder(client, folder, fields), key)
        if json:
            as_json(job)
        elif not follow:
            put(f"job {job.id}  {job.name}  {job.state}")
            say(f"Next: fairwatt why {job.id}   fairwatt logs -f {job.id}")
        if follow:
            raise typer.Exit(followed(client, job, quiet=json))


@app.command()
@with_job_flags
def run(
    words: Words = None, folder: Folder = None, json: Json = False, *, fields: dict[str, Any]
) -> None:
    """Submit, follow what it prints, and end with the job's exit code.

    fairwatt run --gpus 1 -- python3 -c 'print(1)'
    """
    with connected() as client:
        job = _submitted(client, words, _with_folder(client, folder, fields), None)
        code = followed(client, job, quiet=json)
        if json:
            as_json(client.job(job.id))
    raise typer.Exit(code)


@app.command()
@with_job_flags
def array(
    words: Words = None,
    size: Annotated[int, typer.Option(help="How many jobs; each gets its index.")] = 1,
    folder: Folder = None,
    key: Key = None,
    json: Json = False,
    *,
    fields: dict[str, Any],
) -> None:
    """Submit many jobs of one kind as one array: all of them or none.

    fairwatt array --size 100 sweep.yaml
    """
    with connected() as client:
        spec, file = _described(words, _with_folder(client, folder, fields))
        name = spec.name or (Path(spec.argv[-1]).stem if spec.argv else "array")
        whole = ArraySpec(name=name, size=size, job=spec)
        with working(f"submitting {size} jobs"):
            made = _sent(lambda: client.submit_array(whole, key=key), file)
    if json:
        as_json(made)
        return
    put(f"array {made.id}  {made.name}  {made.size} jobs")
    say(f"Next: fairwatt arrays {made.id}   fairwatt ls --array {made.id}")


def _with_folder(client: Client, folder: Path | None, fields: dict[str, Any]) -> dict[str, Any]:
    if folder is None:
        return fields
    with measured(f"uploading {folder}") as advance:
        return {**fields, "workdir": client.upload_folder(folder, on_progress=advance)}


def _submitted(
    client: Client, words: list[str] | None, fields: dict[str, Any], key: str | None
) -> Job:
    spec, file = _described(words, fields)
    job: Job = _sent(lambda: client.submit(spec, key=key), file)
    return job


def _described(words: list[str] | None, fields: dict[str, Any]) -> tuple[JobSpec, JobFile | None]:
    if not words:
        raise FairwattError(
            "There is nothing to run.", "Name a job file, or a program: -- python3 train.py"
        )
    if len(words) == 1 and Path(words[0]).suffix in FILES:
        file = load(Path(words[0]))
        return structs.replace(file.spec, **fields), file
    return spec_of(words, fields), None


def _sent(send: Any, file: JobFile | None) -> Any:
    """What the service refuses of a file is said at the lines of the file."""
    try:
        return send()
    except Refused as error:
        if file is None or not (isinstance(error, Invalid) or error.faults):
            raise
        raise file.refused(error.faults) from error
