"""The small parts of the agent, each by itself."""

import os
import random
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from agent.measure.progress import Progress
from agent.remember.lease import RunLease
from agent.run import cgroup, host
from agent.run.cgroup import CgroupsError
from agent.run.container import ValueNotPassableError, changed, contained, env_lines
from agent.run.cpus import CpuPool, real
from agent.run.processes import Process, start_ticks
from agent.run.sandbox import SandboxPaths, bubblewrapped, explained
from agent.run.shown_folders import shown_folders
from agent.run.tenant_users import User
from agent.talk import identity
from agent.talk.client import Backoff
from agent.talk.identity import StateDirTakenError
from agent.wire import ContainerTool, Mount
from tests.agent.process import ROOT

PLACES = SandboxPaths(
    Path("/s"),
    Path("/s/runs/7/work"),
    Path("/s/runs/7/p"),
    Path("/s/checkpoints/3"),
    Path("/s/runs/7/cpus"),
    Path("/s/runs/7/clock"),
    Path("/s/runs/7/secrets"),
    mounts=(Mount("data", "/srv/data", "/data"), Mount("out", "/srv/out", "/out", read_only=False)),
    devices=("/dev/nvidia0",),
)


def test_a_lease_counts_from_the_sending_and_ends_before_the_services(tmp_path: Path) -> None:
    now = [1000.0]
    lease = RunLease(tmp_path / "lease.json", "boot", lambda: now[0])
    assert lease.lapsed
    lease.renew(sent_s=990.0, run_lease_s=60.0)
    assert not lease.lapsed
    now[0] = 1049.0
    assert lease.lapsed
    assert lease.kill_at_s < 990.0 + 60.0


@pytest.mark.parametrize("run_lease_s", [0.1, 1.0, 60.0, 86_400.0])
def test_a_lease_of_any_length_leaves_time_to_live_and_to_die(
    tmp_path: Path, run_lease_s: float
) -> None:
    lease = RunLease(tmp_path / "lease.json", "boot", lambda: 0.0)
    lease.renew(0.0, run_lease_s)
    assert run_lease_s / 2 <= lease.kill_at_s < run_lease_s


def test_an_attempt_may_have_a_lease_of_its_own(tmp_path: Path) -> None:
    now = [0.0]
    RunLease(tmp_path / "l", "boot", lambda: 0.0).renew(0.0, 60.0, {7: 3600.0, 8: 30.0})
    again = RunLease(tmp_path / "l", "boot", lambda: now[0])
    for at_s, lapsed in ((20.0, []), (40.0, [8]), (60.0, [8, 9]), (3600.0, [7, 8, 9])):
        now[0] = at_s
        assert [attempt for attempt in (7, 8, 9) if again.lapsed_for(attempt)] == lapsed


def test_a_lease_outlives_the_agent_but_not_the_boot(tmp_path: Path) -> None:
    RunLease(tmp_path / "l", "boot", lambda: 0.0).renew(0.0, 60.0)
    assert not RunLease(tmp_path / "l", "boot", lambda: 1.0).lapsed
    assert RunLease(tmp_path / "l", "next boot", lambda: 1.0).lapsed


def test_cpus_are_owned_by_one_attempt_near_its_gpus() -> None:
    pool = CpuPool(tuple(range(8)), {0: frozenset({0, 1, 2, 3}), 1: frozenset({4, 5, 6, 7})})
    assert pool.assign(1, 2, {1}) == {4, 5}
    assert pool.assign(2, 3, {1}) == {6, 7, 0}
    assert pool.assign(3, 0) == {1, 2, 3}
    assert pool.assign(1, 3, {1}) == {4, 5, 1}
    assert pool.assign(1, 1, {1}) <= {4, 5, 1}
    pool.release(2)
    assert len(pool.unowned()) == 7


def test_more_cpus_than_there_are_means_all_there_are() -> None:
    pool = CpuPool((0, 1))
    assert pool.assign(1, 8) == {0, 1}
    assert pool.assign(2, 1) == {0, 1}


def test_emulated_cpus_lie_on_those_that_are_there() -> None:
    assert real({0, 1}, {0, 1}) == {0, 1}
    assert real({5, 6, 7}, {2, 3}) == {2, 3}
    assert real({4}, {2, 3}) == {2}


