"""A server's worker whose master was killed ends as well.

Nobody else would end it: it would keep its port, its connections and the lock of its stack.
"""

import ctypes
import multiprocessing
import os
import signal

PR_SET_PDEATHSIG = 1  # linux/prctl.h


def end_with_master() -> None:
    """Does nothing in a master; in a worker the kernel sees to it, even while it is stopped."""
    if (master := multiprocessing.parent_process()) is None:
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != master.pid:
        os._exit(1)
