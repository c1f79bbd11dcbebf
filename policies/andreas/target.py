"""The schedule that a search ends with, in the snapshot's rows, and the analyzer that saves moves.

Nodes that are alike are interchangeable, and so are jobs of one size on nodes of one class: trading
places changes neither cost nor time, opens no node and drops no job. So the analyzer trades until
as many running jobs as it finds stay where they are.
"""

from collections import Counter, defaultdict
from typing import NamedTuple

import numpy as np

from policies.andreas.formulate import Formulated
from policies.andreas.search import NodeSchedule
from policies.contract.columns import I64
from policies.contract.snapshot import Snapshot


class Place(NamedTuple):
    """A job's node and GPUs, how long it runs there, and its share of the node's watts."""

    node: int
    gpus: int
    seconds: float
    watts: float


Target = dict[int, Place]
"""By job row; a job that is not in it is postponed."""


class HeldPiece(NamedTuple):
    """What a running job has on its one node."""

    node: int
    mask: int
    cpus: int
    mem_mib: int


def held_pieces(snapshot: Snapshot, rows: I64) -> dict[int, HeldPiece]:
    pieces = snapshot.placements
    first = pieces.offset[rows]
    columns = (pieces.node, pieces.gpus, pieces.cpus, pieces.mem_mib)
    each = zip(*(column[first].tolist() for column in columns), strict=True)
    return {row: HeldPiece(*piece) for row, piece in zip(rows.tolist(), each, strict=True)}


def target_of(
    formulated: Formulated, schedule: NodeSchedule, held: dict[int, HeldPiece] | None
) -> Target:
    """With what running jobs hold, the analyzer's; without, as the search left it."""
    problem = formulated.problem
    jobs = np.flatnonzero(schedule.config_of >= 0)
    config, node = schedule.config_of[jobs], schedule.node_of[jobs]
    rows, gpus = formulated.rows[jobs].tolist(), problem.config_gpus[config]
    if held:
        kept = _Analyzer(formulated, held).trade(rows, node.tolist(), gpus.tolist())
        node = np.array(kept, np.int64)
    busy = problem.node_busy + np.bincount(node, gpus, minlength=len(problem.node_busy))
    watts = problem.config_w[config] + gpus * problem.node_host_w[node]
    watts = watts + problem.node_base_w[node] * gpus / np.maximum(busy[node], 1)
    columns = (formulated.machines.rows[node], gpus, problem.config_s[config], watts)
    each = zip(*(column.tolist() for column in columns), strict=True)
    return {row: Place(*place) for row, place in zip(rows, each, strict=True)}


class _Analyzer:
    def __init__(self, formulated: Formulated, held: dict[int, HeldPiece]) -> None:
        self.problem = formulated.problem
        number = {row: at for at, row in enumerate(formulated.machines.rows.tolist())}
        self.now = {row: number[piece.node] for row, piece in held.items()}
        self.gpus_now = {row: piece.mask.bit_count() for row, piece in held.items()}
        self.job_of = {row: at for at, row in enumerate(formulated.rows.tolist())}

    def trade(self, rows: list[int], nodes: list[int], gpus: list[int]) -> list[int]:
        name = self._renamed(rows, nodes, gpus)
        nodes = [name.get(node, node) for node in nodes]
        return self._exchanged(rows, nodes, gpus)

    def _alike(self, node: int) -> tuple[int, ...]:
        problem = self.problem
        columns = (
            problem.node_class, problem.node_free, problem.node_busy, problem.node_cpus,
            problem.node_mem_mib,
        )  # fmt: skip
        return tuple(int(column[node]) for column in columns)

    def _renamed(self, rows: list[int], nodes: list[int], gpus: list[int]) -> dict[int, int]:
        """Which node takes the part of which, so that the most GPUs stay with their jobs."""
        stays: Counter[tuple[int, int]] = Counter()
        for row, node, count in zip(rows, nodes, gpus, strict=True):
            now = self.now.get(row)
            if now is not None and (now == node or self._alike(now) == self._alike(node)):
                stays[node, now] += count
        name: dict[int, int] = {}
        taken: set[int] = set()
        for (node, now), _ in sorted(stays.items(), key=lambda pair: (-pair[1], pair[0])):
            if node not in name and now not in taken:
                name[node] = now
                taken.add(now)
        # A part that nobody took over goes, along the chain of renamings, to a node given up.
        for node in sorted(set(nodes) - name.keys()):
            free = node
            while free in taken:
                free = next(part for part, now in name.items() if now == free)
            name[node] = free
            taken.add(free)
        return name

    def _exchanged(self, rows: list[int], nodes: list[int], gpus: list[int]) -> list[int]:
        """Jobs of one size on one class trade slots so that who can stay does."""
        groups: dict[tuple[int, ...], list[int]] = defaultdict(list)
        problem = self.problem
        for at, (row, node) in enumerate(zip(rows, nodes, strict=True)):
            job = self.job_of[row]
            size = (gpus[at], int(problem.job_cpus[job]), int(problem.job_mem_mib[job]))
            groups[int(problem.node_class[node]), *size].append(at)
        settled = list(nodes)
        for members in groups.values():
            slots = Counter(nodes[at] for at in members)
            moving = []
            for at in members:
                now = self.now.get(rows[at], -1)
                if slots[now] and self.gpus_now[rows[at]] == gpus[at]:
                    slots[now] -= 1
                    settled[at] = now
                else:
                    moving.append(at)
            left = sorted(slots.elements())
            for at, slot in zip(moving, left, strict=True):
                settled[at] = slot
        return settled
