"""All the parts of one node's agent, and the messages it makes of them."""

import logging
from dataclasses import dataclass, field

from agent import identity
from agent.clock import Clock
from agent.controls import Controls
from agent.devices.base import DeviceSet
from agent.identity import Identity
from agent.journal import COMPACT_AFTER, Journal
from agent.layout import Layout
from agent.logbook import Logbook, Source
from agent.sampler import Sampler, host_reading
from agent.supervisor import Supervisor
from agent.wire import (
    AttemptRef,
    Desired,
    Inventory,
    LogChunk,
    Power,
    Register,
    Registered,
    Sample,
    State,
    Sync,
    Telemetry,
)

log = logging.getLogger("fairwatt.agent")

# How long the logs of an acknowledged attempt wait for a service that does not take them.
LOG_PATIENCE_S = 600.0

Standing = tuple[tuple[AttemptRef, State], ...]


@dataclass(slots=True)
class Node:
    identity: Identity
    inventory: Inventory
    join_token: str | None
    layout: Layout
    journal: Journal
    supervisor: Supervisor
    sampler: Sampler
    controls: Controls
    device_set: DeviceSet
    boot_id: str
    clock: Clock
    logbook: Logbook = field(default_factory=Logbook)
    _sequence: int = 0
    _told: Standing = ()

    def register(self, token: str | None) -> Register:
        join_token = self.join_token if token is None else None
        return Register(self.identity.install_id, self.inventory, join_token)

    def admitted(self, registered: Registered) -> str | None:
        """Remember who we are; the token to go on with."""
        self.identity = identity.admitted(
            self.layout.identity, self.identity, registered.node_id, registered.node_token
        )
        return self.identity.node_token

    def sync(self, epoch: int) -> Sync:
        self._sequence += 1
        reports = self.supervisor.reports()
        self._told = self._standing()
        return Sync(
            epoch=epoch,
            sequence=self._sequence,
            boot_id=self.boot_id,
            attempts=reports,
            gpus=self.supervisor.gpus(),
            samples_shed=self.sampler.shed,
            power=self.device_set.power,
        )

    def accept(self, desired: Desired, sent_s: float) -> None:
        """Take an answer; the lease counts from when its question was sent."""
        if self.clock() < sent_s + desired.run_lease_s:
            self.supervisor.lease.renew(sent_s, desired.run_lease_s)
        self.supervisor.apply(desired, sent_s)
        # What still runs here is not cut off: the service has seen the node empty, or will.
        if desired.power_on or not self.supervisor.runs:
            self._switch(on=desired.power_on)

    def _switch(self, *, on: bool) -> None:
        if on != (self.device_set.power is not Power.OFF):
            log.info("the node is switched %s", "on" if on else "off")
            self.device_set.switch(on=on)

    def tick(self) -> bool:
        """Whether something has happened that the service was not told."""
        self.supervisor.tick()
        self._forget_done()
        if self.journal.lines > COMPACT_AFTER:
            self.journal.compact([*self.controls.entries(), *self.supervisor.book.entries()])
        return self._standing() != self._told

    def telemetry(self, epoch: int, batch: tuple[Sample, ...]) -> Telemetry:
        return Telemetry(
            epoch=epoch,
            boot_id=self.boot_id,
            sent_boot_ms=int(self.clock() * 1000),
            samples=batch,
            samples_shed=self.sampler.shed,
            host=host_reading(),
        )

    def log_chunks(self) -> tuple[LogChunk, ...]:
        running = [Source(r, self.layout.run(r), ended=False) for r in self.supervisor.runs]
        ended = [Source(r, self.layout.run(r), ended=True) for r in self.supervisor.book.ended]
        return self.logbook.chunks(ended + running)

    def _standing(self) -> Standing:
        book = self.supervisor.book
        running = ((ref, run.state) for ref, run in self.supervisor.runs.items())
        ended = ((ref, State.ENDED) for ref, end in book.ended.items() if not end.acked)
        return (*running, *ended)

    def _forget_done(self) -> None:
        book = self.supervisor.book
        for ref, ended in list(book.ended.items()):
            waited_s = abs(self.clock() - ended.ended_s)
            if ended.acked and (self.logbook.finished(ref) or waited_s > LOG_PATIENCE_S):
                book.forget(ref)
                self.logbook.forget(ref)
                self.layout.remove_run(ref)
