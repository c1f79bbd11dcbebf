"""Who this agent is to the service, kept where only its user can read it, and by one at a time."""

import fcntl
import json
import os
import secrets
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from agent.remember.files import read_json, write_whole


class StateDirTakenError(Exception):
    """Another agent works in the state directory."""


@dataclass(frozen=True, slots=True)
class Identity:
    install_id: str
    node_token: str | None = None
    node_id: int | None = None

    def __repr__(self) -> str:
        return f"Identity(node_id={self.node_id})"


def lock(path: Path) -> int:
    """Hold the directory for as long as this process lives; children do not inherit the hold."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
        os.close(descriptor)
        raise StateDirTakenError(f"{path.parent} is in use by agent {holder}") from None
    os.truncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return descriptor


def load(path: Path) -> Identity:
    """The identity, made and written down before the service ever hears of it."""
    if (kept := read_json(path)) is not None:
        return Identity(**kept)
    identity = Identity(secrets.token_hex(16))
    save(path, identity)
    return identity


def admitted(path: Path, identity: Identity, node_id: int, node_token: str | None) -> Identity:
    known = replace(identity, node_id=node_id, node_token=node_token or identity.node_token)
    if known != identity:
        save(path, known)
    return known


def save(path: Path, identity: Identity) -> None:
    write_whole(path, json.dumps(asdict(identity)).encode(), mode=0o600)
