"""Embedded Postgres: a data directory made once, and the program that serves it."""

import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from scheduler_service.embedded import binaries, lock
from scheduler_service.embedded.errors import EmbeddedError
from scheduler_service.embedded.ports import LOOPBACK
from scheduler_service.embedded.program import Account, Program

ROLE = "fairwatt"
SOCKET = ".s.PGSQL.5432"
# sockaddr_un holds 108 bytes with the closing NUL.
SOCKET_PATH_MAX = 107
# The kernel opens it without walking the path, so a server that runs as another user works in a
# data directory below parents closed to that user.
HERE = "/proc/self/cwd"
# The socket lies in the data directory, which only its owner (and root) may enter.
HBA = "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
SERVER_ENV = {"LC_ALL": "C.UTF-8", "TZ": "UTC", "PATH": "/usr/bin:/bin"}


@dataclass(frozen=True)
class Postgres:
    program: Program
    # As the role `fairwatt`, to which row-level security applies.
    url: str
    data: Path


@contextmanager
def prepared(home: Path, *, port: int | None, durable: bool = True) -> Iterator[Postgres]:
    """Hold `home`, make its data directory if there is none, and say how to run it.

    Without a port it listens on its socket only. Not `durable` is for tests: no fsync.
    """
    with lock.held(home, what="Embedded Postgres") as descriptor:
        data = home.resolve() / "data"
        account = binaries.server_account(data)
        tools = _Tools(binaries.postgres_bin(account), account)
        if not data.exists():
            _create(home, data, tools, durable=durable)
        _check_usable(data, tools)
        (data / "pg_hba.conf").write_text(HBA)
        # We hold the lock, so no server of ours is alive: what the file says is history, and its
        # number may by now be another process, at which Postgres would refuse to start.
        (data / "postmaster.pid").unlink(missing_ok=True)
        url = _socket_url(data) if port is None else _tcp_url(_password(home, data, tools), port)
        yield Postgres(_program(data, tools, port, descriptor, durable=durable), url, data)


@dataclass(frozen=True)
class _Tools:
    directory: Path
    account: Account | None

    def run(self, data: Path, *command: str, feed: str = "") -> str:
        """Run a tool to its end inside the data directory, as the user that owns it."""
        tool, *arguments = command
        account = self.account
        answer = subprocess.run(  # noqa: S603
            [self.directory / tool, *arguments],
            cwd=data,
            env=SERVER_ENV,
            input=feed,
            capture_output=True,
            text=True,
            check=False,
            # A terminal's Ctrl-C is for us to handle, once the tool is done.
            process_group=0,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
        )
        if answer.returncode != 0 or "ERROR:" in answer.stderr:
            raise EmbeddedError(f"{tool} failed in {data}:\n{answer.stdout}{answer.stderr}")
        return answer.stdout

    def sql(self, data: Path, *statements: str) -> None:
        """Run statements as the superuser in a server that nobody can connect to."""
        lines = "".join(f"{statement}\n" for statement in statements)
        self.run(data, "postgres", "--single", "-D", HERE, "postgres", feed=lines)


def _create(home: Path, data: Path, tools: _Tools, *, durable: bool) -> None:
    """Complete under its name or not there: an interrupted start leaves only `data.new`."""
    fresh = home.resolve() / "data.new"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(mode=0o700)
    if tools.account:
        os.chown(fresh, tools.account.uid, tools.account.gid)
    sync = () if durable else ("--no-sync",)
    identity = ("--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8")
    tools.run(fresh, "initdb", "-D", HERE, *identity, *sync)
    tools.sql(
        fresh,
        f"CREATE ROLE {ROLE} LOGIN CREATEDB NOSUPERUSER NOBYPASSRLS",
        f"CREATE DATABASE {ROLE} OWNER {ROLE}",
    )
    (home / "password").unlink(missing_ok=True)
    fresh.rename(data)


def _check_usable(data: Path, tools: _Tools) -> None:
    uid = os.geteuid()
    if uid not in (0, owner := data.stat().st_uid):
        raise EmbeddedError(
            f"{data} belongs to user {owner} and you are {uid}: run as its owner or as root, or "
            f"choose another directory with FAIRWATT_VAR."
        )
    made_by = (data / "PG_VERSION").read_text().strip()
    ours = tools.run(data, "postgres", "--version").split()[2].partition(".")[0]
    if made_by != ours:
        raise EmbeddedError(
            f"{data} was made by Postgres {made_by} and the binaries in {tools.directory} are "
            f"Postgres {ours}: dump and restore it, or move it away to start afresh."
        )


def _password(home: Path, data: Path, tools: _Tools) -> str:
    """The role's password; the file appears only after the server knows it."""
    file = home / "password"
    if not file.exists():
        password = secrets.token_urlsafe(24)
        tools.sql(data, f"ALTER ROLE {ROLE} PASSWORD '{password}'")
        fresh = home / "password.new"
        fresh.touch(mode=0o600)
        fresh.write_text(password)
        fresh.rename(file)
    return file.read_text()


def _tcp_url(password: str, port: int) -> str:
    return f"postgresql://{ROLE}:{password}@{LOOPBACK}:{port}/{ROLE}"


def _socket_url(data: Path) -> str:
    if len(bytes(data / SOCKET)) > SOCKET_PATH_MAX:
        raise EmbeddedError(f"{data} is too long for a socket's path: choose a shorter directory.")
    return f"postgresql://{ROLE}@/{ROLE}?host={quote(str(data), safe='')}"


def _program(
    data: Path, tools: _Tools, port: int | None, descriptor: int, *, durable: bool
) -> Program:
    options = {
        "unix_socket_directories": ".",
        "listen_addresses": "" if port is None else LOOPBACK,
        "port": "5432" if port is None else str(port),
        # Recovery after a crash took 5 s with the default, which opens every file.
        "recovery_init_sync_method": "syncfs",
        "log_checkpoints": "off",
        "cluster_name": "fairwatt",
    }
    if not durable:
        options |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
    settings = [part for key, value in options.items() for part in ("-c", f"{key}={value}")]
    return Program(
        name="postgres",
        argv=(str(tools.directory / "postgres"), "-D", HERE, *settings),
        cwd=data,
        env=SERVER_ENV,
        account=tools.account,
        ready=lambda pid: _ready(data, pid),
        # Fast shutdown: connections are closed and a checkpoint is written.
        stop_signal=signal.SIGINT,
        orphan_signal=signal.SIGINT,
        stop_grace_s=30.0,
        inherit=(descriptor,),
    )


def _ready(data: Path, pid: int) -> bool:
    """Postgres writes its state on the last line of its pid file."""
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return False
    return lines[:1] == [str(pid)] and lines[-1].strip() == "ready"
