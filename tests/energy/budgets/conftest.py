"""Nodes whose GPUs draw what a test says, and the watch over them."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest

from clusters.models import Cluster, Node
from energy.budgets.watch import DELAY, power_watch
from energy.models import PowerState
from scheduler_service.factories import NOW, make_cluster
from tests.energy.telemetry.readings import Gpu, take
from tests.engines.agents.nodes import join

MINUTE = timedelta(seconds=60)


@dataclass
class World:
    """Two nodes of two GPUs; their hosts draw 100 W when idle and 300 W when all is held."""

    cluster: Cluster
    nodes: list[Node]
    gpus: list[Gpu]
    now: datetime = NOW
    nudged: list[int] = field(default_factory=list)

    def draw(self, *watts: int, seconds: int = 60) -> None:
        """Every GPU draws so much for a while, and it is all told at the end."""
        for gpu, each in zip(self.gpus, watts, strict=True):
            gpu.run(seconds, each * 1000)
        self.now += timedelta(seconds=seconds)
        for number, node in enumerate(self.nodes):
            own = self.gpus[2 * number : 2 * number + 2]
            take(node, [each for gpu in own for each in gpu.samples], now=self.now)
            for gpu in own:
                gpu.samples.clear()

    def watch(self) -> PowerState:
        power_watch(now=self.now + DELAY)
        return PowerState.objects.get(cluster=self.cluster, partition=None)


@pytest.fixture
def world(db: None, monkeypatch: pytest.MonkeyPatch) -> World:
    cluster = make_cluster(power_budget_w=1000)
    nodes = [join(cluster, name, gpus=2).node for name in ("n1", "n2")]
    Node.objects.update(host_idle_w=100, host_peak_w=300)
    Cluster.objects.update(updated_at=NOW - MINUTE)
    gpus = [Gpu(f"GPU-{node.name}-{index}") for node in nodes for index in (0, 1)]
    made = World(cluster, nodes, gpus)
    monkeypatch.setattr("energy.budgets.watch.nudge", made.nudged.append)
    return made
