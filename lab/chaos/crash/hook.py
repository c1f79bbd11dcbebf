"""Crash points without a line in the product: functions are wrapped as their modules are imported.

Nothing happens unless FAIRWATT_CRASH_DIR is set. The file `armed` in that directory names the one
point that may fire; who fires leaves `reached/NAME` and dies by SIGKILL, once however many pass.
"""

import importlib.util
import inspect
import os
import signal
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial, wraps
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from lab.chaos.crash.points import POINTS, CrashEvent, CrashMoment, CrashPoint

VARIABLE = "FAIRWATT_CRASH_DIR"
# Points whose function this thread has entered, and that wait for its next commit or fsync.
_entered = threading.local()


def install() -> None:
    if directory := os.environ.get(VARIABLE):
        sys.meta_path.insert(0, _Finder(POINTS, Path(directory)))


class _Finder(MetaPathFinder):
    def __init__(self, points: Sequence[CrashPoint], directory: Path) -> None:
        self._directory = directory
        self._points: dict[str, list[CrashPoint]] = defaultdict(list)
        for point in points:
            self._points[point.module].append(point)
        self._boundaries = {
            "django.db.backends.base.base": ("BaseDatabaseWrapper.commit", CrashEvent.COMMIT)
        }
        os.fsync = announced(CrashEvent.FSYNC, directory, os.fsync)

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        points, boundary = self._points.pop(name, []), self._boundaries.pop(name, None)
        if not points and boundary is None:
            return None
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            for point in points:
                _replace(module, point.function, partial(wrapped, point, self._directory))
            if boundary is not None:
                function, event = boundary
                _replace(module, function, partial(announced, event, self._directory))

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _replace(module: ModuleType, function: str, change: Callable[[Any], Any]) -> None:
    *owners, name = function.split(".")
    owner: Any = module
    for each in owners:
        owner = getattr(owner, each)
    setattr(owner, name, change(getattr(owner, name)))


def wrapped(point: CrashPoint, directory: Path, act: Any) -> Any:
    if inspect.iscoroutinefunction(act):

        @wraps(act)
        async def run_async(*args: Any, **kwargs: Any) -> Any:
            _enter(point, directory)
            answer = await act(*args, **kwargs)
            _leave(point, directory)
            return answer

        return run_async

    @wraps(act)
    def run(*args: Any, **kwargs: Any) -> Any:
        _enter(point, directory)
        answer = act(*args, **kwargs)
        _leave(point, directory)
        return answer

    return run


def _enter(point: CrashPoint, directory: Path) -> None:
    if point.event is not CrashEvent.CALL:
        # Several points may stand at one function: the armed one counts.
        if _armed(directory) == point.name:
            _entered.point = point
    elif point.when is CrashMoment.BEFORE:
        fire(point, directory)


def _leave(point: CrashPoint, directory: Path) -> None:
    if point.event is CrashEvent.CALL and point.when is CrashMoment.AFTER:
        fire(point, directory)


def announced(event: CrashEvent, directory: Path, act: Any) -> Any:
    """The commit or fsync itself: what was entered before it fires around it."""

    @wraps(act)
    def run(*args: Any, **kwargs: Any) -> Any:
        point: CrashPoint | None = getattr(_entered, "point", None)
        if point is None or point.event is not event:
            return act(*args, **kwargs)
        _entered.point = None
        if point.when is CrashMoment.BEFORE:
            fire(point, directory)
        answer = act(*args, **kwargs)
        if point.when is CrashMoment.AFTER:
            fire(point, directory)
        return answer

    return run


def fire(point: CrashPoint, directory: Path) -> None:
    if _armed(directory) != point.name:
        return
    try:
        os.close(os.open(directory / "reached" / point.name, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def _armed(directory: Path) -> str:
    try:
        return (directory / "armed").read_text()
    except OSError:
        return ""
