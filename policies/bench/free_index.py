"""Nodes of one partition and one GPU type, indexed by how many GPUs they have free."""

from typing import Self

import numpy as np

from policies.bench.bits import buddy_orders, members, set_of
from policies.contract.columns import I32, I64
from policies.contract.snapshot import NodeTable, Span

MOST_GPUS = 64


class FreeIndex:
    """Node sets are whole numbers over node rows, so the lowest row of a set is one operation."""

    def __init__(self, nodes: NodeTable, rows: I64, *, keeps_blocks: bool) -> None:
        self.by_count = [0] * (MOST_GPUS + 1)
        self.counts = 0
        self.by_order = [0] * 7
        self.keeps_blocks = keeps_blocks
        self._nodes = nodes
        self.rows: list[int] = rows.tolist()
        """In ascending order; a node never leaves its index."""
        self._groups: dict[Span, dict[int, int]] = {}
        free = np.bitwise_count(nodes.free_gpus[rows])
        for count in np.unique(free).tolist():
            self.by_count[count] = set_of(rows[free == count])
            self.counts |= 1 << count
        if keeps_blocks:
            masks, widths = nodes.free_gpus[rows].tolist(), nodes.gpus[rows].tolist()
            for node, mask, width in zip(rows.tolist(), masks, widths, strict=True):
                for order in members(buddy_orders(mask, width)):
                    self.by_order[order] |= 1 << node

    def copy(self) -> Self:
        """One that can be changed without changing this; what never changes is shared."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.by_count = self.by_count.copy()
        other.by_order = self.by_order.copy()
        return other

    def change(self, node: int, before: int, after: int, width: int) -> None:
        bit = 1 << node
        old, new = before.bit_count(), after.bit_count()
        self.by_count[old] ^= bit
        if not self.by_count[old]:
            self.counts ^= 1 << old
        self.by_count[new] |= bit
        self.counts |= 1 << new
        if self.keeps_blocks:
            for order in members(buddy_orders(before, width) ^ buddy_orders(after, width)):
                self.by_order[order] ^= bit

    def free_among(self, nodes: int) -> int:
        """GPUs free now on the index's nodes of that set."""
        return sum(c * (self.by_count[c] & nodes).bit_count() for c in members(self.counts))

    @property
    def nodes_in(self) -> dict[Span, dict[int, int]]:
        """The nodes of every rack and of every switch; only gangs over nodes ask for them."""
        if not self._groups:
            self._groups[Span.RACK] = self._by(self._nodes.rack)
            self._groups[Span.SWITCH] = self._by(self._nodes.switch)
        return self._groups

    def _by(self, group: I32) -> dict[int, int]:
        nodes: dict[int, int] = {}
        for node, member_of in zip(self.rows, group[self.rows].tolist(), strict=True):
            if member_of >= 0:
                nodes[member_of] = nodes.get(member_of, 0) | 1 << node
        return nodes
