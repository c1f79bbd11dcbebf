"""Processes of the stack to be hurt, and how: killed, stopped for a while, told to end."""

import os
import random
import signal
from collections.abc import Iterable
from contextlib import suppress

import psutil

from lab.chaos.stack import Stack


def kind_of(program: str) -> str:
    """Nodes are alike: what is found of one is found of all."""
    return "agent" if program.startswith("node-") else program


def members(pid: int) -> list[int]:
    """A program with its children, but not an agent's shims, which have sessions of their own."""
    with suppress(psutil.Error, ProcessLookupError):
        group = os.getpgid(pid)
        found = [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
        return [each for each in found if _group(each) == group]
    return []


def victim(pid: int, draw: random.Random) -> int:
    """The program itself, or as often one of those that work for it."""
    everybody = members(pid) or [pid]
    return pid if len(everybody) == 1 or draw.random() < 0.5 else draw.choice(everybody[1:])


def backends(stack: Stack) -> list[int]:
    """Postgres' sessions of the service, by the titles that Postgres gives its processes."""
    server = stack.pids().get("postgres")
    return [pid for pid in members(server) if "fairwatt fairwatt" in _title(pid)] if server else []


def send(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _group(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return -1


def _title(pid: int) -> str:
    with suppress(psutil.Error):
        return " ".join(psutil.Process(pid).cmdline())
    return ""
