"""For programs that run as jobs: progress, checkpoints, and the wish to have the GPUs back.

Outside Fairwatt the same program runs all the same: nothing is reported, and the checkpoint lies
in the current directory. Only the standard library is imported here.
"""

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

_asked = threading.Event()
_callbacks: list[Callable[[], object]] = []


def job_id() -> int | None:
    """The id of the job that this process is a part of; None outside Fairwatt.

    >>> fairwatt.job_id()
    12
    """
    told = os.environ.get("FAIRWATT_JOB_ID")
    return int(told) if told else None


def progress(step: int, **facts: float) -> None:
    """Say that `step` steps are done: forecasts, profiles and bills become better by it.

    `busy=0.8` tells an emulated GPU for what share of the time it computes.

    >>> fairwatt.progress(120)
    >>> fairwatt.progress(240, busy=0.8)
    """
    _append({"step": step, **facts})


def checkpoint(state: Any = None, *, step: int, name: str = "checkpoint.json") -> Path:
    """Say that a checkpoint of `step` is safe; with `state`, write it first, whole or not at all.

    Frameworks that write their own files call it without `state`, after the file is complete.

    >>> path = fairwatt.checkpoint({"step": 240, "weights": [0.5]}, step=240)
    >>> fairwatt.restore(default=None)["step"]
    240
    """
    path = checkpoint_dir() / name
    if state is not None:
        _replace(path, json.dumps(state))
    _append({"checkpoint": step})
    return path


def restore(*, default: Any, name: str = "checkpoint.json") -> Any:
    """The state that `checkpoint` wrote last, in this attempt or an earlier one.

    >>> state = fairwatt.restore(default={"step": 0})
    """
    try:
        return json.loads((checkpoint_dir() / name).read_text())
    except FileNotFoundError:
        return default


def checkpoint_dir() -> Path:
    """Where checkpoints belong: the same directory for every attempt of a job.

    >>> model_file = fairwatt.checkpoint_dir() / "model.pt"
    """
    return Path(os.environ.get("FAIRWATT_CHECKPOINT_DIR") or ".")


def cpus() -> int:
    """How many CPUs there are to use now: the scheduler may change them while the job runs.

    >>> workers = max(1, fairwatt.cpus() - 1)
    """
    told = os.environ.get("FAIRWATT_CPUS_FILE")
    if told:
        return int(Path(told).read_text() or 1)
    return len(os.sched_getaffinity(0))


def preempted() -> bool:
    """Whether the scheduler wants the GPUs back: save a checkpoint and leave within the grace.

    >>> if fairwatt.preempted():
    ...     _ = fairwatt.checkpoint({"step": 7}, step=7)
    """
    _listen()
    return _asked.is_set()


def on_preemption(callback: Callable[[], object]) -> None:
    """Call `callback` once, as soon as the scheduler wants the GPUs back.

    >>> fairwatt.on_preemption(lambda: print("saving"))
    """
    _callbacks.append(callback)
    _listen()


def _listen() -> None:
    """Take SIGTERM, from the main thread alone, and leave a handler of others in the chain."""
    before = signal.getsignal(signal.SIGTERM)
    if before is _ask or threading.current_thread() is not threading.main_thread():
        return
    if callable(before):
        _callbacks.append(lambda: before(signal.SIGTERM, None))
    signal.signal(signal.SIGTERM, _ask)


def _ask(_number: int, _frame: FrameType | None) -> None:
    _asked.set()
    while _callbacks:
        _callbacks.pop(0)()


def _append(facts: dict[str, float]) -> None:
    """One line, in one piece, so that a reader never sees half of it.

    With the boot clock, so that a speed measured from these lines is exact.
    """
    told = os.environ.get("FAIRWATT_PROGRESS")
    if told:
        line = json.dumps({**facts, "boot_s": time.clock_gettime(time.CLOCK_BOOTTIME)})
        with Path(told).open("a") as file:
            file.write(line + "\n")


def _replace(path: Path, text: str) -> None:
    draft = path.with_name(f"{path.name}.draft")
    with draft.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
