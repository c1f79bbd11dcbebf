"""What happened in a world: every stretch of time a job held GPUs, and every change of a node."""

# ruff: noqa: RUF009  # column() is dataclasses.field() in other words

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from policies.contract.columns import F64, I32, I64, U8, ColumnTable, column
from simulator.holdings import RowPieces


class StretchEnd(IntEnum):
    """How a stretch ended."""

    FINISHED = 0
    PREEMPTED = 1
    MOVED = 2
    RESIZED = 3
    CLOCKED = 4
    FAILED = 5
    SAVED = 6
    """A preempted job has written its checkpoint and given up its GPUs."""
    OPEN = 7
    """The run was over before the job was."""
    RETUNED = 8
    """It went on with other CPUs and memory."""


@dataclass(frozen=True, slots=True, eq=False)
class Stretches(ColumnTable):
    """A job on unchanged pieces at an unchanged clock; `watts` are above its nodes' idle draw.

    `idle_s` are the seconds without progress: starting, restarting or saving. `lost_work` was done
    in this or an earlier stretch and has to be done again.
    """

    job: I64 = column(np.int64)
    from_s: F64 = column(np.float64)
    to_s: F64 = column(np.float64)
    gpus: I32 = column(np.int32)
    watts: F64 = column(np.float64)
    rate: F64 = column(np.float64)
    idle_s: F64 = column(np.float64)
    lost_work: F64 = column(np.float64)
    end: U8 = column(np.uint8)


StretchRow = tuple[int, float, float, int, float, float, float, float, int]


@dataclass(slots=True)
class RunLog:
    stretches: list[StretchRow] = field(default_factory=list)
    pieces: list[RowPieces] = field(default_factory=list)
    node_changes: list[tuple[float, int, int]] = field(default_factory=list)
    """Time, node row, new node state."""

    def add(self, stretch: StretchRow, pieces: RowPieces) -> None:
        self.stretches.append(stretch)
        self.pieces.append(pieces)

    def table(self) -> Stretches:
        columns = zip(*self.stretches, strict=True) if self.stretches else ([] for _ in range(9))
        names = ("job", "from_s", "to_s", "gpus", "watts", "rate", "idle_s", "lost_work", "end")
        return Stretches.of(
            **{name: np.array(values) for name, values in zip(names, columns, strict=True)}
        )
