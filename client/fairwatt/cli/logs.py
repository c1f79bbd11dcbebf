"""`logs`."""

from typing import Annotated

import typer

from fairwatt.cli.ends import INTERRUPTED, say
from fairwatt.cli.following import printed
from fairwatt.cli.session import connected
from fairwatt.cli.show import Json, as_json

app = typer.Typer(rich_markup_mode=None)


@app.command()
def logs(
    job_id: int,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Until it is over.")] = False,
    stream: Annotated[str | None, typer.Option(help="Only stdout, or only stderr.")] = None,
    json: Json = False,
) -> None:
    """Print what a job printed, on the streams that it was printed on; all attempts, in order."""
    with connected() as client:
        client.job(job_id)
        count = 0
        try:
            for chunk in client.logs(job_id, follow=follow, streams=[stream] if stream else ()):
                count += 1
                as_json(chunk) if json else printed(chunk)
        except KeyboardInterrupt:
            say(f"\nNo longer following; job {job_id} goes on.")
            raise typer.Exit(INTERRUPTED) from None
        if not count and not json:
            say(f"Job {job_id} has printed nothing yet. `fairwatt why {job_id}` says where it is.")
