"""A job on the terminal, from its submit to its end."""

import sys

from fairwatt.cli.ends import INTERRUPTED, say
from fairwatt.feeds.logs import LogChunk
from fairwatt.structs.jobs import Job
from fairwatt.structs.words import JobState
from fairwatt.synchronous import Client

# 128 and SIGTERM: what a shell says of a program that was asked to stop.
CANCELLED = 143


def followed(client: Client, job: Job, *, quiet: bool = False) -> int:
    """Print what it prints, tell how it moves; the code to exit with."""
    if not quiet:
        say(f"job {job.id}: {job.state}")
    last = job
    try:
        for each in client.follow(job.id):
            if isinstance(each, LogChunk):
                printed(each, quiet=quiet)
            else:
                last = told(client, each, last, quiet=quiet)
    except KeyboardInterrupt:
        say(
            f"\nNo longer following; job {job.id} goes on.\n"
            f"`fairwatt logs -f {job.id}` follows it again, `fairwatt cancel {job.id}` stops it."
        )
        return INTERRUPTED
    return exit_code(last)


def printed(chunk: LogChunk, *, quiet: bool = False) -> None:
    """On the stream that it was printed on."""
    stream = sys.stderr if chunk.stream == "stderr" or quiet else sys.stdout
    stream.write(chunk.text)
    stream.flush()


def told(client: Client, job: Job, before: Job, *, quiet: bool) -> Job:
    if not quiet and (job.state, job.reason) != (before.state, before.reason):
        why = f" ({job.reason})" if job.reason not in {job.state, "submitted", "started"} else ""
        say(f"job {job.id}: {job.state}{why}")
    return job


def exit_code(job: Job) -> int:
    if job.state is JobState.SUCCEEDED:
        return 0
    if job.state is JobState.CANCELLED:
        return CANCELLED
    return job.exit_code or 1
