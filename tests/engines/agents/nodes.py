"""A node's agent, played by a test: it registers, syncs and says what the test wants."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from agent.wire import (
    AttemptReport,
    ContainerTool,
    Desired,
    End,
    Features,
    GpuInventory,
    GpuStatus,
    Inventory,
    MemoryLimit,
    Power,
    Register,
    State,
    Sync,
    Wall,
)
from clusters.models import Cluster, Node
from clusters.services.join_tokens import join_token_create
from engines.agents.registration import node_register
from engines.agents.sync import node_sync
from scheduler_service.factories import NOW
from tenancy.callers import SYSTEM, Caller
from tenancy.roles import Role

BOOT = "boot-1"


def inventory(name: str, gpus: int = 4, boot_id: str = BOOT, **fields: Any) -> Inventory:
    return Inventory(
        **{
            "name": name,
            "address": f"10.0.0.{sum(map(ord, name)) % 250}",
            "agent_version": "1",
            "driver": "550",
            "boot_id": boot_id,
            "cpus": 64,
            "memory_mib": 65_536,
            "gpus": tuple(
                GpuInventory(
                    uuid=f"GPU-{name}-{index}",
                    index=index,
                    type_name="A100",
                    memory_mib=81_920,
                    max_w=400,
                    idle_w=50,
                )
                for index in range(gpus)
            ),
            "features": Features(
                cgroup=False,
                bubblewrap=False,
                affinity=True,
                memory_limit=MemoryLimit.RLIMIT,
                wall=Wall.UID,
                workloads=True,
                git=True,
                containers=ContainerTool.PODMAN,
            ),
            **fields,
        }
    )


def join_token(cluster: Cluster, now: datetime = NOW) -> str:
    return join_token_create(caller=SYSTEM, cluster=cluster.name, lifetime_s=3600, now=now).secret


@dataclass
class Agent:
    node: Node
    epoch: int = 0
    sequence: int = 0
    reports: dict[int, AttemptReport] = field(default_factory=dict)
    secret: str = ""

    def sync(
        self, *, now: datetime = NOW, gpus: tuple[GpuStatus, ...] = (), power: Power = Power.ON
    ) -> Desired:
        self.sequence += 1
        self.node.refresh_from_db()
        message = Sync(
            epoch=self.epoch,
            sequence=self.sequence,
            boot_id=BOOT,
            attempts=tuple(self.reports.values()),
            gpus=gpus,
            power=power,
        )
        answer = node_sync(self.token_id, message, now=now)
        for ref in answer.acks:
            self.reports.pop(ref.attempt_id, None)
        return answer

    @property
    def token_id(self) -> int:
        assert self.node.token_id is not None
        return self.node.token_id

    def running(self, attempt: Any, **fields: Any) -> None:
        self.reports[attempt.attempt_id] = AttemptReport(
            attempt.attempt_id, attempt.fence, State.RUNNING, **fields
        )

    def ended(self, attempt: Any, exit_code: int | None = 0, **fields: Any) -> None:
        values = {"end": End.EXITED, "exit_code": exit_code, **fields}
        self.reports[attempt.attempt_id] = AttemptReport(
            attempt.attempt_id, attempt.fence, State.ENDED, **values
        )


def join(cluster: Cluster, name: str, *, gpus: int = 4, now: datetime = NOW) -> Agent:
    register = Register(
        install_id=f"install-{name}",
        inventory=inventory(name, gpus),
        join_token=join_token(cluster, now),
    )
    joined = node_register(caller=None, register=register, now=now)
    return Agent(joined.node, joined.node.epoch, secret=joined.secret or "")


def node_caller(node: Node) -> Caller:
    return Caller(token_id=node.token_id, role=Role.NODE)
