"""Records a walk through the command `fairwatt`, as it is typed and as it answers.

    FAIRWATT_URL=… FAIRWATT_TOKEN=… python3 examples/walk.py > docs/client-walk.md

On what `make up` started; nothing in the page is typed by hand.
"""

import json
import os
import shlex
import subprocess
import sys
import time
from typing import Any

TRAIN = "import time; print('epoch 1', flush=True); time.sleep(3); print('epoch 2')"
WALK = (
    ("Five GPUs more than there are: why does it wait?", "submit --name big --gpus 37 -- true"),
    ("", "why {job}"),
    ("", "cancel {job}"),
    ("A job that runs: its log as it comes, its exit code as our own.",
     f"run --name small --gpus 1 -- python3 -c {shlex.quote(TRAIN)}"),
    ("What became of it, where, and what it cost.", "show {job}"),
    ("", "logs {job}"),
    ("", "cost {job}"),
    ("The newest jobs, the machines, and all on one screen.", "ls --limit 5"),
    ("", "nodes"),
    ("", "top --once"),
    ("A mistake gets a sentence and the next step.", "why 999999999"),
)  # fmt: skip
WORKED, NO_SUCH_JOB = 0, 5


def main() -> int:
    _say("# A walk through the command\n")
    _say("Recorded by `examples/walk.py` on what `make up` started.")
    job = ""
    for why, words in WALK:
        if why:
            _say(f"\n## {why}\n")
        if words.startswith("why {job}"):
            _considered(job)
        shown = words.format(job=job)
        code = _step(shown)
        if code not in {WORKED, NO_SUCH_JOB}:
            sys.stderr.write(f"fairwatt {shown} ended with {code}\n")
            return 1
        job = _newest_job()
    return 0


def _step(words: str) -> int:
    done = subprocess.run(  # noqa: S603 - the words are this file's
        [_program(), *shlex.split(words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    _say(f"```\n$ fairwatt {words}\n{done.stdout.rstrip()}\n```")
    return done.returncode


def _considered(job: str) -> None:
    """A round comes every few seconds; before it there is nothing to tell."""
    while _answer("why", job)["explanation"]["reason"] == "not_considered":
        time.sleep(0.5)


def _newest_job() -> str:
    return str(_answer("ls", "--limit", "1")["id"])


def _answer(*words: str) -> dict[str, Any]:
    command = [_program(), *words, "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)  # noqa: S603
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _program() -> str:
    return os.environ.get("FAIRWATT_COMMAND", "fairwatt")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
