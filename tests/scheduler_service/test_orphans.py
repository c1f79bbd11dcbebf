"""Workers of a real granian whose master is killed, also while they are stopped."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from scheduler_service.embedded.ports import free_port
from tests.scheduler_service.embedded.processes import all_end, descendants, eventually

APPLICATION = """
from pathlib import Path
from scheduler_service.orphans import end_with_master

end_with_master()
Path(__file__).with_name("up").touch()


async def application(scope, receive, send):
    return
"""


@pytest.mark.process
def test_workers_end_with_their_master(tmp_path: Path) -> None:
    (tmp_path / "alone.py").write_text(APPLICATION)
    paths = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])])
    master = subprocess.Popen(
        [sys.executable, "-m", "granian", "--interface", "asgi", "--port", str(free_port()),
         "--no-ws", "--log-level", "critical", "alone:application"],
        env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip
    try:
        eventually((tmp_path / "up").exists, "the worker is up")
        workers = descendants(master.pid)
        assert workers
        for worker in workers:
            worker.suspend()
        master.send_signal(signal.SIGKILL)
        all_end(workers)
    finally:
        master.kill()
        master.wait()
