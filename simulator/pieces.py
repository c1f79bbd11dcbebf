"""What running jobs hold, a column per piece, kept in the order of a snapshot's placements."""

import numpy as np

from policies.columns import I32, U64
from policies.ledger import RowPiece
from policies.snapshot import Placements
from simulator.job_columns import fixed

# Rows of the block; whole numbers without sign, since a mask may need all 64 bits.
_JOB, _NODE, _GPUS, _CPUS, _MEM_MIB = range(5)


class Pieces:
    def __init__(self) -> None:
        self._block: U64 = np.zeros((5, 64), np.uint64)
        self._count = 0

    def add(self, row: int, pieces: tuple[RowPiece, ...]) -> None:
        more, count = len(pieces), self._count
        if count + more > self._block.shape[1]:
            self._block = np.concatenate([self._block, np.zeros_like(self._block)], axis=1)
            self.add(row, pieces)
            return
        block, at = self._block, self._first(row)
        block[:, at + more : count + more] = block[:, at:count]
        block[:, at : at + more] = np.array([(row, *piece) for piece in pieces], np.uint64).T
        self._count += more

    def remove(self, row: int, count: int) -> None:
        block, at = self._block, self._first(row)
        block[:, at : self._count - count] = block[:, at + count : self._count]
        self._count -= count

    def _first(self, row: int) -> int:
        return int(self._block[_JOB, : self._count].searchsorted(np.uint64(row)))

    def placements(self, counts: I32) -> Placements:
        """Of jobs in order, `counts` pieces each."""
        offset = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=offset[1:])
        block = self._block[:, : self._count]
        return Placements(
            offset=fixed(offset),
            node=fixed(block[_NODE].astype(np.int32)),
            gpus=fixed(block[_GPUS].copy()),
            cpus=fixed(block[_CPUS].astype(np.int32)),
            mem_mib=fixed(block[_MEM_MIB].astype(np.int64)),
        )
