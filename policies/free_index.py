"""Nodes of one partition and one GPU type, indexed by how many GPUs they have free."""

from typing import NamedTuple

from policies.bits import buddy_orders, members
from policies.snapshot import Span

MOST_GPUS = 64


class Place(NamedTuple):
    """A node's number of GPUs and where it stands; -1 for a rack or switch not known."""

    width: int
    rack: int
    switch: int


class FreeIndex:
    """Node sets are whole numbers over node rows, so the lowest row of a set is one operation."""

    __slots__ = ("by_count", "by_order", "counts", "free_in", "keeps_blocks", "nodes_in")

    def __init__(self, *, keeps_blocks: bool) -> None:
        self.by_count = [0] * (MOST_GPUS + 1)
        self.counts = 0
        self.by_order = [0] * 7
        self.keeps_blocks = keeps_blocks
        self.free_in: dict[Span, dict[int, int]] = {Span.RACK: {}, Span.SWITCH: {}}
        self.nodes_in: dict[Span, dict[int, int]] = {Span.RACK: {}, Span.SWITCH: {}}

    def add(self, node: int, free: int, place: Place) -> None:
        count = free.bit_count()
        self.by_count[count] |= 1 << node
        self.counts |= 1 << count
        if self.keeps_blocks:
            for order in members(buddy_orders(free, place.width)):
                self.by_order[order] |= 1 << node
        for span, group in ((Span.RACK, place.rack), (Span.SWITCH, place.switch)):
            if group >= 0:
                self.free_in[span][group] = self.free_in[span].get(group, 0) + count
                self.nodes_in[span][group] = self.nodes_in[span].get(group, 0) | 1 << node

    def change(self, node: int, before: int, after: int, place: Place) -> None:
        bit = 1 << node
        old, new = before.bit_count(), after.bit_count()
        self.by_count[old] ^= bit
        if not self.by_count[old]:
            self.counts ^= 1 << old
        self.by_count[new] |= bit
        self.counts |= 1 << new
        if place.rack >= 0:
            self.free_in[Span.RACK][place.rack] += new - old
        if place.switch >= 0:
            self.free_in[Span.SWITCH][place.switch] += new - old
        if self.keeps_blocks:
            changed = buddy_orders(before, place.width) ^ buddy_orders(after, place.width)
            for order in members(changed):
                self.by_order[order] ^= bit
