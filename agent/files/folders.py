"""Folders held open: from them, no name leads through a link; standard library only."""

import contextlib
import os
from collections.abc import Iterator, Sequence

# The kernel refuses a link in the place of a folder, whoever puts it there and when.
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


@contextlib.contextmanager
def folder_at(top: int, steps: Sequence[str], *, make: bool = False) -> Iterator[int]:
    """The folder that these names lead to from another one; `make` makes what is missing."""
    here = os.dup(top)
    try:
        for step in steps:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(step, 0o700, dir_fd=here)
            deeper = os.open(step, FOLDER, dir_fd=here)
            os.close(here)
            here = deeper
        yield here
    finally:
        os.close(here)
