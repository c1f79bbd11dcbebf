"""The time ahead, cut into slots: prices, and how many GPUs and watts are there in each."""

import numpy as np

from policies.bench.power import budget_w, idle_draw_w
from policies.bench.ways import pools
from policies.contract.columns import F64, I64, Bool
from policies.contract.snapshot import JobState, NodeState, Snapshot
from policies.fairwatt.arrays import Ahead
from policies.pricing.price_line import PriceLine

# Slots grow with their distance: what is decided now depends on the next minutes in detail, and on
# next week as a whole. For about so long they are of nearly one length: growing from the first
# minute on, half of them would lie within an hour, and hardly any where most work will start.
FIRST_S, NEAR_S = 60.0, 1800.0
FEWEST, MOST = 40, 200
CELLS = 300_000
"""Jobs x slots that are worth it: a short queue is planned in finer slots."""
MOST_ENDS = 32
DAY_S = 86_400.0
LEAST_DAYS, MOST_DAYS = 2.0, 60.0
# Work that is stopping is expected to be gone after so long.
STOPPING_S = 60.0


def usable(snapshot: Snapshot) -> Bool:
    """Nodes that are ready, or will be soon if work wants them."""
    states = (NodeState.READY, NodeState.BOOTING, NodeState.OFF)
    return np.isin(snapshot.nodes.state, states)


def horizon(
    snapshot: Snapshot, line: PriceLine, *, gpu_s: float, ends_s: F64, fixed: I64, until_s: F64,
    watts: F64,
) -> Ahead:  # fmt: skip
    """`gpu_s` is the work to plan; `ends_s` are when running jobs that may be changed should end.

    Work that is not changed, the `fixed` rows, keeps its GPUs and `watts` for `until_s` seconds.
    Nodes that are off count: booting takes minutes, and most work hours.
    """
    until_s = lasting_s(snapshot, fixed, until_s)
    count, fixed_pool, fixed_gpus, owner = _room(snapshot, fixed, usable(snapshot))
    whole = float(count.sum() + fixed_gpus.sum())
    every_s = np.concatenate([ends_s, until_s])
    busy_s = 2 * gpu_s / max(whole, 1.0) + float(every_s.max(initial=0.0))
    edges_s = _edges(snapshot, line, busy_s, every_s)
    slots = len(edges_s) - 1
    free = np.repeat(count[:, None], slots, axis=1)
    free += returned(len(count), edges_s, fixed_pool, fixed_gpus, until_s[owner]).astype(np.int64)
    spare_w = budget_w(snapshot) - idle_draw_w(snapshot) - float(watts.sum())
    power = spare_w + returned(1, edges_s, np.zeros(len(fixed), np.int64), watts, until_s)[0]
    return Ahead(
        edges_s=edges_s,
        area=line.cost(0.0, edges_s),
        free=free.astype(np.int32),
        power=power,
        tail=float(line.price[-1]),
        least=float(line.price.min()),
    )


def lasting_s(snapshot: Snapshot, fixed: I64, until_s: F64) -> F64:
    """How long work that is left alone holds its GPUs, if it would run for `until_s`."""
    stopping = snapshot.jobs.state[fixed] == JobState.STOPPING
    return np.where(stopping, STOPPING_S, until_s)


def _edges(snapshot: Snapshot, line: PriceLine, busy_s: float, ends_s: F64) -> F64:
    """Slots until the work at hand should be done, with an edge at every change of price.

    The first of `ends_s` are edges too: others may start then.
    """
    end_s = min(max(busy_s, LEAST_DAYS * DAY_S), MOST_DAYS * DAY_S)
    # Prices of the day after tomorrow may still change, and ever more slots help nobody.
    changes_s = line.at_s[line.at_s < LEAST_DAYS * DAY_S]
    count = int(np.clip(CELLS // max(len(snapshot.jobs), 1), FEWEST, MOST))
    # The fewest slots are kept for the next minutes: spread out, they would only take longer.
    near_s = NEAR_S if count > FEWEST else 0.0
    growing = np.geomspace(FIRST_S + near_s, end_s + near_s, count) - near_s
    first_ends_s = np.sort(ends_s[(ends_s > 0) & (ends_s < end_s)])[:MOST_ENDS]
    return np.unique(np.concatenate([[0.0], growing, changes_s, first_ends_s]).round(3))


def _room(snapshot: Snapshot, fixed: I64, ready: Bool) -> tuple[I64, I64, I64, I64]:
    """GPUs per pool that are free or may be; pool, GPUs and owner of every piece that is fixed."""
    nodes, pieces = snapshot.nodes, snapshot.placements
    number = (len(snapshot.partitions) + 1) * len(snapshot.gpu_types)
    pool = pools(snapshot, nodes.partition, nodes.gpu_type)
    count = np.bincount(pool[ready], np.bitwise_count(nodes.free_gpus[ready]), minlength=number)
    gpus = np.bitwise_count(pieces.gpus).astype(np.int64)
    there = ready[pieces.node]
    position = np.full(len(snapshot.jobs), -1)
    position[fixed] = np.arange(len(fixed))
    owner = position[pieces.job_of_piece()]
    loose, bound = there & (owner < 0), there & (owner >= 0)
    count += np.bincount(pool[pieces.node[loose]], gpus[loose], minlength=number)
    return count.astype(np.int64), pool[pieces.node[bound]], gpus[bound], owner[bound]


def returned(rows: int, edges_s: F64, row: I64, amount: F64 | I64, until_s: F64) -> F64:
    """Over (row, slot), what has been given back by then: from the first edge after its end on."""
    slots = len(edges_s) - 1
    change = np.zeros((rows, slots + 1))
    np.add.at(change, (row, np.searchsorted(edges_s, until_s).clip(max=slots)), amount)
    return np.asarray(np.cumsum(change, axis=1)[:, :slots], np.float64)
