"""What the cluster will draw, before PUE: asked only where a month's highest draw is paid for."""

from typing import NamedTuple

import numpy as np

from policies.bench.power import drawn_w, node_idle_w, watts_per_gpu
from policies.bench.ways import WayColumns, Ways, pools
from policies.contract.columns import F64, I64
from policies.contract.snapshot import NodeState, Snapshot
from policies.fairwatt.arrays import Ahead, Made
from policies.fairwatt.horizon import lasting_s, returned
from policies.fairwatt.way_builder import WayBuilder


class ClusterDraw(NamedTuple):
    """`now_w` is drawn now; of that `gone_w` no more in each slot, by work that is left alone.

    `freed_w` is the same in the watts that ways count, which may hold a share of their idle nodes;
    `way_w` is what every way adds to nodes that are on. Of each pool `off_gpus` are on nodes that
    are off, of `off_width` GPUs and `off_w` watts each once they are on.
    """

    now_w: float
    gone_w: F64
    freed_w: F64
    way_w: F64
    off_gpus: I64
    off_width: F64
    off_w: F64


def draw_of(
    builder: WayBuilder, ways: Ways, ahead: Ahead, fixed: I64, held: WayColumns
) -> ClusterDraw:
    """`held` is what the `fixed` rows have, which are left alone."""
    snapshot, anyway_w = builder.snapshot, builder.idle_w()
    counted_w = builder.added_w(held)
    rows = np.repeat([0, 1], len(fixed))
    watts = np.concatenate([counted_w - anyway_w[held.gpu_type] * held.gpus, counted_w])
    until_s = np.tile(lasting_s(snapshot, fixed, held.run_s), 2)
    gone_w, freed_w = returned(2, ahead.edges_s, rows, watts, until_s)
    return ClusterDraw(
        float(drawn_w(snapshot, watts_per_gpu(snapshot)).sum()),
        gone_w,
        freed_w,
        ways.watts - anyway_w[ways.gpu_type] * ways.gpus,
        *_off(snapshot, len(ahead.free)),
    )


def _off(snapshot: Snapshot, number: int) -> tuple[I64, F64, F64]:
    """GPUs on nodes that are off, and the mean of these nodes, by pool."""
    nodes = snapshot.nodes
    off = nodes.state == NodeState.OFF
    pool = pools(snapshot, nodes.partition, nodes.gpu_type)[off]
    count = np.maximum(np.bincount(pool, minlength=number), 1)
    free = np.bitwise_count(nodes.free_gpus[off])
    gpus = np.bincount(pool, free, minlength=number)
    watts = np.bincount(pool, node_idle_w(snapshot)[off], minlength=number)
    return gpus.astype(np.int64), np.maximum(gpus / count, 1.0), watts / count


def highest_w(draw: ClusterDraw, ways: Ways, held: I64, ahead: Ahead, made: Made) -> float:
    """The most that is drawn in any slot, if all goes as it was made.

    Who has no room in the time ahead will run after it, and draws at least its own watts then.
    """
    slots, edges_s = len(ahead.edges_s) - 1, ahead.edges_s
    base_w = draw.now_w - float(draw.way_w[held[held >= 0]].sum()) - draw.gone_w
    inside = made.slot < slots
    way, begin = made.chosen[inside], made.slot[inside]
    end = np.searchsorted(edges_s, edges_s[begin] + ways.run_s[way]).clip(max=slots)
    no_row = np.zeros(len(way), np.int64)
    total_w = base_w + _over_slots((1, slots), no_row, begin, end, draw.way_w[way])[0]
    if draw.off_gpus.any():
        used = _over_slots(ahead.free.shape, ways.pool[way], begin, end, ways.gpus[way])
        short = np.maximum(used - (ahead.free - draw.off_gpus[:, None]), 0.0)
        total_w += (np.ceil(short / draw.off_width[:, None]) * draw.off_w[:, None]).sum(axis=0)
    after_w = float(base_w[-1] + draw.way_w[made.chosen[~inside]].max(initial=0.0))
    return max(float(total_w.max()), after_w)


def _over_slots(shape: tuple[int, ...], row: I64, begin: I64, end: I64, amount: F64 | I64) -> F64:
    """What is there in every slot of each row, of amounts from a slot until before another."""
    change = np.zeros((shape[0], shape[1] + 1))
    np.add.at(change, (row, begin), amount)
    np.subtract.at(change, (row, end), amount)
    return np.asarray(np.cumsum(change, axis=1)[:, :-1], np.float64)
