"""Images by apptainer inside bubblewrap: what it is told, and a real one where it is installed."""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.run import host
from agent.run.apptainer import UserFiles, in_image
from agent.run.gpu_files import GpuFiles
from agent.run.host import HostTools
from agent.run.spec import obstacle
from agent.run.tenant_users import TenantUsers, User
from agent.wire import (
    ContainerTool,
    DesiredAttempt,
    Features,
    MemoryLimit,
    Mount,
    SecretValue,
    Stream,
)
from tests.agent.conftest import Ground, attempt, ground_at
from tests.agent.podman import BUSYBOX
from tests.agent.process import TWO_GPUS, gpu_uuid
from tests.agent.registry import registry
from tests.agent.service import until
from tests.agent.test_parts import PLACES

SCRIPT = (
    'id -u; cat "$FAIRWATT_SECRETS_DIR/key"; echo "$FROM_IMAGE $LR"; cat /data/word; pwd; '
    'echo 1 > note; echo 2 > "$FAIRWATT_CHECKPOINT_DIR/saved"; ls /; ls {state}; ls -d {home}/gpu*'
)
# Asked to stop, it says so before it ends.
PATIENT = "trap 'echo saved; exit 7' TERM; echo ready; while :; do sleep 0.1; done"


def test_it_is_told_of_the_tenants_values_under_other_names_only(tmp_path: Path) -> None:
    files = UserFiles.written(tmp_path, User(200_007, 200_008), Path("/s/runs/7/work"))
    command = in_image(
        "example/train:1",
        ("train", "--lr", "1"),
        {"LD_PRELOAD": "mine.so", "PATH": "/tenant/bin", "HOME": "/s/runs/7/work", "LR": "0.1"},
        PLACES,
        user_files=files,
        by_driver=True,
        options=("--unshare-user", "--disable-userns"),
        tmp_bytes=4096,
        network=True,
    )
    told, wall = " ".join(command.argv), " ".join(command.hidden)
    assert told.startswith("bwrap --args -- apptainer --quiet exec --userns --contain --cleanenv ")
    assert told.endswith(" docker://example/train:1 train --lr 1")
    assert "--nv" in command.argv, "the wall has no GPU but its own"
    assert "type=bind,source=/s/runs/7/secrets,destination=/s/runs/7/secrets,ro" in command.argv
    assert "type=bind,source=/data,destination=/data,ro" in command.argv
    assert "type=bind,source=/out,destination=/out" in command.argv
    assert "--setenv APPTAINERENV_LD_PRELOAD mine.so" in wall
    assert "--setenv APPTAINERENV_LR 0.1" in wall
    for kept in ("--setenv LD_PRELOAD", "APPTAINERENV_PATH", "APPTAINERENV_HOME", "/tenant/bin"):
        assert kept not in wall
    assert "--disable-userns" not in wall
    assert f"--ro-bind {files.passwd} /etc/passwd" in wall
    assert files.passwd.read_text() == "tenant:x:200007:200008::/s/runs/7/work:/bin/sh\n"
    assert (command.wrapped, command.container, command.env) == (True, None, {})


@pytest.fixture
def ground() -> Iterator[Ground]:
    with tempfile.TemporaryDirectory(prefix="fairwatt-apptainer-") as name:
        Path(name).chmod(0o711)
        Path(name, "data").mkdir()
        Path(name, "data", "word").write_text("volume\n")
        for index in range(2):
            path = Path(name, f"gpu{index}")
            os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 7 + index))
            path.chmod(0o666)
        with ground_at(Path(name)) as made:
            made.catalogue.write_text(TWO_GPUS + f'device = "{name}/gpu{{index}}"\n')
            yield made