def test_a_sandbox_hides_the_state_before_it_shows_the_attempts_own() -> None:
    command = bubblewrapped(
        ("train", "--x"), {"LD_PRELOAD": "mine.so"}, PLACES, tmp_bytes=4096, network=False
    )
    text = " ".join(command.hidden)
    assert text.index("--tmpfs /s ") < text.index("--bind /s/runs/7/work /s/runs/7/work")
    assert text.index("--dev /dev") < text.index("--dev-bind-try /dev/nvidia0 /dev/nvidia0")
    assert "--ro-bind /srv/data /data --bind /srv/out /out" in text
    assert "--size 4096 --tmpfs /tmp" in text
    assert "--unshare-net" in text
    # A tenant's values reach neither the tool nor its command line.
    assert "--clearenv --setenv LD_PRELOAD mine.so" in text
    assert (command.argv, command.env) == (("bwrap", "--args", "--", "train", "--x"), {})
    assert command.wrapped


def test_a_sandbox_uncovers_what_is_shown_before_it_hides_the_state() -> None:
    places = replace(PLACES, shown=(Path("/opt/python"), Path("/tmp/python")))
    text = " ".join(bubblewrapped(("train",), {}, places).hidden)
    shown = text.index("--ro-bind-try /tmp/python /tmp/python")
    assert text.index("--tmpfs /tmp") < shown < text.index("--tmpfs /s ")
    assert "/opt/python" not in text


