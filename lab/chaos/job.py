"""What the campaign's jobs do: keep a journal of their own, which nobody but the checker reads.

Started by path with nothing but the standard library: `python -I -S job.py SECONDS`. The journal
lies where checkpoints lie, a file per attempt and rank: `start`, `alive` ten times a second, and
`end` or `stopped`. A run without an end is known to have lived until its last line.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

BEAT_S = 0.1
HOME = Path(os.environ["FAIRWATT_CHECKPOINT_DIR"])
ATTEMPT, RANK = os.environ["FAIRWATT_ATTEMPT_ID"], os.environ.get("RANK", "0")


class JobJournal:
    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def write(self, event: str, *, durable: bool = True, **facts: object) -> None:
        at_s = time.clock_gettime(time.CLOCK_BOOTTIME)
        line = {"event": event, "at_s": at_s, "wall_s": time.time(), **facts}
        os.write(self._descriptor, json.dumps(line).encode() + b"\n")
        if durable:
            os.fsync(self._descriptor)


def checkpoint(name: str, done_s: float) -> None:
    draft = HOME / f"{name}.draft"
    draft.write_text(str(done_s))
    draft.replace(HOME / name)
    with Path(os.environ["FAIRWATT_PROGRESS"]).open("a") as progress:
        progress.write(
            json.dumps({"step": int(done_s * 10), "checkpoint": int(done_s * 10)}) + "\n"
        )


def restored_s(name: str) -> float:
    try:
        return float((HOME / name).read_text())
    except (OSError, ValueError):
        return 0.0


def main(seconds: float, *, keeps: bool) -> int:
    journal = JobJournal(HOME / f"journal-{ATTEMPT}-{RANK}.jsonl")
    asked: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: asked.append(number))
    saved = f"saved-{RANK}"
    done_s = restored_s(saved) if keeps else 0.0
    journal.write(
        "start",
        job=int(os.environ["FAIRWATT_JOB_ID"]),
        attempt=int(ATTEMPT),
        rank=int(RANK),
        world=int(os.environ.get("WORLD_SIZE", "1")),
        node=os.environ["FAIRWATT_NODE"],
        gpus=os.environ["CUDA_VISIBLE_DEVICES"].split(","),
        from_s=done_s,
    )
    while done_s < seconds and not asked:
        time.sleep(min(BEAT_S, seconds - done_s))
        done_s += BEAT_S
        journal.write("alive", durable=False)
        if keeps:
            checkpoint(saved, done_s)
    if asked:
        journal.write("stopped")
        return 143
    journal.write("end")
    return 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), keeps="--keeps" in sys.argv))
