"""Which CPUs an attempt gets: its own, near its GPUs, as long as there are any."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class CpuPool:
    """`near` maps a NUMA node to its CPUs; CPUs of a node that is not known count as far."""

    cpus: tuple[int, ...]
    near: Mapping[int, frozenset[int]] = field(default_factory=dict)
    _taken: dict[int, frozenset[int]] = field(default_factory=dict)

    def assign(self, attempt_id: int, count: int, numa: Collection[int] = ()) -> frozenset[int]:
        """Give the attempt `count` CPUs, keeping those it has; 0 means all that nobody owns."""
        kept = self._taken.pop(attempt_id, frozenset())
        if count == 0:
            return self.unowned()
        close = frozenset[int]().union(*(self.near.get(node, frozenset()) for node in numa))
        free = [cpu for cpu in self.cpus if not any(cpu in held for held in self._taken.values())]
        # A service that counts CPUs right never asks for more than are free.
        ranked = sorted(free, key=lambda cpu: (cpu not in kept, cpu not in close))
        self._taken[attempt_id] = chosen = frozenset(ranked[:count])
        return chosen or frozenset(self.cpus)

    def take(self, attempt_id: int, cpus: frozenset[int]) -> None:
        self._taken[attempt_id] = cpus

    def release(self, attempt_id: int) -> None:
        self._taken.pop(attempt_id, None)

    def unowned(self) -> frozenset[int]:
        owned = frozenset[int]().union(*self._taken.values())
        return frozenset(self.cpus) - owned or frozenset(self.cpus)


def real(cpus: Collection[int], present: Collection[int]) -> frozenset[int]:
    """CPUs of an emulated host laid over those that are there; on a real host themselves."""
    there = sorted(present)
    return frozenset(cpu if cpu in there else there[cpu % len(there)] for cpu in cpus)
