"""What a process does to itself before it becomes the job: its share, then its rights.

Run between fork and exec, as root where the agent is; imported by shims, so standard library only.
"""

import ctypes
import fcntl
import os
import resource
import signal
import socket
import struct
from pathlib import Path
from typing import Any

from agent.run.closed_folders import open_ways

PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 1, 24, 38, 47
PR_CAP_AMBIENT_CLEAR_ALL = 4
CLONE_NEWNET, CLONE_NEWIPC = 0x40000000, 0x08000000
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
LAST_CAPABILITY = Path("/proc/sys/kernel/cap_last_cap")

_libc = ctypes.CDLL(None, use_errno=True)


def confine(spec: dict[str, Any], parent: int) -> None:
    """Raises OSError where something cannot be had: then the job does not start."""
    for procs in spec["cgroup_procs"]:
        Path(procs).write_text(str(os.getpid()))
    if spec["cpus"]:
        os.sched_setaffinity(0, spec["cpus"])
    _limit(spec["limits"])
    if spec["ways"]:
        open_ways(spec["ways"])
        # By its name: the folder that was entered before lies below what now covers it.
        os.chdir(spec["cwd"])
    if spec["unshare"]:
        _call(_libc.unshare, spec["unshare"])
        if spec["unshare"] & CLONE_NEWNET:
            _raise_loopback()
    if spec["uid"] is not None:
        _become(spec["uid"], spec["gid"])
    # After the change of user, which clears it.
    _call(_libc.prctl, PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def _limit(limits: dict[str, int]) -> None:
    for name, most in limits.items():
        kind = getattr(resource, name)
        _, hard = resource.getrlimit(kind)
        bounded = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (bounded, bounded))


def _become(uid: int, gid: int) -> None:
    """No way back: no group, no capability, and no setuid program that would bring any."""
    for capability in range(int(LAST_CAPABILITY.read_text()) + 1):
        _libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    _libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    _call(_libc.prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        fcntl.ioctl(link, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))


def _call(function: Any, *arguments: int) -> None:
    if function(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{function.__name__}: {os.strerror(number)}")
