"""What the kernel says of containers that it ended for their memory limit.

A tool removes a container's control group with it, and with that the count of such ends; podman's
own flag for it was seen to stay unset on cgroups of version 1. The kernel's log names the group.
"""

import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path

LOG = Path("/dev/kmsg")
LONGEST_RECORD = 8192
# Of the group whose limit it was, not of a host that has no memory left.
LIMIT_HIT = re.compile(r"oom-kill:constraint=CONSTRAINT_MEMCG,.*?\boom_memcg=([^,]*)")


def ended_for_memory(containers: Collection[str], log: Path = LOG) -> bool:
    """Whether the kernel ended a process of one of these containers, named by their ids."""
    if not containers:
        return False
    try:
        groups = [found[1] for record in _records(log) if (found := LIMIT_HIT.search(record))]
    except OSError:
        return False
    return any(container in group for group in groups for container in containers)


def _records(log: Path) -> Iterator[str]:
    descriptor = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
    try:
        while True:
            try:
                record = os.read(descriptor, LONGEST_RECORD)
            except BlockingIOError:
                return
            except BrokenPipeError:
                continue  # what came next was overwritten: the reading goes on behind it
            if not record:
                return
            yield record.decode(errors="replace")
    finally:
        os.close(descriptor)
