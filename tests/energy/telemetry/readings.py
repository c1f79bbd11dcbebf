"""A node's telemetry, made up: what its GPUs' counters read, and the message that says so."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from agent.wire import SampleReport, Telemetry
from clusters.models import Node
from energy.telemetry.digest import samples_digest
from engines.agents.authentication import Sender
from engines.agents.telemetry_intake import telemetry_take
from scheduler_service.factories import NOW
from tests.engines.agents.nodes import BOOT

HELD_MW, IDLE_MW = 300_000, 50_000


def sample(uuid: str, sequence: int, energy_mj: int, **fields: Any) -> SampleReport:
    """Read a second apart from one another."""
    values = {"boot_ms": 1000 * sequence, "power_mw": IDLE_MW, **fields}
    return SampleReport(uuid=uuid, sequence=sequence, energy_mj=energy_mj, **values)


def telemetry(node: Node, samples: Sequence[SampleReport], **fields: Any) -> Telemetry:
    newest_ms = max((each.boot_ms for each in samples), default=0)
    values = {"epoch": node.epoch, "boot_id": BOOT, "sent_boot_ms": newest_ms, **fields}
    return Telemetry(samples=tuple(samples), **values)


def sender(node: Node) -> Sender:
    return Sender(node.token_id or 0, node.pk, node.epoch, node.samples_shed)


def take(node: Node, samples: Sequence[SampleReport], now: datetime = NOW, **fields: Any) -> None:
    """What comes in is digested at once."""
    telemetry_take(sender(node), telemetry(node, samples, **fields), now=now)
    samples_digest()


@dataclass
class Gpu:
    """Counts exactly: milliwatts times milliseconds are microjoules."""

    uuid: str
    energy_uj: int = 0
    boot_ms: int = 0
    sequence: int = 0
    samples: list[SampleReport] = field(default_factory=list)

    @property
    def energy_mj(self) -> int:
        return self.energy_uj // 1000

    def run(
        self, seconds: int, power_mw: int, attempt_id: int | None = None, every_ms: int = 1000
    ) -> None:
        for _ in range(seconds * 1000 // every_ms):
            self.boot_ms += every_ms
            self.energy_uj += power_mw * every_ms
            self.read(power_mw, attempt_id)

    def read(self, power_mw: int = IDLE_MW, attempt_id: int | None = None) -> None:
        self.sequence += 1
        self.samples.append(
            sample(
                self.uuid,
                self.sequence,
                self.energy_mj,
                boot_ms=self.boot_ms,
                power_mw=power_mw,
                attempt_id=attempt_id,
            )
        )

    def at(self) -> datetime:
        """The service's time, if the node booted at NOW."""
        return NOW + timedelta(milliseconds=self.boot_ms)


def deliver(node: Node, samples: Iterable[SampleReport], batch: int = 2048) -> None:
    """Each batch arrives the moment its newest sample was taken."""
    waiting = list(samples)
    for first in range(0, len(waiting), batch):
        part = waiting[first : first + batch]
        newest_ms = max(each.boot_ms for each in part)
        telemetry_take(
            sender(node), telemetry(node, part), now=NOW + timedelta(milliseconds=newest_ms)
        )
    samples_digest()