@pytest.mark.process
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give tenants uids of their own")
@pytest.mark.skipif(
    not all((shutil.which("apptainer"), shutil.which("bwrap"), BUSYBOX)),
    reason="apptainer, bubblewrap or a static busybox is not installed",
)
def test_a_real_one_runs_an_image_as_the_tenant(ground: Ground) -> None:
    path = only_apptainer(ground.directory)
    agent = ground.agent(PATH=path, APPTAINER_NOHTTPS="1").start(
        "--container", "--tenant-uids", "200000-200999"
    )
    service = ground.service
    until(lambda: service.registers, "the node joined")
    features = service.registers[0].inventory.features
    assert features.containers is ContainerTool.APPTAINER, features.notes
    assert BUSYBOX
    with registry(Path(BUSYBOX)) as image:
        script = SCRIPT.format(state=agent.state, home=ground.directory)
        service.want(contained(7, script, image, ground.directory / "data"))
        service.want(contained(8, "tail /dev/zero; exit 3", image, ground.directory / "data"))
        until(lambda: {7, 8} <= service.ended.keys(), "both ends", 120)
        until(lambda: (7, Stream.STDOUT) in service.final, "the log")
        service.want(contained(9, PATIENT, image, ground.directory / "data"))
        until(lambda: "ready" in service.text(9) or 9 in service.ended, "the third at work", 60)
        service.cancel(9, "preempted")
        until(lambda: 9 in service.ended, "its end", 30)
        until(lambda: service.text(9) == "ready\nsaved\n", "its last words")
    printed = service.text(7).splitlines()
    said = (service.ended[7], service.text(7, Stream.STDERR), printed)
    assert printed[:4] == ["200005", "sesame", "yes 0.1", "volume"], said
    assert printed[4] == str(agent.state / "runs/7-70/work")
    # The image's own folders and those of the attempt; of the agent's state nothing else.
    assert "usr" not in printed
    assert printed[-3:] == ["checkpoints", "runs", f"{ground.directory}/gpu0"]
    assert (agent.state / "checkpoints/7/saved").stat().st_uid == 200_005
    assert service.ended[9].exit_code == 7
    assert service.ended[8].exit_code != 0
    if features.cgroup:
        assert service.ended[8].out_of_memory, service.ended[8]


def contained(number: int, script: str, image: str, data: Path) -> DesiredAttempt:
    return attempt(
        argv=("/bin/sh", "-c", script),
        attempt_id=number,
        fence=10 * number,
        gpu_uuids=(gpu_uuid((number - 7) % 2),),
        checkpoint_key=str(number),
        tenant_id=5,
        image=image,
        memory_mib=256,
        pids_limit=256,
        env={"LR": "0.1"},
        secrets=(SecretValue("key", "sesame\n", file="key"),),
        mounts=(Mount("data", str(data), "/data"),),
    )


def only_apptainer(directory: Path) -> str:
    """A PATH on which podman and docker do not work."""
    bin_ = directory / "no-engines"
    bin_.mkdir(mode=0o755)
    for tool in ("podman", "docker"):
        (bin_ / tool).write_text("#!/bin/sh\nexit 1\n")
        (bin_ / tool).chmod(0o755)
    return f"{bin_}:{os.environ['PATH']}"


@pytest.mark.process
@pytest.mark.parametrize(
    ("tool", "note"),
    [
        ("apptainer", "container apptainer: it runs inside bubblewrap, which does not work here"),
        ("enroot", "container enroot: it shares processes and devices, and so is not used"),
    ],
)
def test_a_tool_that_would_be_no_wall_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str, note: str
) -> None:
    (tmp_path / tool).write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / tool).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    notes: list[str] = []
    users = TenantUsers(trusted=True)
    assert host._containers(users, tmp_path, walled=False, notes=notes) is None
    assert note in notes


def test_an_image_cannot_be_fetched_without_a_network() -> None:
    features = Features(
        cgroup=False,
        bubblewrap=True,
        affinity=True,
        memory_limit=MemoryLimit.RLIMIT,
        containers=ContainerTool.APPTAINER,
    )
    tools = HostTools(features, None, (), (0,), GpuFiles())
    assert obstacle(attempt(image="train:1", network=False), tools, None) == (
        "apptainer fetches images from within the attempt, which has no network here"
    )
    assert obstacle(attempt(image="train:1"), tools, None) == ""