def test_the_agents_python_is_shown_and_never_all_of_tmp(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    found = shown_folders((tmp_path / "link", Path("/tmp"), Path("/")))
    assert {Path(sys.prefix), tmp_path / "link", tmp_path / "real"} <= set(found)
    assert not {Path("/tmp"), Path("/")} & set(found)


def test_a_program_that_the_wall_hides_is_explained() -> None:
    assert explained("Traceback", ("python3", "train.py")) == ""
    assert explained("bwrap: execvp /tmp/train: No such file or directory", ("/tmp/train",)) == (
        "/tmp/train: No such file or directory: inside the wall the host's files are visible, but "
        "/tmp, /var/tmp, /run and the agent's own directory are empty; a program that lies there "
        "has to come with the working directory or a mount, or the node's operator has to show "
        "its folder"
    )
    said = "python3: can't open file '/tmp/train.py': No such file or directory"
    assert explained(said, ("python3", "/tmp/train.py")).startswith(f"{said}: inside the wall ")
    assert explained(said, ("python3", "/srv/train.py")) == ""
    assert explained("/tmp/out is full", ("python3", "/tmp/out")) == ""


@pytest.mark.parametrize(
    ("tool", "gpus"),
    [
        (ContainerTool.PODMAN, "--device nvidia.com/gpu=GPU-a --device nvidia.com/gpu=GPU-b"),
        (ContainerTool.DOCKER, '--gpus "device=GPU-a,GPU-b"'),
    ],
)
def test_a_container_gets_its_share_and_its_secrets_by_name_only(
    tool: ContainerTool, gpus: str
) -> None:
    command = contained(
        tool,
        "example/train:1",
        ("train", "--lr", "1"),
        PLACES,
        name="fairwatt-1",
        user=User(200_007, 200_007),
        gpus=("GPU-a", "GPU-b"),
        cpus=(2, 1),
        memory_mib=512,
        pids=100,
        network=False,
        env_file=Path("/s/runs/7/env.0"),
        id_file=Path("/s/runs/7/container.0"),
        shared_memory=Path("/dev/shm/fairwatt-1"),
        init=True,
    )
    text = " ".join(command.argv)
    assert text.startswith(f"{tool.value} run --rm --init --name fairwatt-1 ")
    assert gpus in text
    assert "--memory 512m --cpuset-cpus 1,2" in text
    assert "--env-file /s/runs/7/env.0" in text
    assert "--user 200007:200007" in text
    assert "--cap-drop ALL --security-opt no-new-privileges" in text
    assert "--network none --ipc private" in text
    assert "--pids-limit 100" in text
    assert not {"LD_PRELOAD", "KEY"} & command.env.keys()
    assert text.endswith("-- example/train:1 train --lr 1")
    assert command.container == "fairwatt-1"


def test_values_for_a_container_are_lines_of_a_file() -> None:
    env = {"KEY": "a = b #", "PATH": "/usr/bin", "LD_PRELOAD": "x.so"}
    assert env_lines(env) == b"KEY=a = b #\nLD_PRELOAD=x.so\n"
    with pytest.raises(ValueNotPassableError, match="TEXT has a line break"):
        env_lines({"TEXT": "a\nLD_AUDIT=b"})


def fake_cgroups(root: Path, controllers: str = "cpuset cpu memory") -> Path:
    base = root / "system.slice" / "agent"
    base.mkdir(parents=True)
    for directory in (root, base):
        (directory / "cgroup.controllers").write_text(controllers)
    return base


def test_groups_are_made_below_the_agents_own(tmp_path: Path) -> None:
    base = fake_cgroups(tmp_path)
    groups = cgroup.delegated("0::/system.slice/agent\n", tmp_path)
    assert (base / "fairwatt-agent/cgroup.procs").read_text() == str(os.getpid())
    assert (base / "cgroup.subtree_control").read_text() == "+cpuset +memory"
    group = groups.make("fairwatt-7")
    group.limit({3, 1}, 512)
    assert (base / "fairwatt-7/cpuset.cpus").read_text() == "1,3"
    assert (base / "fairwatt-7/memory.max").read_text() == str(512 << 20)


@pytest.mark.parametrize(
    ("asked_mib", "in_use_mib", "limit"),
    [(800, 600, str(800 << 20)), (300, 600, str(600 << 20)), (0, 600, "max")],
)
def test_a_limit_below_what_is_in_use_kills_nobody(
    tmp_path: Path, asked_mib: int, in_use_mib: int, limit: str
) -> None:
    fake_cgroups(tmp_path)
    group = cgroup.delegated("0::/system.slice/agent\n", tmp_path).make("fairwatt-7")
    group.limit({0}, 700)
    (group.path / "memory.current").write_text(str(in_use_mib << 20))
    group.limit({0, 1}, asked_mib)
    assert (group.path / "cpuset.cpus").read_text() == "0,1"
    assert (group.path / "memory.max").read_text() == limit


def test_running_containers_are_given_another_share() -> None:
    argv = changed(ContainerTool.PODMAN, ["fairwatt-1-0", "fairwatt-1-1"], (3, 2), 256)
    assert " ".join(argv) == (
        "podman update --memory 256m --cpuset-cpus 2,3 fairwatt-1-0 fairwatt-1-1"
    )


def test_an_attempt_gives_back_the_far_cpus_first() -> None:
    pool = CpuPool(tuple(range(8)), {0: frozenset({0, 1, 2, 3}), 1: frozenset({4, 5, 6, 7})})
    assert pool.assign(1, 6, {1}) == {4, 5, 6, 7, 0, 1}
    assert pool.assign(1, 4, {1}) == {4, 5, 6, 7}
    assert pool.assign(2, 4, {0}) == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("own", "controllers", "why"),
    [
        ("4:memory:/x\n", "memory cpuset", "does not use cgroup version 2 alone"),
        ("0::/system.slice/agent\n", "cpu pids", "no cpuset, memory controller"),
        ("0::/gone\n", "memory cpuset", "cannot delegate"),
    ],
)
def test_where_groups_cannot_be_made_the_reason_is_said(
    tmp_path: Path, own: str, controllers: str, why: str
) -> None:
    fake_cgroups(tmp_path, controllers)
    with pytest.raises(CgroupsError, match=why):
        cgroup.delegated(own, tmp_path)


def test_numa_nodes_are_read_as_the_kernel_writes_them(tmp_path: Path) -> None:
    for number, cpus in ((0, "0-3,8-9\n"), (1, "4-7\n")):
        (tmp_path / f"node{number}").mkdir()
        (tmp_path / f"node{number}/cpulist").write_text(cpus)
        (tmp_path / f"node{number}/meminfo").write_text(f"Node {number} MemTotal:  2097152 kB\n")
    first, second = host.numa_nodes(tmp_path)
    assert first.cpus == (0, 1, 2, 3, 8, 9)
    assert (second.node, second.memory_mib) == (1, 2048)
    assert host.cpu_list("\n") == ()


