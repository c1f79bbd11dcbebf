"""What this node says to the service, and what becomes of the answers."""

import logging
from dataclasses import dataclass

from agent.clock import Clock
from agent.devices.base import DeviceSet
from agent.measure.sampler import host_reading
from agent.remember.lease import RunLease
from agent.remember.state_dir import StateDir
from agent.run.supervisor import AttemptSupervisor
from agent.talk import identity
from agent.talk.identity import Identity
from agent.talk.log_upload import LogSource, LogUpload
from agent.talk.outgoing_reports import attempt_reports, gpu_statuses
from agent.wire import (
    AttemptRef,
    Desired,
    Inventory,
    LogPiece,
    Power,
    Register,
    Registered,
    SampleReport,
    State,
    Sync,
    Telemetry,
)

log = logging.getLogger("fairwatt.agent")

AttemptStates = tuple[tuple[AttemptRef, State], ...]


@dataclass(slots=True)
class NodeMessages:
    identity: Identity
    inventory: Inventory
    join_token: str | None
    state_dir: StateDir
    supervisor: AttemptSupervisor
    log_upload: LogUpload
    device_set: DeviceSet
    lease: RunLease
    boot_id: str
    clock: Clock
    _sequence: int = 0
    _reported: AttemptStates = ()

    def register(self, token: str | None) -> Register:
        join_token = self.join_token if token is None else None
        return Register(self.identity.install_id, self.inventory, join_token)

    def admitted(self, registered: Registered) -> str | None:
        """Remember who we are; the token to go on with."""
        self.identity = identity.admitted(
            self.state_dir.identity, self.identity, registered.node_id, registered.node_token
        )
        return self.identity.node_token

    def sync(self, epoch: int) -> Sync:
        self._sequence += 1
        attempts, gpus = self.supervisor.attempts, self.supervisor.gpus
        reports = attempt_reports(attempts, gpus, self.boot_id, self.clock())
        self._reported = self._states()
        return Sync(
            epoch=epoch,
            sequence=self._sequence,
            boot_id=self.boot_id,
            attempts=reports,
            gpus=gpu_statuses(attempts, gpus),
            samples_shed=gpus.sampler.shed,
            power=self.device_set.power,
        )

    def has_news(self) -> bool:
        """Whether something has happened since the last sync."""
        return self._states() != self._reported

    def accept(self, desired: Desired, sent_s: float) -> None:
        """Take an answer; the lease counts from when its question was sent."""
        if self.clock() < sent_s + desired.run_lease_s:
            own = {
                attempt.attempt_id: attempt.run_lease_s
                for attempt in desired.attempts
                if attempt.run_lease_s is not None
            }
            self.lease.renew(sent_s, desired.run_lease_s, own)
        self.supervisor.apply(desired, sent_s)
        # What still runs here is not cut off: the service has seen the node empty, or will.
        if desired.power_on or not self.supervisor.attempts.runs:
            self._switch(on=desired.power_on)

    def telemetry(self, epoch: int, batch: tuple[SampleReport, ...]) -> Telemetry:
        return Telemetry(
            epoch=epoch,
            boot_id=self.boot_id,
            sent_boot_ms=int(self.clock() * 1000),
            samples=batch,
            samples_shed=self.supervisor.gpus.sampler.shed,
            host=host_reading(),
        )

    def log_chunks(self) -> tuple[LogPiece, ...]:
        attempts = self.supervisor.attempts
        ended = [self._log_source(ref, ended=True) for ref in attempts.store.ended]
        running = [self._log_source(ref, ended=False) for ref in attempts.runs]
        return self.log_upload.chunks(ended + running)

    def _log_source(self, ref: AttemptRef, *, ended: bool) -> LogSource:
        return LogSource(ref, self.state_dir.run(ref), ended=ended)

    def _switch(self, *, on: bool) -> None:
        if on != (self.device_set.power is not Power.OFF):
            log.info("the node is switched %s", "on" if on else "off")
            self.device_set.switch(on=on)

    def _states(self) -> AttemptStates:
        attempts = self.supervisor.attempts
        running = ((ref, run.state) for ref, run in attempts.runs.items())
        ended = ((ref, State.ENDED) for ref, end in attempts.store.ended.items() if not end.acked)
        return (*running, *ended)
