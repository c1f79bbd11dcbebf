"""Two live jobs under Synergy on a cluster of one node: its rounds, and where the jobs run."""

from pathlib import Path

import psutil
from django.utils import timezone

from agent.remember.files import read_json
from clusters.models import Cluster, Node
from jobs.models import Attempt
from scheduling.round import run_round


def ready() -> bool:
    return Node.objects.filter(state=Node.State.READY).exists()


def hold_round(packing: str) -> None:
    Cluster.objects.update(policy_parameters={"packing": packing})
    entry = run_round(Cluster.objects.get().pk, now=timezone.now())
    if entry is None or entry.error:
        raise RuntimeError("no round" if entry is None else entry.error)


def runs(directory: Path) -> dict[str, Path]:
    """The agent's directory of every running job."""
    names = dict(Attempt.objects.values_list("pk", "job__name"))
    found = {int(path.name.split("-")[0]): path for path in (directory / "node-1/runs").glob("*-*")}
    return {names[attempt]: path for attempt, path in found.items() if attempt in names}


def pids(directory: Path) -> dict[str, set[int]]:
    """The processes that every job's shim watches over."""
    return {
        name: {
            child.pid
            for child in psutil.Process(read_json(run / "claim")["pid"]).children(recursive=True)
        }
        for name, run in runs(directory).items()
    }


def attempts() -> int:
    return Attempt.objects.count()
