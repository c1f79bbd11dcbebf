"""The embedded broker as a real process."""

import stat
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from scheduler_service.embedded import broker, ports
from scheduler_service.embedded.errors import EmbeddedError
from scheduler_service.embedded.program import running
from tests.scheduler_service.embedded.processes import alive, descendants, eventually, script

pytestmark = pytest.mark.process

HOLD = """
import signal
import sys
from pathlib import Path
from scheduler_service.embedded import broker, ports
from scheduler_service.embedded.program import running
home = Path(sys.argv[1])
with broker.prepared(home, port=ports.free_port()) as server:
    with running(server.program, home / "log") as process:
        print("serving", process.pid, flush=True)
        signal.pause()
"""


def test_a_message_outlives_a_restart_and_kill_nine(home: Path) -> None:
    with broker.prepared(home, port=ports.free_port()) as server:
        with (
            running(server.program, home / "log"),
            redis.Redis.from_url(server.url) as client,
        ):
            client.lpush("queue", "first")
        with (
            running(server.program, home / "log") as process,
            redis.Redis.from_url(server.url) as client,
        ):
            client.lpush("queue", "second")
            eventually(
                lambda: client.info("persistence")["aof_pending_bio_fsync"] == 0, "it is on disk"
            )
            process.kill()
            process.wait()
        with (
            running(server.program, home / "log"),
            redis.Redis.from_url(server.url) as client,
        ):
            assert client.lrange("queue", 0, -1) == [b"second", b"first"]


def test_nobody_gets_in_without_the_password(home: Path) -> None:
    port = ports.free_port()
    with (
        broker.prepared(home, port=port) as server,
        running(server.program, home / "log"),
        redis.Redis(host=ports.LOOPBACK, port=port, retry=Retry(NoBackoff(), 0)) as stranger,
    ):
        assert stat.S_IMODE((home / "valkey.conf").stat().st_mode) == 0o600
        assert server.url.split("@")[0].removeprefix("redis://:") not in str(server.program.argv)
        with pytest.raises(redis.AuthenticationError):
            stranger.ping()


def test_another_server_on_the_port_is_not_taken_for_ours(home: Path) -> None:
    port = ports.free_port()
    with (
        broker.prepared(home / "one", port=port) as one,
        running(one.program, home / "log-one"),
        broker.prepared(home / "two", port=port) as two,
        pytest.raises(EmbeddedError, match="Address already in use"),
        running(two.program, home / "log-two"),
    ):
        pass


def test_a_second_start_names_the_holder_and_its_death_leaves_no_server(home: Path) -> None:
    log = home / "script.log"
    with script(HOLD, home, log=log) as holder:
        eventually(lambda: "serving" in log.read_text(), "the first broker serves")
        with (
            pytest.raises(EmbeddedError, match=rf"process {holder.pid}\b"),
            broker.prepared(home, port=1),
        ):
            pass
        family = descendants(holder.pid)
        assert family
        holder.kill()
        holder.wait()
        eventually(lambda: not alive(family), "no broker is left")
