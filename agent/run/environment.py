"""What an attempt's processes find in their environment: the same names in every placement."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from agent.wire import DesiredAttempt, Gang, Processes

# The agent's own environment may hold its join token; only what programs need to start passes.
PASSED_ON = ("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "CUDA_HOME")
# Below the ephemeral range of Linux, as the service's own.
LOG_OF_RANK = re.compile(r"\Astdout\.(\d+)\.log\Z")
ALONE_PORT, ALONE_PORTS = 20_000, 12_000


def job_environment(
    attempt: DesiredAttempt,
    *,
    node: str,
    work: Path,
    progress: Path,
    checkpoints: Path,
    cpus: Path,
    clock: Path,
    secrets: Path,
    base: Mapping[str, str] = os.environ,
) -> dict[str, str]:
    """The tenant's variables over the node's, and over both what only the agent can know."""
    passed_on = {name: base[name] for name in PASSED_ON if name in base}
    ours = {
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": ",".join(attempt.gpu_uuids),
        "FAIRWATT_ATTEMPT_ID": str(attempt.attempt_id),
        "FAIRWATT_CHECKPOINT_DIR": str(checkpoints),
        "FAIRWATT_CLOCK_FILE": str(clock),
        "FAIRWATT_CPUS": str(attempt.cpus),
        "FAIRWATT_CPUS_FILE": str(cpus),
        "FAIRWATT_GPUS": str(len(attempt.gpu_uuids)),
        "FAIRWATT_JOB_ID": str(attempt.job_id),
        "FAIRWATT_NODE": node,
        "FAIRWATT_PROGRESS": str(progress),
        "FAIRWATT_SECRETS_DIR": str(secrets),
    }
    home = {"HOME": str(work), "PYTHONUNBUFFERED": "1"}
    given = {each.variable: each.value for each in attempt.secrets if each.variable}
    return passed_on | home | attempt.env | given | ours | gang_environment(attempt)


def gang_of(attempt: DesiredAttempt) -> Gang:
    """An older service says nothing of an attempt on one node: that is one process."""
    return attempt.gang or Gang(
        first_rank=0,
        world_size=1,
        local_world_size=1,
        node_rank=0,
        nodes=1,
        master_address="127.0.0.1",
        master_port=ALONE_PORT + attempt.attempt_id % ALONE_PORTS,
    )


def gang_environment(attempt: DesiredAttempt) -> dict[str, str]:
    """What all processes of the node share, by the names that torch.distributed reads."""
    gang = gang_of(attempt)
    shared = {
        "MASTER_ADDR": gang.master_address,
        "MASTER_PORT": str(gang.master_port),
        "WORLD_SIZE": str(gang.world_size),
        "LOCAL_WORLD_SIZE": str(gang.local_world_size),
        "NNODES": str(gang.nodes),
        "NODE_RANK": str(gang.node_rank),
        "GROUP_RANK": str(gang.node_rank),
    }
    return shared | (_torchrun(attempt, gang) if attempt.processes is Processes.PER_NODE else {})


def _torchrun(attempt: DesiredAttempt, gang: Gang) -> dict[str, str]:
    """Defaults of torchrun's own options: a bare `torchrun train.py` starts a process per GPU."""
    return {
        "PET_MASTER_ADDR": gang.master_address,
        "PET_MASTER_PORT": str(gang.master_port),
        "PET_NNODES": str(gang.nodes),
        "PET_NODE_RANK": str(gang.node_rank),
        "PET_NPROC_PER_NODE": str(len(attempt.gpu_uuids)),
    }


def ranks_of(attempt: DesiredAttempt) -> range:
    """Of the processes to start on this node."""
    gang = gang_of(attempt)
    return range(gang.first_rank, gang.first_rank + gang.local_world_size)


def process_environments(attempt: DesiredAttempt) -> list[dict[str, str]]:
    """One entry for each process to start, with what only that process gets."""
    return [
        {"RANK": str(rank), "LOCAL_RANK": str(local)}
        for local, rank in enumerate(ranks_of(attempt))
    ]


def labelled_ranks(attempt: DesiredAttempt) -> tuple[int | None, ...]:
    """Whose logs are kept apart; a process that is alone has no rank to be told by."""
    return tuple(ranks_of(attempt)) if gang_of(attempt).world_size > 1 else (None,)


def log_file(stream: str, rank: int | None) -> str:
    return f"{stream}.log" if rank is None else f"{stream}.{rank}.log"


def ranks_with_logs(directory: Path) -> tuple[int | None, ...]:
    """By the files that are there: of an attempt that ended, they are what is left."""
    try:
        names = {path.name for path in directory.iterdir()}
    except FileNotFoundError:
        return ()
    ranks = [int(number) for name in names for number in LOG_OF_RANK.findall(name)]
    return tuple(sorted(ranks)) or ((None,) if log_file("stdout", None) in names else ())
