"""Embedded Postgres as real processes: started, stopped, killed, started twice."""

import os
import signal
import stat
from pathlib import Path

import psycopg
import pytest

from scheduler_service.embedded import binaries, postgres
from scheduler_service.embedded.errors import EmbeddedError
from scheduler_service.embedded.ports import free_port
from scheduler_service.embedded.program import running
from tests.scheduler_service.embedded.processes import alive, descendants, eventually, script

pytestmark = pytest.mark.process

HOLD = """
import signal
import sys
from pathlib import Path
from scheduler_service.embedded import postgres
from scheduler_service.embedded.program import running
home = Path(sys.argv[1])
with postgres.prepared(home, port=None, durable=False) as server:
    with running(server.program, home / "log") as process:
        print("serving", process.pid, flush=True)
        signal.pause()
"""


def test_it_serves_a_role_that_row_level_security_binds(home: Path) -> None:
    with (
        postgres.prepared(home, port=None, durable=False) as server,
        running(server.program, home / "log"),
        psycopg.connect(server.url) as connection,
    ):
        row = connection.execute(
            "SELECT current_user, rolsuper, rolbypassrls, rolcreatedb, "
            "(SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = current_database()) "
            "FROM pg_roles WHERE rolname = current_user"
        ).fetchone()
    assert row == ("fairwatt", False, False, True, "fairwatt")


def test_text_is_utf8_whatever_the_callers_locale(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "xx_YY.nonsense")
    with (
        postgres.prepared(home, port=None, durable=False) as server,
        running(server.program, home / "log"),
        psycopg.connect(server.url) as connection,
    ):
        assert connection.execute("SELECT upper('ärger €')").fetchone() == ("ÄRGER €",)


def test_over_tcp_it_asks_for_the_password_that_only_we_can_read(home: Path) -> None:
    port = free_port()
    with (
        postgres.prepared(home, port=port, durable=False) as server,
        running(server.program, home / "log"),
    ):
        assert stat.S_IMODE((home / "password").stat().st_mode) == 0o600
        with psycopg.connect(server.url) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        for url in (
            f"postgresql://fairwatt@127.0.0.1:{port}/fairwatt",
            f"postgresql://fairwatt:guess@127.0.0.1:{port}/fairwatt",
            f"postgresql://postgres@127.0.0.1:{port}/postgres",
        ):
            with pytest.raises(psycopg.OperationalError):
                psycopg.connect(url)


def test_the_socket_is_behind_a_directory_of_the_owner_alone(home: Path) -> None:
    with (
        postgres.prepared(home, port=None, durable=False) as server,
        running(server.program, home / "log"),
    ):
        assert (server.data / postgres.SOCKET).is_socket()
        assert stat.S_IMODE(server.data.stat().st_mode) == 0o700


def test_a_second_run_has_the_data_and_the_password_of_the_first(home: Path) -> None:
    urls = set()
    port = free_port()
    for expected in range(3):
        with (
            postgres.prepared(home, port=port) as server,
            running(server.program, home / "log"),
            psycopg.connect(server.url) as connection,
        ):
            connection.execute("CREATE TABLE IF NOT EXISTS visit (id int)")
            count = connection.execute("SELECT count(*) FROM visit").fetchone()
            connection.execute("INSERT INTO visit VALUES (1)")
            assert count == (expected,)
            urls.add(server.url)
    assert len(urls) == 1


def test_a_lost_password_is_replaced(home: Path) -> None:
    port = free_port()
    with postgres.prepared(home, port=port, durable=False) as first:
        pass
    (home / "password").unlink()
    with (
        postgres.prepared(home, port=port, durable=False) as second,
        running(second.program, home / "log"),
        psycopg.connect(second.url),
    ):
        assert first.url != second.url


def test_an_interrupted_first_start_is_made_good(home: Path) -> None:
    (home / "data.new").mkdir()
    (home / "data.new" / "PG_VERSION").write_text("half\n")
    with (
        postgres.prepared(home, port=None, durable=False) as server,
        running(server.program, home / "log"),
        psycopg.connect(server.url),
    ):
        assert not (home / "data.new").exists()


