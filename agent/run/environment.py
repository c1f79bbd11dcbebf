"""What an attempt's processes find in their environment."""

import os
from collections.abc import Mapping
from pathlib import Path

from agent.wire import DesiredAttempt, Gang

# The agent's own environment may hold its join token; only what programs need to start passes.
PASSED_ON = ("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "CUDA_HOME")


def job_environment(
    attempt: DesiredAttempt,
    *,
    node: str,
    work: Path,
    progress: Path,
    checkpoints: Path,
    cpus: Path,
    clock: Path,
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
    }
    home = {"HOME": str(work), "PYTHONUNBUFFERED": "1"}
    shared = gang_environment(attempt.gang) if attempt.gang else {}
    return passed_on | home | attempt.env | ours | shared


def gang_environment(gang: Gang) -> dict[str, str]:
    """The part of torchrun's variables that all processes of the node share."""
    return {
        "MASTER_ADDR": gang.master_address,
        "MASTER_PORT": str(gang.master_port),
        "WORLD_SIZE": str(gang.world_size),
        "LOCAL_WORLD_SIZE": str(gang.local_world_size),
        "NNODES": str(gang.nodes),
        "NODE_RANK": str(gang.node_rank),
        "GROUP_RANK": str(gang.node_rank),
    }


def process_environments(gang: Gang | None) -> list[dict[str, str]]:
    """One entry for each process to start, with what only that process gets."""
    if gang is None:
        return [{}]
    return [
        {"RANK": str(gang.first_rank + local), "LOCAL_RANK": str(local)}
        for local in range(gang.local_world_size)
    ]
