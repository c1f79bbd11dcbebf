"""Free GPUs, CPUs and memory of a partition's nodes over the time ahead, as far as it is known."""

from typing import NamedTuple

import numpy as np

from policies.bench.bits import lowest_bits
from policies.bench.ledger import Ask, Ledger, RowPiece
from policies.bench.reach import node_groups, whole_shares
from policies.contract.columns import F64, I64

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
    """`left` is over (GPUs, CPUs or MiB; moment; node): from `times[b]` to `times[b + 1]`."""

    def __init__(self, ledger: Ledger, nodes: list[int], bookings: list[Booking]) -> None:
        self.ledger = ledger
        self.now_s = ledger.snapshot.now_s
        self.nodes: I64 = np.array(nodes, np.int64)
        self.column = {node: at for at, node in enumerate(nodes)}
        self.types = ledger.snapshot.nodes.gpu_type[self.nodes]
        here = [booking for booking in bookings if booking.node in self.column]
        ends = np.array([booking.end_s for booking in here])
        self.times: F64 = np.concatenate([[self.now_s], _moments(ends, self.now_s)])
        self.left: I64 = np.zeros((3, len(self.times), len(nodes)), np.int64)
        column = np.array([self.column[booking.node] for booking in here], np.int64)
        at = np.searchsorted(self.times, ends), column
        freed = np.array([booking[2:] for booking in here], np.int64).reshape(-1, 3)
        free = [ledger.free[node].bit_count() for node in nodes]
        now = free, [ledger.cpus[node] for node in nodes], [ledger.mem_mib[node] for node in nodes]
        for table, given_back, there in zip(self.left, freed.T, now, strict=True):
            np.add.at(table, at, given_back)
            np.cumsum(table, axis=0, out=table)
            np.add(table, np.array(there, np.int64), out=table)

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
                for table, each in zip(self.left, (1, ask.cpus, ask.mem_mib), strict=True):
                    table[first:last, column] -= each * gpus

    def fence(self, run_s: float) -> list[RowPiece]:
        """What a job that starts now for `run_s` must leave alone, by node, for reservations."""
        last = self._row_at(self.now_s + run_s)
        wanted = self.left[:, 0] - self.left[:, :last].min(axis=1)
        pieces: list[RowPiece] = []
        for at in np.flatnonzero(wanted.any(axis=0)).tolist():
            node, (gpus, cpus, mem_mib) = int(self.nodes[at]), wanted[:, at].tolist()
            free = self.ledger.free[node]
            kept = free ^ lowest_bits(free, max(free.bit_count() - gpus, 0))
            pieces.append((node, kept, cpus, mem_mib))
        return pieces

    def _row_at(self, moment_s: float) -> int:
        return max(1, int(np.searchsorted(self.times, moment_s)))

    def _row_of(self, moment_s: float) -> int:
        """The row that begins at `moment_s`, made if there is room for one, else the next."""
        row = self._row_at(moment_s)
        begins = row < len(self.times) and self.times[row] == moment_s
        if not begins and len(self.times) < _MOST_MOMENTS:
            self.times = np.insert(self.times, row, moment_s)
            self.left = np.insert(self.left, row, self.left[:, row - 1], axis=1)
        return row

    def _room(self, ask: Ask, first: int, last: int) -> I64:
        return whole_shares(ask.cpus, ask.mem_mib, *self.left[:, first:last].min(axis=1))

    def _choose(self, ask: Ask, types: tuple[int, ...], room: I64) -> list[tuple[int, int]] | None:
        for gpu_type in types:
            here = np.where(self.types == gpu_type, room, 0)
            fitting = np.flatnonzero(here >= ask.gpus)
            if len(fitting):
                tightest = fitting[np.argmin(here[fitting])]
                return [(int(self.nodes[tightest]), ask.gpus)]
            for group in node_groups(self.ledger.snapshot.nodes, ask.span, self.nodes):
                inside = np.where(group, here, 0)
                if inside.sum() >= ask.gpus:
                    return self._gather(ask.gpus, inside)
        return None

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
