"""A primary and a streaming standby, from the binaries of the embedded Postgres."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic, sleep
from urllib.parse import urlsplit

import psycopg

from scheduler_service.embedded import binaries, postgres
from scheduler_service.embedded.ports import LOOPBACK, free_port
from scheduler_service.embedded.program import Program, running

STANDBY = "standby"
PATIENCE_S = 60.0


@dataclass(frozen=True)
class PostgresPair:
    url: str
    """Of both, as DATABASE_URL names them: whoever takes writes is used."""
    primary: subprocess.Popen[bytes]
    primary_data: Path
    standby_data: Path
    ports: tuple[int, int]

    def kill_primary(self) -> None:
        os.kill(self.primary.pid, signal.SIGKILL)
        self.primary.wait()

    def promote(self) -> None:
        with self.superuser(self.standby_data, self.ports[1]) as standby:
            standby.execute("SELECT pg_promote()")
            # Nobody follows it yet: a commit that waited for a standby would wait for ever.
            standby.execute("ALTER SYSTEM SET synchronous_standby_names = ''")
            standby.execute("SELECT pg_reload_conf()")

    def wait_for_standby(self, *, synchronous: bool) -> None:
        wanted = "sync" if synchronous else "async"
        ends_s = monotonic() + PATIENCE_S
        with self.superuser(self.primary_data, self.ports[0]) as primary:
            while monotonic() < ends_s:
                row = primary.execute(
                    "SELECT state, sync_state FROM pg_stat_replication"
                ).fetchone()
                if row == ("streaming", wanted):
                    return
                sleep(0.1)
        raise TimeoutError("the standby does not follow")

    @staticmethod
    def superuser(
        data: Path, port: int, database: str = "postgres"
    ) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(host=str(data), port=port, user="postgres", dbname=database,
                               autocommit=True)  # fmt: skip


@contextmanager
def primary_and_standby(home: Path, *, synchronous: bool) -> Iterator[PostgresPair]:
    """With `synchronous`, a commit is acknowledged once the standby has it on disk, too."""
    ports = free_port(), free_port()
    with ExitStack() as up:
        primary = up.enter_context(postgres.prepared(home / "primary", port=ports[0]))
        hba = primary.data / "pg_hba.conf"
        hba.write_text(hba.read_text() + "local replication all trust\n")
        process = up.enter_context(running(primary.program, home / "primary.log"))
        standby = _copied(home, primary, ports)
        up.enter_context(running(standby, home / "standby.log"))
        with PostgresPair.superuser(primary.data, ports[0]) as link:
            names = STANDBY if synchronous else ""
            link.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
            link.execute("SELECT pg_reload_conf()")
        where = urlsplit(primary.url)
        hosts = ",".join(f"{LOOPBACK}:{port}" for port in ports)
        url = f"postgresql://{where.username}:{where.password}@{hosts}{where.path}"
        pair = PostgresPair(url, process, primary.data, standby.cwd, ports)
        pair.wait_for_standby(synchronous=synchronous)
        yield pair


def _copied(home: Path, primary: postgres.Postgres, ports: tuple[int, int]) -> Program:
    account = primary.program.account
    data = home / STANDBY / "data"
    data.mkdir(parents=True)
    data.chmod(0o700)
    if account:
        shutil.chown(data, account.uid, account.gid)
    tool = binaries.postgres_bin(account) / "pg_basebackup"
    connect = f"host={primary.data} port={ports[0]} user=postgres application_name={STANDBY}"
    subprocess.run(
        [tool, "-d", connect, "-D", postgres.HERE, "-R", "-X", "stream", "-c", "fast"],
        cwd=data,
        env=dict(postgres.SERVER_ENV),
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=[] if account else None,
        check=True,
        capture_output=True,
    )
    argv = tuple(
        f"port={ports[1]}" if part == f"port={ports[0]}" else part for part in primary.program.argv
    )
    return replace(
        primary.program,
        name=STANDBY,
        argv=argv,
        cwd=data,
        ready=lambda pid: _ready(data, pid),
        inherit=(),
    )


def _ready(data: Path, pid: int) -> bool:
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return False
    return lines[:1] == [str(pid)] and lines[-1].strip() in {"ready", "standby"}
