"""An attempt that runs on one node and is metered, told as an agent tells it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from agent.wire import AttemptEnergy, DesiredAttempt, End
from clusters.models import Cluster
from jobs.models import Attempt, Job
from scheduler_service.factories import NOW, make_cluster, make_jobs, make_tenant
from scheduling.round import run_round
from tariffs.models import Tariff
from tests.energy.telemetry.readings import HELD_MW, IDLE_MW, Gpu, deliver
from tests.engines.agents.nodes import Agent, join

PRICE = Decimal("0.36")


def make_flat(price: Decimal = PRICE) -> Tariff:
    return Tariff.objects.create(name="flat", kind="flat", price_per_kwh=price)


def make_priced_cluster(**fields: Any) -> Cluster:
    return make_cluster(**{"tariff": make_flat(), "pue": Decimal("1.5"), **fields})


@dataclass
class Metered:
    """One attempt on GPUs whose counters the test drives; the node booted at NOW."""

    agent: Agent
    wanted: DesiredAttempt
    gpus: list[Gpu]

    @classmethod
    def place(cls, cluster: Cluster | None = None, *, gpus: int = 1, **fields: Any) -> "Metered":
        cluster = cluster or make_priced_cluster()
        agent = join(cluster, "n1", gpus=max(gpus, 2))
        make_jobs(cluster, make_tenant(), 1, min_gpus=gpus, max_gpus=gpus, **fields)
        run_round(cluster.pk, now=NOW)
        (wanted,) = agent.sync().attempts
        return cls(agent, wanted, [Gpu(uuid) for uuid in wanted.gpu_uuids])

    def again(self, **fields: Any) -> "Metered":
        """Another job's attempt on the same GPUs, after this one."""
        (job,) = make_jobs(self.attempt.cluster, self.job.tenant, 1, **fields)
        run_round(self.attempt.cluster_id, now=self.now)
        (wanted,) = self.agent.sync(now=self.now).attempts
        assert wanted.job_id == job.pk
        return Metered(self.agent, wanted, self.gpus)

    @property
    def attempt(self) -> Attempt:
        return Attempt.objects.get(pk=self.wanted.attempt_id)

    @property
    def job(self) -> Job:
        return self.attempt.job

    def idle(self, seconds: int) -> None:
        for gpu in self.gpus:
            gpu.run(seconds, IDLE_MW)

    def start(self) -> None:
        """The GPUs are read as they are taken."""
        self.starts = {gpu.uuid: gpu.energy_mj for gpu in self.gpus}
        self.since = self.gpus[0].boot_ms
        self.report(self.agent.running)

    def run(self, seconds: int, power_mw: int = HELD_MW, **fields: Any) -> None:
        for gpu in self.gpus:
            gpu.run(seconds, power_mw, self.wanted.attempt_id, **fields)

    def end(self, **fields: Any) -> None:
        self.report(self.agent.ended, **fields)

    def reboot(self) -> None:
        self.report(self.agent.ended, end=End.NODE_REBOOTED, exit_code=None)

    def report(self, tell: Any, **fields: Any) -> None:
        energy = tuple(
            AttemptEnergy(gpu.uuid, self.starts[gpu.uuid], gpu.energy_mj) for gpu in self.gpus
        )
        ran_s = (self.gpus[0].boot_ms - self.since) / 1000
        tell(self.wanted, **{"ran_s": ran_s, "energy": energy, **fields})
        self.agent.sync(now=self.now)

    def deliver(self) -> None:
        deliver(self.agent.node, [each for gpu in self.gpus for each in gpu.samples])

    @property
    def now(self) -> datetime:
        return self.gpus[0].at()

    def drawn_mj(self) -> int:
        return sum(gpu.energy_mj - self.starts[gpu.uuid] for gpu in self.gpus)


def later(metered: Metered, **span: float) -> datetime:
    return metered.now + timedelta(**span)
