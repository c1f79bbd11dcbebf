"""The needs_table of a snapshot's jobs; jobs that behave alike share one."""

from functools import cached_property
from typing import NamedTuple

import numpy as np

from policies.bench.shares.needs import Needs, ProfileSpeeds, Share, hard, insensitive
from policies.contract.columns import I64, Bool
from policies.contract.snapshot import NodeState, NodeTable, ProfileTable, Snapshot


class Kind(NamedTuple):
    """What tells needs_table apart."""

    profile: int
    gpus: int
    partition: int
    gpu_types: int
    cpus: int
    mem_mib: int


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
        found = self._known.get(kind)
        if found is None:
            found = self._known[kind] = self._make(Kind(*kind))
        return found

    def _make(self, kind: Kind) -> Needs:
        request = Share(kind.cpus, kind.mem_mib)
        sensitivity = None
        if kind.profile >= 0 and self._profiles.relative_speed.size:
            sensitivity = ProfileSpeeds(self._profiles, kind.profile)
        if sensitivity is None or not sensitivity.known:
            asked = request.cpus or request.mem_mib
            return hard(request) if asked else insensitive(self._proportional(kind))
        proportional = self._proportional(kind)
        if not (request.mem_mib or self._profiles.mem_told[kind.profile]):
            # What a limit would do to it is not known, so it keeps its part of the node.
            request = Share(request.cpus, proportional.mem_mib)
        return sensitivity.needs(proportional, self._most(kind), request)

    def _reach(self, kind: Kind) -> I64:
        """Ready nodes that jobs of the kind may use at home, else all of them."""
        nodes = self._nodes
        bits = np.uint64(kind.gpu_types) >> nodes.gpu_type.astype(np.uint64) & np.uint64(1)
        there: Bool = self._usable & bits.astype(bool)
        at_home = there & (nodes.partition == kind.partition)
        return np.flatnonzero(at_home if at_home.any() else there)

    @cached_property
    def _usable(self) -> Bool:
        usable: Bool = (self._nodes.state == NodeState.READY) & (self._nodes.gpus > 0)
        return usable

    def _proportional(self, kind: Kind) -> Share:
        """Whole CPUs and MiB per GPU, on the node that has the least of them."""
        at, nodes = self._reach(kind), self._nodes
        if not len(at):
            return Share(0, 0)
        gpus = nodes.gpus[at]
        return Share(int((nodes.cpus[at] // gpus).min()), int((nodes.mem_mib[at] // gpus).min()))

    def _most(self, kind: Kind) -> Share:
        """Per GPU, when as many of the job's GPUs as can be are on one node."""
        at, nodes = self._reach(kind), self._nodes
        if not len(at):
            return Share(0, 0)
        here = np.minimum(nodes.gpus[at], kind.gpus)
        return Share(int((nodes.cpus[at] // here).max()), int((nodes.mem_mib[at] // here).max()))
