"""The GPUs an attempt holds: handed over, set and read."""

from collections.abc import Mapping
from dataclasses import dataclass

from agent.clock import Clock
from agent.devices.base import Device
from agent.measure.gpu_controls import FREE, GpuControls, GpuSetting
from agent.measure.sampler import GpuSampler
from agent.run.attempt_run import AttemptRun
from agent.wire import DesiredAttempt


@dataclass(frozen=True, slots=True)
class AttemptGpus:
    devices: Mapping[str, Device]
    sampler: GpuSampler
    controls: GpuControls
    clock: Clock

    def missing(self, attempt: DesiredAttempt) -> list[str]:
        return [uuid for uuid in attempt.gpu_uuids if uuid not in self.devices]

    def numa_nodes(self, attempt: DesiredAttempt) -> set[int]:
        nodes = (self.devices[uuid].inventory.numa_node for uuid in self._present(attempt))
        return {node for node in nodes if node is not None}

    def hand_over(self, attempt: DesiredAttempt) -> dict[str, int]:
        """Read at the moment the attempt takes them: the counters it starts from."""
        return self.sampler.hand_over(attempt.gpu_uuids, attempt.attempt_id)

    def adopt(self, attempt: DesiredAttempt) -> None:
        """An earlier agent handed them over."""
        for uuid in self._present(attempt):
            self.sampler.holders[uuid] = attempt.attempt_id

    def take_back(self, attempt: DesiredAttempt) -> dict[str, int]:
        """Read at the moment the attempt leaves them, then without its clock and cap."""
        uuids = self._present(attempt)
        for uuid in uuids:
            self.devices[uuid].occupy(None)
        end_mj = self.sampler.hand_over(uuids, None)
        for uuid in uuids:
            self.controls.apply(uuid, FREE)
        return end_mj

    def set_controls(self, attempt: DesiredAttempt) -> None:
        for uuid in self._present(attempt):
            self.controls.apply(uuid, GpuSetting(attempt.clock_mhz, attempt.power_cap_w))

    def clock_mhz(self, attempt: DesiredAttempt) -> int | None:
        """As it is, not as it was asked for: a driver may have refused."""
        clocks = {self.controls.settings[uuid].clock_mhz for uuid in self._present(attempt)}
        return clocks.pop() if len(clocks) == 1 else None

    def occupy(self, run: AttemptRun) -> None:
        for uuid in self._present(run.attempt):
            self.devices[uuid].occupy(run.shim, run.progress.busy)

    def measure(self, run: AttemptRun) -> None:
        """How far the attempt has come, and what it drew for it."""
        before = run.progress.busy
        run.progress.read()
        if run.progress.busy != before:
            self.occupy(run)
        latest = ((uuid, self.sampler.latest[uuid]) for uuid in self._present(run.attempt))
        run.speedometer.set(self.clock_mhz(run.attempt), run.attempt.cpus, self.clock())
        run.speedometer.advance(
            run.progress.step,
            run.progress.step_s,
            {uuid: (m.energy_mj, m.read_s) for uuid, m in latest if m.energy_mj is not None},
        )

    def _present(self, attempt: DesiredAttempt) -> tuple[str, ...]:
        """Its GPUs, but for those that have gone since an earlier agent gave them to it."""
        return tuple(uuid for uuid in attempt.gpu_uuids if uuid in self.devices)
