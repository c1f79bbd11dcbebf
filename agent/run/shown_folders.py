"""Folders of the host that attempts see although they lie where the wall shows nothing.

The Python that runs the agent is one that jobs use too, and an operator may name more.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

from agent.run.sandbox import OWN


def shown_folders(named: Iterable[Path]) -> tuple[Path, ...]:
    """Also by their real names: a link to a folder below /tmp leads nowhere inside."""
    given = (Path(sys.prefix), Path(sys.base_prefix), *named)
    found = {each for path in given for each in (path, path.resolve())}
    # One that holds /tmp would show all of it.
    return tuple(sorted(path for path in found if not _above_own(path)))


def _above_own(path: Path) -> bool:
    return any(Path(own).is_relative_to(path) for own in OWN)
