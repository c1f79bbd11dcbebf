"""The needs of a snapshot's jobs; jobs that behave alike share them."""

from functools import cached_property

import numpy as np

from policies.bench.shares.needs import Needs, ProfileSpeeds, Share, hard
from policies.contract.columns import I64, Bool
from policies.contract.snapshot import NodeState, NodeTable, ProfileTable, Snapshot


class NeedsTable:
    """Depends on the machines and the profiles alone, so that it serves many rounds."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._nodes: NodeTable = snapshot.nodes
        self._profiles: ProfileTable = snapshot.profiles
        self._known: dict[tuple[int, ...], Needs] = {}

    def serves(self, snapshot: Snapshot) -> bool:
        """Columns that never change come as the same arrays."""
        ours, theirs = self._nodes, snapshot.nodes
        return (
            self._profiles is snapshot.profiles
            and ours.cpus is theirs.cpus
            and ours.mem_mib is theirs.mem_mib
            and ours.gpus is theirs.gpus
            and ours.partition is theirs.partition
            and ours.gpu_type is theirs.gpu_type
            and np.array_equal(ours.state, theirs.state)
        )

    def of(self, kind: tuple[int, int, int, int, int, int]) -> Needs:
        """Of jobs alike in profile, GPUs, partition, GPU types, and CPUs and memory per GPU."""
        found = self._known.get(kind)
        if found is None:
            found = self._known[kind] = self._make(*kind)
        return found

    def _make(  # noqa: PLR0917  # what tells needs apart
        self, profile: int, gpus: int, partition: int, gpu_types: int, cpus: int, mem_mib: int
    ) -> Needs:
        request, at = Share(cpus, mem_mib), self._reach(partition, gpu_types)
        sensitivity = None
        if profile >= 0 and self._profiles.relative_speed.size:
            sensitivity = ProfileSpeeds(self._profiles, profile)
        if sensitivity is None or not sensitivity.known:
            # Of one that asks for nothing, nothing is known: it gets its proportional share.
            return hard(request if any(request) else self._proportional(at))
        proportional = self._proportional(at)
        if not (request.mem_mib or self._profiles.mem_told[profile]):
            # What a limit would do to it is not known, so it keeps its part of the node.
            request = Share(request.cpus, proportional.mem_mib)
        return sensitivity.needs(proportional, self._most(at, gpus), request)

    def _reach(self, partition: int, gpu_types: int) -> I64:
        """Ready nodes that such jobs may use at home, else all of them."""
        nodes = self._nodes
        bits = np.uint64(gpu_types) >> nodes.gpu_type.astype(np.uint64) & np.uint64(1)
        there: Bool = self._usable & bits.astype(bool)
        at_home = there & (nodes.partition == partition)
        return np.flatnonzero(at_home if at_home.any() else there)

    @cached_property
    def _usable(self) -> Bool:
        usable: Bool = (self._nodes.state == NodeState.READY) & (self._nodes.gpus > 0)
        return usable

    def _proportional(self, at: I64) -> Share:
        """Whole CPUs and MiB per GPU, on the node that has the least of them."""
        nodes, gpus = self._nodes, self._nodes.gpus[at]
        cpus, mem_mib = nodes.cpus[at] // gpus, nodes.mem_mib[at] // gpus
        return Share(int(cpus.min()), int(mem_mib.min())) if len(at) else Share(0, 0)

    def _most(self, at: I64, gpus: int) -> Share:
        """Per GPU, when as many of the job's GPUs as can be are on one node."""
        nodes, here = self._nodes, np.minimum(self._nodes.gpus[at], gpus)
        cpus, mem_mib = nodes.cpus[at] // here, nodes.mem_mib[at] // here
        return Share(int(cpus.max(initial=0)), int(mem_mib.max(initial=0)))