def test_progress_takes_what_it_understands(tmp_path: Path) -> None:
    now = [50.0]
    path = tmp_path / "progress.jsonl"
    progress = Progress(path, lambda: now[0])
    progress.read()
    path.write_text('{"step": 3}\n{"step": true}\n{"step": 1e9}\nnull\n{"step": 4}\n{"st')
    progress.read()
    before = progress.step
    with path.open("a") as file:
        file.write('ep": 9}\n{"checkpoint": 8}\n')
    progress.read()
    assert (before, progress.step) == (4, 9)
    assert (progress.checkpoint_step, progress.checkpoint_s) == (8, 50.0)
    with path.open("a") as file:
        file.write('{"checkpoint": 9, "boot_s": 41.5}\n{"checkpoint": 9, "boot_s": 99}\n')
    progress.read()
    assert progress.checkpoint_s == 50.0  # the future is not believed


def test_progress_says_for_what_share_of_the_time_gpus_compute(tmp_path: Path) -> None:
    path = tmp_path / "progress.jsonl"
    progress = Progress(path, lambda: 50.0)
    assert progress.busy == 1.0
    path.write_text('{"step": 1, "busy": 0.25}\n')
    progress.read()
    assert progress.busy == 0.25
    with path.open("a") as file:
        file.write('{"busy": 1.5}\n{"busy": true}\n{"busy": "0.5"}\n{"busy": NaN}\n{"busy": -1}\n')
    progress.read()
    assert progress.busy == 0.25


def test_a_pipe_in_place_of_the_progress_file_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    progress = Progress(tmp_path / "pipe", lambda: 0.0)
    progress.read()
    assert progress.step is None


def test_a_checkpoint_is_dated_by_the_job_if_it_says(tmp_path: Path) -> None:
    path = tmp_path / "progress.jsonl"
    path.write_text('{"checkpoint": 9, "boot_s": 41.5}\n')
    progress = Progress(path, lambda: 50.0)
    progress.read()
    assert progress.checkpoint_s == 41.5


def test_waits_grow_to_a_bound_and_differ_between_nodes() -> None:
    backoff = Backoff(first_s=1.0, longest_s=8.0, draw=random.Random(1))
    waits = [backoff.next_s() for _ in range(50)]
    bounds = [1.0, 2.0, 4.0, 8.0] + [8.0] * 46
    assert all(bound / 2 <= wait <= bound for wait, bound in zip(waits, bounds, strict=True))
    assert len(set(waits[10:])) > 30
    backoff.reset()
    assert backoff.next_s() <= 1.0


@pytest.mark.process
def test_a_process_is_a_pid_and_a_start_time() -> None:
    mine = Process(os.getpid(), start_ticks(os.getpid()) or 0)
    assert mine.alive
    assert not Process(os.getpid(), mine.start_ticks + 1).alive
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert start_ticks(child.pid) is None, "a zombie is not alive"
    child.wait()


def test_an_identity_is_made_once_and_kept_private(tmp_path: Path) -> None:
    path = tmp_path / "identity.json"
    first = identity.load(path)
    assert identity.load(path) == first
    joined = identity.admitted(path, first, 5, "fw_n_secret-token")
    assert identity.load(path) == joined
    assert identity.admitted(path, joined, 5, None).node_token == "fw_n_secret-token"
    assert path.stat().st_mode & 0o777 == 0o600
    assert "secret" not in repr(joined)


def test_a_held_directory_names_its_holder(tmp_path: Path) -> None:
    descriptor = identity.lock(tmp_path / "lock")
    with pytest.raises(StateDirTakenError, match=f"in use by agent {os.getpid()}"):
        identity.lock(tmp_path / "lock")
    os.close(descriptor)
    os.close(identity.lock(tmp_path / "lock"))


def test_the_installed_package_has_every_part() -> None:
    settings = tomllib.loads((ROOT / "agent/pyproject.toml").read_text())
    packages = {path.parent for path in (ROOT / "agent").rglob("__init__.py")}
    named = {
        ".".join(path.relative_to(ROOT).parts) for path in packages if "build" not in path.parts
    }
    assert set(settings["tool"]["setuptools"]["packages"]) == named
    needed = {name.split(">")[0] for name in settings["project"]["dependencies"]}
    assert needed == {"httpx", "msgspec", "nvidia-ml-py", "psutil"}
