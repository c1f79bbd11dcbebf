"""An attempt that tries to get out, on the real agent: as a uid, in bubblewrap, in podman."""

import contextlib
import os
import shutil
import socket
import stat
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from agent.wire import DesiredAttempt, End, SecretValue, Stream, Wall
from tests.agent.conftest import Ground, ground_at
from tests.agent.escape.probes import FILL_THE_DISK, PROBES, script
from tests.agent.podman import IMAGE, podman_environment
from tests.agent.process import TWO_GPUS, AgentProcess, alive, gpu_uuid
from tests.agent.service import until

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can give tenants uids of their own"),
]

UIDS = "200000-200999"
# A wall that lets no program in is none to be tested: of any user, and in no /tmp.
SHELL = ("/bin/sh", "-c")
WORDS = (
    "echo mine > secret.txt; echo step > $FAIRWATT_CHECKPOINT_DIR/saved; "
    "(umask 077; echo mine > /dev/shm/$SHM); "
    "echo ready; while :; do sleep 0.1; done"
)


@dataclass(frozen=True)
class Site:
    ground: Ground
    agent: AgentProcess
    port: int

    def path(self, name: str) -> Path:
        return self.ground.directory / name


@pytest.fixture
def directory() -> Iterator[Path]:
    """Which others may pass through, as a node's state directory must be."""
    with tempfile.TemporaryDirectory(prefix="fairwatt-escape-") as name:
        path = Path(name)
        path.chmod(0o711)
        yield path


@pytest.fixture
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@contextlib.contextmanager
def site(
    directory: Path,
    port: int,
    *options: str,
    walled: bool = True,
    env: Mapping[str, str] | None = None,
) -> Iterator[Site]:
    with ground_at(directory) as ground:
        for index in range(2):
            path = directory / f"gpu{index}"
            os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 7 + index))  # full, random
            path.chmod(0o666)
        ground.catalogue.write_text(TWO_GPUS + f'device = "{directory}/gpu{{index}}"\n')
        shutil.copy("/usr/bin/id", directory / "setuid-id")
        (directory / "setuid-id").chmod(0o4755)
        whom = ("--tenant-uids", UIDS) if walled else ("--trust-tenants",)
        agent = ground.agent(**env or {}).start(*whom, *options)
        yield Site(ground, agent, port)


def attempt(number: int, tenant: int, script: str, **changes: object) -> DesiredAttempt:
    facts: dict[str, object] = {
        "attempt_id": number,
        "fence": 10 * number,
        "job_id": number,
        "argv": (*SHELL, script),
        "gpu_uuids": (gpu_uuid(number % 2),),
        "cpus": 1,
        "memory_mib": 200,
        "checkpoint_key": f"job-{number}",
        "tenant_id": tenant,
        "pids_limit": 64,
        "scratch_mib": 64,
        "network": False,
        "grace_s": 1.0,
    }
    return DesiredAttempt(**(facts | changes))  # type: ignore[arg-type]


def victim_of(here: Site, **changes: object) -> int:
    """Another tenant's attempt at work; the process id of its shell."""
    secret = SecretValue("key", "sesame", file="key")
    service, env = here.ground.service, {"SHM": here.ground.directory.name}
    service.want(attempt(8, 2, WORDS, env=env, secrets=(secret,), **changes))
    until(lambda: "ready" in service.text(8) or 8 in service.ended, "the other tenant at work", 60)
    assert 8 not in service.ended, service.ended[8]
    return shell_of(here.agent.state / "runs/8-80")


def shell_of(directory: Path) -> int:
    """The process that is the job itself, in whatever it is wrapped."""
    (pid,) = [
        process.pid
        for process in psutil.process_iter(["name", "cmdline", "environ"])
        if process.info["name"] in ("sh", "dash", "busybox")
        and WORDS in (process.info["cmdline"] or ())
        and str(directory / "work") in (process.info["environ"] or {}).values()
    ]
    return int(pid)