def test_a_stale_pid_file_that_names_a_living_process_is_no_obstacle(home: Path) -> None:
    with postgres.prepared(home, port=None, durable=False) as server:
        stale = server.data / "postmaster.pid"
    stale.write_text(f"{os.getpid()}\n/elsewhere\n")
    with (
        postgres.prepared(home, port=None, durable=False) as server,
        running(server.program, home / "log"),
        psycopg.connect(server.url),
    ):
        assert stale.read_text().splitlines()[0] != str(os.getpid())


def test_a_second_start_names_the_process_that_holds_the_data(home: Path) -> None:
    log = home / "script.log"
    with script(HOLD, home, log=log) as holder:
        eventually(lambda: "serving" in log.read_text(), "the first server serves")
        with (
            pytest.raises(EmbeddedError, match=rf"already running.*process {holder.pid}\b"),
            postgres.prepared(home, port=None),
        ):
            pass


@pytest.mark.parametrize("death", [signal.SIGKILL, signal.SIGTERM])
def test_when_its_parent_dies_it_shuts_down_cleanly(home: Path, death: signal.Signals) -> None:
    log = home / "script.log"
    with script(HOLD, home, log=log) as parent:
        eventually(lambda: "serving" in log.read_text(), "the server serves")
        family = descendants(parent.pid)
        assert len(family) > 1
        parent.send_signal(death)
        parent.wait()
        eventually(lambda: not alive(family), "no server process is left")
    assert "database system is shut down" in (home / "log").read_text()


def test_a_start_right_after_a_parents_death_waits_for_the_old_server_to_end(home: Path) -> None:
    log = home / "script.log"
    with script(HOLD, home, log=log) as parent:
        eventually(lambda: "serving" in log.read_text(), "the server serves")
        parent.kill()
        parent.wait()
    with (
        postgres.prepared(home, port=None, durable=False) as server,
        running(server.program, home / "second-log"),
        psycopg.connect(server.url) as connection,
    ):
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_committed_rows_survive_kill_nine(home: Path) -> None:
    with postgres.prepared(home, port=None) as server:
        with running(server.program, home / "log") as process:
            with psycopg.connect(server.url, autocommit=True) as connection:
                connection.execute("CREATE TABLE kept (id int)")
                connection.execute("INSERT INTO kept SELECT generate_series(1, 1000)")
                family = descendants(process.pid)
                process.kill()
                process.wait()
            eventually(lambda: not alive(family), "the backends noticed")
        with (
            running(server.program, home / "log"),
            psycopg.connect(server.url) as connection,
        ):
            assert connection.execute("SELECT count(*) FROM kept").fetchone() == (1000,)


def test_a_taken_port_is_in_the_message(home: Path) -> None:
    port = free_port()
    (home / "one").mkdir()
    with (
        postgres.prepared(home / "one", port=port, durable=False) as one,
        running(one.program, home / "log-one"),
        postgres.prepared(home / "two", port=port, durable=False) as two,
        pytest.raises(EmbeddedError, match="could not bind IPv4 address"),
        running(two.program, home / "log-two"),
    ):
        pass


def test_a_directory_too_deep_for_a_socket_still_serves_tcp(home: Path) -> None:
    deep = home / ("d" * 100) / "postgres"
    with pytest.raises(EmbeddedError, match="too long"), postgres.prepared(deep, port=None):
        pass
    with (
        postgres.prepared(deep, port=free_port(), durable=False) as server,
        running(server.program, home / "log"),
        psycopg.connect(server.url) as connection,
    ):
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_data_of_another_major_version_is_refused_untouched(home: Path) -> None:
    with postgres.prepared(home, port=None, durable=False) as server:
        version = server.data / "PG_VERSION"
    version.write_text("9\n")
    with (
        pytest.raises(EmbeddedError, match=r"made by Postgres 9 and the binaries"),
        postgres.prepared(home, port=None),
    ):
        pass
    assert version.read_text() == "9\n"


def test_a_pg_bin_dir_without_postgres_is_named(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PG_BIN_DIR", str(home / "nowhere"))
    with pytest.raises(EmbeddedError, match=r"PG_BIN_DIR .*nowhere"):
        binaries.postgres_bin(None)
