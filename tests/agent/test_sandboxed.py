"""Attempts in bubblewrap, on hosts that have it."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from agent.wire import End, Stream
from tests.agent.conftest import Ground, attempt
from tests.agent.process import AgentProcess, alive, gpu_uuid
from tests.agent.service import ScriptedService, until


@pytest.fixture
def agent(ground: Ground) -> AgentProcess:
    return ground.agent(PATH=os.environ["PATH"]).start()


pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")


def test_a_sandboxed_job_sees_no_secrets_and_writes_only_where_it_may(
    agent: AgentProcess, service: ScriptedService
) -> None:
    identity = agent.state / "identity.json"
    code = (
        "import os, pathlib\n"
        f"print('identity', os.path.exists({str(identity)!r}))\n"
        "print('pid', os.getpid() < 10)\n"
        "pathlib.Path('note').write_text('mine')\n"
        "pathlib.Path(os.environ['FAIRWATT_CHECKPOINT_DIR'], 'saved').write_text('x')\n"
        "with open(os.environ['FAIRWATT_PROGRESS'], 'a') as file: file.write('{\"step\": 4}\\n')\n"
        "try: pathlib.Path('/usr/pwned').write_text('x')\n"
        "except OSError as error: print(error.strerror)\n"
    )
    service.want(attempt(code))
    until(lambda: 7 in service.ended, "the end")
    until(lambda: (7, Stream.STDOUT) in service.final, "the log")
    if not service.registers[0].inventory.features.bubblewrap:
        pytest.skip("this host does not let bubblewrap work")
    assert service.ended[7].exit_code == 0, service.text(7, Stream.STDERR)
    assert service.text(7) == "identity False\npid True\nRead-only file system\n"
    assert service.ended[7].progress_step == 4
    assert (agent.state / "checkpoints/3/saved").read_text() == "x"


def test_a_sandboxed_job_gets_its_grace_and_nothing_of_it_stays(
    agent: AgentProcess, service: ScriptedService
) -> None:
    code = (
        "import signal, sys, time\n"
        "def leave(*_):\n"
        "    print('saved'); sys.exit(7)\n"
        "signal.signal(signal.SIGTERM, leave)\n"
        "print('ready', flush=True)\n"
        "time.sleep(600)"
    )
    service.want(attempt(code))
    until(lambda: "ready" in service.text(7), "the job ready")
    pids = agent.job_pids(7)
    service.cancel(7, "preempted")
    until(lambda: 7 in service.ended, "the end")
    assert (service.ended[7].end, service.ended[7].exit_code) == (End.STOPPED, 7)
    until(lambda: service.text(7) == "ready\nsaved\n", "its last words")
    assert not any(map(alive, pids))


def test_what_is_shown_can_be_read_below_tmp_and_its_neighbours_are_explained(
    ground: Ground, service: ScriptedService
) -> None:
    with tempfile.TemporaryDirectory(prefix="fairwatt-shown-", dir="/tmp") as name:
        for folder in ("shown", "beside"):
            Path(name, folder).mkdir()
            Path(name, folder, "train.py").write_text(
                "import os, sys\n"
                f"print(os.listdir({name!r}))\n"
                "try: open(os.path.join(sys.argv[1], 'x'), 'w')\n"
                "except OSError as error: print(error.strerror)\n"
            )
        shown, beside = f"{name}/shown", f"{name}/beside"
        ground.agent(PATH=os.environ["PATH"]).start("--show", shown)
        for number, folder in ((7, shown), (8, beside)):
            argv = ("/usr/bin/env", "python3", f"{folder}/train.py", folder)
            gpus = (gpu_uuid(number - 7),)
            service.want(attempt(argv=argv, attempt_id=number, fence=number, gpu_uuids=gpus))
        until(lambda: {7, 8} <= service.ended.keys(), "both ends", 30)
        until(lambda: (7, Stream.STDOUT) in service.final, "the log")
    assert service.text(7) == "['shown']\nRead-only file system\n", service.ended[7]
    assert f"{beside}/train.py" in service.ended[8].detail
    assert "No such file or directory: inside the wall the host's files are visible, but /tmp" in (
        service.ended[8].detail
    )
