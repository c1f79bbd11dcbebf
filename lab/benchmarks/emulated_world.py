"""The database's side of the demo's nodes, emulated: who joins, and a round now and then."""

import json
from pathlib import Path

from django.utils import timezone

from clusters.models import Cluster, Node
from energy.telemetry.digest import samples_digest
from jobs.models import Job
from lab.benchmarks.emulated import ROOT, Emulated
from scheduler_service import seed as demo
from scheduling.models import Round
from scheduling.round import run_round

EXAMPLES = ROOT / "examples" / "nodes"


def seed(path: Path, address: str, devices: Path = EXAMPLES) -> list[Emulated]:
    """The demo, and its nodes; `devices` has a file for each kind of them."""
    demo.seed(path, url=address, now=timezone.now())
    return [
        Emulated(agent["name"], agent["join_token"], devices / f"{agent['devices']}.toml")
        for agent in json.loads(path.read_text())["agents"]
    ]


def all_ready() -> bool:
    return Node.objects.filter(state=Node.State.READY).count() == len(demo.NODES)


def step() -> bool:
    """A round, as beat and nudges would hold it; whether all is over."""
    entry = run_round(Cluster.objects.get().pk, now=timezone.now())
    if entry is not None and entry.status == Round.Status.FAILED:
        raise RuntimeError(f"the round failed: {entry.error}")
    samples_digest()
    return not Job.objects.exclude(state__in=("succeeded", "failed", "cancelled")).exists()
