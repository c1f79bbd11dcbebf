"""Short jobs on a real Slurm of this machine: one controller, and a slurmd per emulated node."""

import os
import shutil
import socket
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab.benchmarks.harness.waiting import until
from lab.benchmarks.short_jobs.cost import Cost, cost_of, inherit_steps
from scheduler_service.embedded.ports import LOOPBACK, free_port
from scheduler_service.embedded.program import Program, running

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "squeue", "sinfo", "munged")
NODES, GPUS, CLIENTS = 4, 8, 4
DEVICE_NULL = os.makedev(1, 3)
SCRIPT = "#!/bin/sh\nexec true\n"

CONF = """
ClusterName=short
SlurmctldHost=localhost({host})
SlurmctldPort={port}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={home}/munge.socket
CredType=cred/munge
StateSaveLocation={home}/state
SlurmdSpoolDir={home}/spool-%n
SlurmctldPidFile={home}/slurmctld.pid
SlurmdPidFile={home}/slurmd-%n.pid
SlurmctldLogFile={home}/slurmctld.log
SlurmdLogFile={home}/slurmd-%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
GresTypes=gpu
ReturnToService=2
MaxJobCount=20000
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
NODE = (
    "NodeName=n{number} NodeHostname=localhost NodeAddr={host} Port={port} CPUs=64"
    " RealMemory=500000 Gres=gpu:a100:{gpus}"
)
CGROUP = "CgroupMountpoint=/sys/fs/cgroup\nIgnoreSystemd=yes\n"


def why_not() -> str:
    """Why no Slurm can be had here; empty if one can."""
    if missing := [name for name in PROGRAMS if shutil.which(name, path=_PATH) is None]:
        return f"not installed: {', '.join(missing)}"
    return "" if os.geteuid() == 0 else "slurmd needs root"


_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


@dataclass(frozen=True, slots=True)
class Slurm:
    home: Path

    @property
    def env(self) -> dict[str, str]:
        return {**os.environ, "PATH": _PATH, "SLURM_CONF": str(self.home / "slurm.conf")}

    def ask(self, *argv: str) -> str:
        done = subprocess.run(
            argv, env=self.env, cwd=self.home, check=True, capture_output=True, text=True
        )
        return done.stdout

    def run(self, jobs: int) -> None:
        """Submit them one by one, and wait until all have ended."""
        script = str(self.home / "true.sh")
        submit = ("sbatch", "--gres=gpu:1", "--cpus-per-task=1", "--mem=1024", "--output=/dev/null")
        with ThreadPoolExecutor(CLIENTS) as clients:
            list(clients.map(lambda _: self.ask(*submit, script), range(jobs)))
        until(lambda: not self.ask("squeue", "--noheader").strip(), "all have ended", pause_s=0.1)

    def ready(self) -> bool:
        return self.ask("sinfo", "--noheader", "--format=%D %t").strip() == f"{NODES} idle"


def measure(jobs: int) -> Cost:
    inherit_steps()
    with slurm() as here:
        here.run(2 * NODES)
        return cost_of(jobs, lambda: here.run(jobs))


@contextmanager
def slurm() -> Iterator[Slurm]:
    with (
        tempfile.TemporaryDirectory(prefix="fairwatt-slurm-", dir="/tmp") as name,
        ExitStack() as up,
    ):
        home = Path(name)
        home.chmod(0o755)
        here = Slurm(_lay_out(home))
        _munge(home, up)
        _start(here, up, "slurmctld", "slurmctld", "-D", "-i")
        for number in range(1, NODES + 1):
            _start(here, up, f"n{number}", "slurmd", "-D", "-N", f"n{number}")
        until(here.ready, "Slurm's nodes are idle", longest_s=60)
        yield here


def _lay_out(home: Path) -> Path:
    nodes = (
        NODE.format(number=number, host=LOOPBACK, port=free_port(), gpus=GPUS)
        for number in range(1, NODES + 1)
    )
    _hosts_must_know_this_host()
    text = CONF.format(home=home, host=LOOPBACK, port=free_port(), nodes="\n".join(nodes))
    (home / "slurm.conf").write_text(text)
    (home / "cgroup.conf").write_text(CGROUP)
    for index in range(GPUS):
        os.mknod(home / f"gpu{index}", 0o666 | stat.S_IFCHR, DEVICE_NULL)
    (home / "gres.conf").write_text(
        f"AutoDetect=off\nName=gpu Type=a100 File={home}/gpu[0-{GPUS - 1}]\n"
    )
    (home / "state").mkdir()
    (home / "true.sh").write_text(SCRIPT)
    return home


def _hosts_must_know_this_host() -> None:
    """slurmd asks for its own name's address."""
    name = socket.gethostname()
    try:
        socket.gethostbyname(name)
    except OSError:
        raise RuntimeError(f"/etc/hosts does not name {name}, as Slurm needs") from None


def _munge(home: Path, up: ExitStack) -> None:
    key = home / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    argv = (
        *("munged", "--foreground", "--force", f"--key-file={key}"),
        *(f"--socket={home}/munge.socket", f"--pid-file={home}/munged.pid"),
        *(f"--seed-file={home}/munge.seed", f"--log-file={home}/munged.log"),
    )
    _start(Slurm(home), up, "munged", *argv)
    until((home / "munge.socket").exists, "munge answers", longest_s=20)


def _start(here: Slurm, up: ExitStack, name: str, *argv: str) -> None:
    program = Program(name, argv, cwd=here.home, env=here.env, stop_grace_s=5.0)
    up.enter_context(running(program, here.home / f"{name}.out"))
