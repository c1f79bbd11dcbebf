"""How fast a job really runs where it was put, and what it really draws there."""

from collections.abc import Sequence

import numpy as np

from policies.bench.ledger import RowPiece
from policies.contract.columns import F64
from policies.contract.snapshot import ProfileTable
from policies.pricing.cost import marginal_w, per_gpu_w
from simulator.costs import Costs
from simulator.machines import Machines
from simulator.workload import Workload


class Truth:
    def __init__(
        self, jobs: Workload, machines: Machines, profiles: ProfileTable, costs: Costs
    ) -> None:
        nodes, types = machines.nodes, machines.gpu_types
        self.profiles = profiles
        self.costs = costs
        self._profile: list[int] = jobs.profile.tolist()
        self._asked: list[int] = jobs.gpus.tolist()
        self._gpu_type: list[int] = nodes.gpu_type.tolist()
        self._gpus: list[int] = nodes.gpus.tolist()
        self._rack: list[int] = nodes.rack.tolist()
        self._switch: list[int] = nodes.switch.tolist()
        self._idle_w: list[float] = types.idle_w.tolist()
        self._max_w: list[float] = types.max_w.tolist()
        host_w = per_gpu_w(nodes, nodes.host_peak_w - nodes.host_idle_w)
        self._host_w: list[float] = host_w.tolist()
        self._measured: dict[tuple[int, int, int, int], tuple[float, float]] = {}

    def gpu_type(self, node: int) -> int:
        return self._gpu_type[node]

    def behaviour(
        self, row: int, pieces: Sequence[RowPiece], gpus: int, clock_mhz: int
    ) -> tuple[float, float]:
        """Work per second, and watts above the idle draw of its nodes."""
        profile, kind = self._profile[row], self._gpu_type[pieces[0][0]]
        if profile < 0:
            rate, gpu_w = gpus / self._asked[row], self._max_w[kind]
        else:
            rate, gpu_w = self._of_profile(profile, kind, gpus, clock_mhz)
            rate *= self._relative_speed(profile, pieces, gpus)
        if len(pieces) > 1 and not self._measured_so(profile, pieces):
            rate *= 1.0 - self._slowdown(profile, pieces)
        watts = 0.0
        for node, mask, _, _ in pieces:
            added_w = marginal_w(gpu_w, self._idle_w[kind], self._host_w[node])
            watts += mask.bit_count() * added_w
        return rate, watts

    def asked_rate(self, row: int, gpu_type: int) -> float:
        """Work per second on the asked GPUs of one node at the highest clock."""
        profile = self._profile[row]
        return 1.0 if profile < 0 else self._of_profile(profile, gpu_type, self._asked[row], 0)[0]

    def _measured_so(self, profile: int, pieces: Sequence[RowPiece]) -> bool:
        """Profiles of more GPUs than a node has were measured over whole nodes, slowdown and all.

        Unless they say themselves what spreading costs.
        """
        if profile < 0 or self.profiles.spread_slowdown[profile] > 0:
            return False
        return all(mask.bit_count() == self._gpus[node] for node, mask, _, _ in pieces)

    def _slowdown(self, profile: int, pieces: Sequence[RowPiece]) -> float:
        if profile >= 0 and self.profiles.spread_slowdown[profile] > 0:
            return float(self.profiles.spread_slowdown[profile])
        nodes = [piece[0] for piece in pieces]
        return self.costs.slowdown({self._rack[n] for n in nodes}, {self._switch[n] for n in nodes})

    def _of_profile(self, profile: int, kind: int, gpus: int, clock: int) -> tuple[float, float]:
        key = (profile, kind, gpus, clock)
        if key not in self._measured:
            at = self._clock_index(kind, clock)
            throughput = self.profiles.throughput[profile, kind, :, at]
            watts = self.profiles.watts_per_gpu[profile, kind, :, at]
            counts = self.profiles.gpu_counts
            rate, gpu_w = _between(counts, throughput, gpus), _between(counts, watts, gpus)
            if np.isnan(rate) or rate <= 0:
                raise ValueError(f"profile {profile} has no throughput on GPU type {kind}")
            self._measured[key] = (rate, self._max_w[kind] if np.isnan(gpu_w) else gpu_w)
        return self._measured[key]

    def _clock_index(self, kind: int, clock_mhz: int) -> int:
        """An unset clock is the highest one."""
        if not clock_mhz:
            return -1
        return int(np.abs(self.profiles.clocks_mhz[kind] - clock_mhz).argmin())

    def _relative_speed(self, profile: int, pieces: Sequence[RowPiece], gpus: int) -> float:
        """At the largest measured CPUs and memory per GPU that the job has."""
        table = self.profiles
        if not table.relative_speed.size:
            return 1.0
        cpus = sum(piece[2] for piece in pieces) / gpus
        mem_mib = sum(piece[3] for piece in pieces) / gpus
        at_cpus = max(int(np.searchsorted(table.cpus_per_gpu, cpus, side="right")) - 1, 0)
        at_mem = max(int(np.searchsorted(table.mem_mib_per_gpu, mem_mib, side="right")) - 1, 0)
        speed = float(table.relative_speed[profile, at_cpus, at_mem])
        return 1.0 if np.isnan(speed) else speed


def _between(counts: "np.ndarray[tuple[int], np.dtype[np.int32]]", values: F64, gpus: int) -> float:
    known = ~np.isnan(values)
    return float(np.interp(gpus, counts[known], values[known])) if known.any() else float("nan")
