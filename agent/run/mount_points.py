"""Places inside the wall for volumes that are to be seen where the host has nothing.

The host is shown read-only, so that no folder can be made in it. The deepest folder that is there
is put together anew of its own members, and has room for one more.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from agent.wire import Mount


def opened(mounts: Iterable[Mount], own: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Arguments of bubblewrap: what makes room, and what closes it once volumes are mounted.

    Below `own`, the folders that the attempt has for itself, there is room anyway.
    """
    above = tuple(own)
    missing = [
        Path(mount.target)
        for mount in mounts
        if not Path(mount.target).is_dir()
        and not any(Path(mount.target).is_relative_to(each) for each in above)
    ]
    # Sorted: a folder comes before those within it, which it would hide.
    folders = sorted({_deepest_there(target) for target in missing})
    makes = (part for folder in folders for part in _anew(folder))
    closes = (part for folder in folders for part in ("--remount-ro", str(folder)))
    return tuple(makes), tuple(closes)


def _deepest_there(target: Path) -> Path:
    return next(path for path in target.parents if path.is_dir())


def _anew(folder: Path) -> Iterator[str]:
    yield from ("--tmpfs", str(folder))
    for path in sorted(folder.iterdir()):
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        else:
            yield from ("--ro-bind-try", str(path), str(path))
