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
from policies.bench.ledger import RowPiece
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

Held = dict[int, RowPiece]
"""What running jobs that may be changed have on their one node, by job row."""


def held_pieces(snapshot: Snapshot, rows: I64) -> Held:
    pieces, first = snapshot.placements.pieces(), snapshot.placements.offset[rows].tolist()
    return {row: pieces[at] for row, at in zip(rows.tolist(), first, strict=True)}


def target_of(formulated: Formulated, schedule: NodeSchedule, held: Held) -> Target:
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
    def __init__(self, formulated: Formulated, held: Held) -> None:
        problem = formulated.problem
        self.problem = problem
        number = {row: at for at, row in enumerate(formulated.machines.rows.tolist())}
        self.now = {row: number[node] for row, (node, _, _, _) in held.items()}
        self.gpus_now = {row: mask.bit_count() for row, (_, mask, _, _) in held.items()}
        self.job_of = {row: at for at, row in enumerate(formulated.rows.tolist())}
        self.alike = np.column_stack(
            [problem.node_class, problem.node_free, problem.node_busy, problem.node_cpus,
             problem.node_mem_mib]
        ).tolist()  # fmt: skip

    def trade(self, rows: list[int], nodes: list[int], gpus: list[int]) -> list[int]:
        name = self._renamed(rows, nodes, gpus)
        return self._exchanged(rows, [name[node] for node in nodes], gpus)

    def _renamed(self, rows: list[int], nodes: list[int], gpus: list[int]) -> dict[int, int]:
        """Which node takes the part of which, so that the most GPUs stay with their jobs."""
        stays: Counter[tuple[int, int]] = Counter()
        for row, node, count in zip(rows, nodes, gpus, strict=True):
            now = self.now.get(row)
            if now is not None and self.alike[now] == self.alike[node]:
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
            for at, slot in zip(moving, sorted(slots.elements()), strict=True):
                settled[at] = slot
        return settled
