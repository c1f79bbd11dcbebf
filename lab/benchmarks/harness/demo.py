"""The demo's cluster with emulated nodes: its nodes, and a round now and then."""

import json
from pathlib import Path
from typing import NamedTuple

from django.utils import timezone

from clusters.models import Cluster, Node
from energy.telemetry.digest import samples_digest
from jobs.lifecycle import TERMINAL
from jobs.models import Job
from lab.benchmarks.harness.service import EXAMPLES, BenchmarkService, EmulatedNode
from scheduler_service import seed as demo
from scheduling.models import Round
from scheduling.round import run_round


class Demo(NamedTuple):
    nodes: list[EmulatedNode]
    operator_token: str


def seed(service: BenchmarkService, devices: Path = EXAMPLES / "nodes") -> Demo:
    """The demo, and its nodes; `devices` has a file for each kind of them."""
    path = service.directory / "demo.json"
    demo.seed(path, url=service.address, now=timezone.now())
    known = json.loads(path.read_text())
    nodes = [
        EmulatedNode(agent["name"], agent["join_token"], devices / f"{agent['devices']}.toml")
        for agent in known["agents"]
    ]
    return Demo(nodes, known["operator_token"])


def all_ready() -> bool:
    return Node.objects.filter(state=Node.State.READY).count() == len(demo.NODES)


def step() -> bool:
    """A round, as beat and nudges would hold it; whether all is over."""
    entry = run_round(Cluster.objects.get().pk, now=timezone.now())
    if entry is not None and entry.status == Round.Status.FAILED:
        raise RuntimeError(f"the round failed: {entry.error}")
    samples_digest()
    return all_over()


def all_over() -> bool:
    return not Job.objects.exclude(state__in=TERMINAL).exists()