def tries(here: Site, victim: int, **changes: object) -> str:
    """Everything, by an attempt of its own tenant; what it printed."""
    service = here.ground.service
    env = {
        "AGENT": str(here.agent.running.pid),
        "STATE": str(here.agent.state),
        "THEIRS": str(here.agent.state / "runs/8-80"),
        "THEIR_CHECKPOINTS": str(here.agent.state / "checkpoints/job-8"),
        "VICTIM": str(victim),
        "VICTIM_SHM": here.ground.directory.name,
        "OTHER_GPU": str(here.path("gpu0")),
        "OWN_GPU": str(here.path("gpu1")),
        "SETUID": str(here.path("setuid-id")),
        "PORT": f"{here.port:04X}",
        "SHIM": str(here.agent.shim_pid(8)),
        "LD_PRELOAD": "/nowhere/tenant.so",
    }
    service.want(attempt(7, 1, script(), env=env, **changes))
    until(lambda: 7 in service.ended, "the end of all tries", 120)
    until(lambda: (7, Stream.STDOUT) in service.final, "what it printed", 30)
    return service.text(7)


def assert_refused(here: Site, printed: str, *, preloads: int = 1) -> None:
    service = here.ground.service
    lines = printed.splitlines()
    said = f"{printed}\n{service.ended[7]}\n{service.text(7, Stream.STDERR)}"
    assert [line for line in lines if line.startswith("escaped")] == [], said
    assert sum(line.startswith("refused") for line in lines) == len(PROBES) >= 30, said
    assert "own GPU open" in lines, said
    assert (service.ended[7].end, service.ended[7].exit_code) == (End.EXITED, 0), said
    # Of the tenant's library only its own shell says that there is none: the tool was not told.
    assert service.text(7, Stream.STDERR).count("tenant.so") == preloads, said


def assert_disk_is_not_filled(here: Site, **changes: object) -> None:
    service = here.ground.service
    service.want(attempt(9, 1, FILL_THE_DISK, **changes))
    until(lambda: 9 in service.ended, "the end of one that fills the disk", 60)
    assert "it took more than its 64 MiB of disk" in service.ended[9].detail


def assert_unharmed(here: Site, victim: int) -> None:
    service, theirs = here.ground.service, here.agent.state / "runs/8-80"
    assert here.agent.running.poll() is None
    assert alive(victim)
    assert 8 not in service.ended
    assert sorted(path.name for path in (theirs / "work").iterdir()) == ["secret.txt"]
    assert (here.agent.state / "checkpoints/job-8").stat().st_mode & 0o777 == 0o700
    service.cancel(8, "cancelled")
    until(lambda: 8 in service.ended, "the end of the other", 30)
    assert service.ended[8].end is End.STOPPED
    until(lambda: not (theirs / "work").exists(), "what it left taken away", 30)
    assert not Path("/dev/shm", here.ground.directory.name).exists()


def test_without_a_wall_the_probes_do_get_out(directory: Path, port: int) -> None:
    """Else they would prove nothing: as root and without limits, nearly all of them succeed."""
    with site(directory, port, walled=False) as here:
        no_limits = {"memory_mib": 0, "pids_limit": 0, "scratch_mib": 0, "network": True}
        victim = victim_of(here, **no_limits)
        printed = tries(here, victim, **no_limits)
        escaped = {line for line in printed.splitlines() if line.startswith("escaped")}
        # But for another's GPU, which the kernel closes to root too where it can.
        assert len(escaped) >= len(PROBES) - 1, printed
        Path("/dev/shm", directory.name).unlink()


def test_as_a_uid_of_its_own(directory: Path, port: int) -> None:
    with site(directory, port) as here:
        victim = victim_of(here)
        printed = tries(here, victim)
        assert here.ground.service.registers[0].inventory.features.wall is Wall.UID
        assert_refused(here, printed)
        assert_disk_is_not_filled(here)
        assert_unharmed(here, victim)


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
def test_in_bubblewrap(directory: Path, port: int) -> None:
    with site(directory, port, env={"PATH": os.environ["PATH"]}) as here:
        victim = victim_of(here)
        features = here.ground.service.registers[0].inventory.features
        if features.wall is not Wall.NAMESPACES:
            pytest.skip(f"this host lets no bubblewrap work: {features.notes}")
        printed = tries(here, victim)
        assert_refused(here, printed)
        assert_disk_is_not_filled(here)
        assert_unharmed(here, victim)


def test_in_podman(directory: Path, port: int) -> None:
    with site(directory, port, "--container", env=podman_environment(directory)) as here:
        victim = victim_of(here, image=IMAGE)
        printed = tries(here, victim, image=IMAGE)
        assert_refused(here, printed, preloads=0)
        assert_disk_is_not_filled(here, image=IMAGE)
        assert_unharmed(here, victim)
