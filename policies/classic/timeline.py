"""Free GPUs, CPUs and memory of a partition's nodes over the time ahead, as far as it is known."""

from typing import NamedTuple

import numpy as np

from policies.bench.ledger import Ask, Ledger, RowPiece
from policies.contract.columns import F64, I64
from policies.contract.snapshot import Span

# More distinct moments than this are rounded up to later ones: what is promised then comes later
# than it might, never earlier.
_MOST_MOMENTS = 64


class Booking(NamedTuple):
    """What is given back at `end_s`: (node row, GPUs, CPUs, MiB)."""

    end_s: float
    node: int
    gpus: int
    cpus: int
    mem_mib: int


class Reservation(NamedTuple):
    start_s: float
    shares: list[tuple[int, int]]
    """Node rows and GPUs on each."""


class Timeline:
    """Row b of `gpus`, `cpus` and `mem_mib` holds from `times[b]` to `times[b + 1]`."""

    def __init__(self, ledger: Ledger, nodes: list[int], bookings: list[Booking]) -> None:
        self.ledger = ledger
        self.now_s = ledger.snapshot.now_s
        self.nodes: I64 = np.array(nodes, np.int64)
        self.column = {node: at for at, node in enumerate(nodes)}
        self.types = ledger.snapshot.nodes.gpu_type[self.nodes]
        here = [booking for booking in bookings if booking.node in self.column]
        ends = np.array([booking.end_s for booking in here])
        self.times: F64 = np.concatenate([[self.now_s], _moments(ends, self.now_s)])
        shape = (len(self.times), len(nodes))
        self.gpus = np.zeros(shape, np.int64)
        self.cpus = np.zeros(shape, np.int64)
        self.mem_mib = np.zeros(shape, np.int64)
        at = np.searchsorted(self.times, ends)
        column = np.array([self.column[booking.node] for booking in here], np.int64)
        for table, amounts in (
            (self.gpus, [booking.gpus for booking in here]),
            (self.cpus, [booking.cpus for booking in here]),
            (self.mem_mib, [booking.mem_mib for booking in here]),
        ):
            np.add.at(table, (at, column), np.array(amounts, np.int64))
            np.cumsum(table, axis=0, out=table)
        self.gpus += np.array([ledger.free[node].bit_count() for node in nodes], np.int64)
        self.cpus += np.array([ledger.cpus[node] for node in nodes], np.int64)
        self.mem_mib += np.array([ledger.mem_mib[node] for node in nodes], np.int64)

    def earliest(self, ask: Ask, types: tuple[int, ...], run_s: float) -> Reservation | None:
        """The first moment from which the ask has room for `run_s`; None when it never has."""
        for first, start_s in enumerate(self.times.tolist()):
            if self._choose(ask, types, self._room(ask, first, first + 1)) is None:
                continue
            last = self._row_at(start_s + run_s)
            shares = self._choose(ask, types, self._room(ask, first, last))
            if shares is not None:
                return Reservation(start_s, shares)
        return None

    def book(self, shares: list[tuple[int, int]], ask: Ask, start_s: float, run_s: float) -> None:
        first = int(np.searchsorted(self.times, start_s))
        last = self._row_of(start_s + run_s)
        for node, gpus in shares:
            column = self.column.get(node)
            if column is not None:
                self.gpus[first:last, column] -= gpus
                self.cpus[first:last, column] -= ask.cpus * gpus
                self.mem_mib[first:last, column] -= ask.mem_mib * gpus

    def fence(self, run_s: float) -> list[RowPiece]:
        """What a job that starts now for `run_s` must leave alone, by node, for reservations."""
        last = self._row_at(self.now_s + run_s)
        ledger = self.ledger
        gpus = self.gpus[0] - self.gpus[:last].min(axis=0)
        cpus = self.cpus[0] - self.cpus[:last].min(axis=0)
        mem_mib = self.mem_mib[0] - self.mem_mib[:last].min(axis=0)
        pieces: list[RowPiece] = []
        for at in np.flatnonzero(gpus | cpus | mem_mib).tolist():
            node = int(self.nodes[at])
            kept = ledger.free[node]
            for _ in range(kept.bit_count() - int(gpus[at])):
                kept &= kept - 1
            pieces.append((node, kept, int(cpus[at]), int(mem_mib[at])))
        return pieces

    def _row_at(self, moment_s: float) -> int:
        return max(1, int(np.searchsorted(self.times, moment_s)))

    def _row_of(self, moment_s: float) -> int:
        """The row that begins at `moment_s`, made if there is room for one, else the next."""
        row = self._row_at(moment_s)
        begins = row < len(self.times) and self.times[row] == moment_s
        if not begins and len(self.times) < _MOST_MOMENTS:
            self.times = np.insert(self.times, row, moment_s)
            self.gpus = np.insert(self.gpus, row, self.gpus[row - 1], axis=0)
            self.cpus = np.insert(self.cpus, row, self.cpus[row - 1], axis=0)
            self.mem_mib = np.insert(self.mem_mib, row, self.mem_mib[row - 1], axis=0)
        return row

    def _room(self, ask: Ask, first: int, last: int) -> I64:
        room: I64 = self.gpus[first:last].min(axis=0)
        if ask.cpus:
            room = np.minimum(room, self.cpus[first:last].min(axis=0) // ask.cpus)
        if ask.mem_mib:
            room = np.minimum(room, self.mem_mib[first:last].min(axis=0) // ask.mem_mib)
        return np.maximum(room, 0)

    def _choose(self, ask: Ask, types: tuple[int, ...], room: I64) -> list[tuple[int, int]] | None:
        for gpu_type in types:
            here = np.where(self.types == gpu_type, room, 0)
            fitting = np.flatnonzero(here >= ask.gpus)
            if len(fitting):
                tightest = fitting[np.argmin(here[fitting])]
                return [(int(self.nodes[tightest]), ask.gpus)]
            for group in self._groups(ask.span):
                inside = here if group is None else np.where(group, here, 0)
                if inside.sum() >= ask.gpus:
                    return self._gather(ask.gpus, inside)
        return None

    def _groups(self, span: Span) -> list[np.ndarray[tuple[int], np.dtype[np.bool_]] | None]:
        if span is Span.NODE:
            return []
        if span is Span.ANY:
            return [None]
        table = self.ledger.snapshot.nodes
        tables = {Span.RACK: table.rack, Span.SWITCH: table.switch}
        groups = [tables[kind][self.nodes] for kind in span.groups()]
        return [group == value for group in groups for value in np.unique(group[group >= 0])]

    def _gather(self, gpus: int, room: I64) -> list[tuple[int, int]]:
        shares = []
        for at in np.argsort(-room, kind="stable").tolist():
            share = min(gpus, int(room[at]))
            shares.append((int(self.nodes[at]), share))
            gpus -= share
            if not gpus:
                break
        return shares


def _moments(ends: F64, now_s: float) -> F64:
    distinct = np.unique(ends[ends > now_s])
    if len(distinct) < _MOST_MOMENTS // 2:
        return distinct
    # Half of the moments are left for the ends of what is promised in this round.
    share = np.linspace(0, 1, _MOST_MOMENTS // 2)
    return np.unique(np.quantile(ends[ends > now_s], share, method="higher"))
