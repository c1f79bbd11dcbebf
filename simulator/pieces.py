"""What running jobs hold, a column per piece, kept in the order of a snapshot's placements."""

import numpy as np

from policies.bench.ledger import RowPiece
from policies.contract.columns import I32, U64, Bool
from policies.contract.snapshot import Placements
from simulator.job_columns import fixed

# Rows of the block; whole numbers without sign, since a mask may need all 64 bits.
_JOB, _NODE, _GPUS, _CPUS, _MEM_MIB = range(5)


class Pieces:
    """Changes are gathered until somebody looks: a round may start and end hundreds of jobs."""

    def __init__(self, jobs: int) -> None:
        self._block: U64 = np.empty((5, 0), np.uint64)
        self._fresh: dict[int, tuple[RowPiece, ...]] = {}
        self._gone: Bool = np.zeros(jobs, np.bool_)
        self._changed = False

    def add(self, row: int, pieces: tuple[RowPiece, ...]) -> None:
        self._fresh[row] = pieces
        self._changed = True

    def remove(self, row: int) -> None:
        if self._fresh.pop(row, None) is None:
            self._gone[row] = True
        self._changed = True

    def placements(self, counts: I32) -> Placements:
        """Of jobs in order, `counts` pieces each."""
        if self._changed:
            self._settle()
        offset = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=offset[1:])
        block = self._block
        return Placements(
            offset=fixed(offset),
            node=fixed(block[_NODE].astype(np.int32)),
            gpus=fixed(block[_GPUS].copy()),
            cpus=fixed(block[_CPUS].astype(np.int32)),
            mem_mib=fixed(block[_MEM_MIB].astype(np.int64)),
        )

    def _settle(self) -> None:
        block = self._block
        gone = self._gone[block[_JOB].view(np.int64)]
        block = block[:, ~gone]
        if self._fresh:
            rows = [(row, *piece) for row, pieces in self._fresh.items() for piece in pieces]
            block = np.concatenate([block, np.array(rows, np.uint64).T], axis=1)
            # Stable: a job's pieces stay in the order of its plan.
            block = block.take(block[_JOB].argsort(kind="stable"), axis=1)
        self._block = block
        self._fresh.clear()
        self._gone[:] = False
        self._changed = False
