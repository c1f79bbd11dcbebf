"""Progress and checkpoints for a training script: copy this one file beside it.

Without Fairwatt the same script runs all the same; it then keeps its checkpoint where it stands.
"""

import json
import os
import signal
import time
from pathlib import Path
from types import FrameType
from typing import Any

CHECKPOINTS = Path(os.environ.get("FAIRWATT_CHECKPOINT_DIR", "."))
_PROGRESS = os.environ.get("FAIRWATT_PROGRESS")
_stop_asked = False


def report(**facts: int | float) -> None:
    """Append one line; a line is written in one piece, so that readers never see half of it.

    With the boot clock, so that a speed measured from these lines is exact.
    """
    if _PROGRESS:
        said = {**facts, "boot_s": time.clock_gettime(time.CLOCK_BOOTTIME)}
        with Path(_PROGRESS).open("a") as file:
            file.write(json.dumps(said) + "\n")


def save(state: dict[str, Any], name: str = "checkpoint.json") -> None:
    """Replace the checkpoint in one step: a kill in between leaves the earlier one whole."""
    draft = CHECKPOINTS / f"{name}.draft"
    with draft.open("w") as file:
        json.dump(state, file)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(CHECKPOINTS / name)
    report(checkpoint=state["step"])


def restore(start: dict[str, Any], name: str = "checkpoint.json") -> dict[str, Any]:
    """The last checkpoint, or `start` if there is none yet."""
    try:
        state: dict[str, Any] = json.loads((CHECKPOINTS / name).read_text())
    except FileNotFoundError:
        return start
    return state


def cpus() -> int:
    """How many CPUs there are to use now: the scheduler may change them while the job runs."""
    told = os.environ.get("FAIRWATT_CPUS_FILE")
    return int(Path(told).read_text() or 1) if told else len(os.sched_getaffinity(0))


def stop_asked() -> bool:
    """Whether the scheduler wants the GPUs back: save and leave within the grace."""
    return _stop_asked


def _ask(_number: int, _frame: FrameType | None) -> None:
    global _stop_asked  # noqa: PLW0603 - a signal handler has nowhere else to leave word
    _stop_asked = True


signal.signal(signal.SIGTERM, _ask)
