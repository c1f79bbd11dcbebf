"""What a policy that reckons in money expects of the jobs that it places."""

from collections.abc import Sequence
from itertools import starmap

import numpy as np

from policies.bench.draft import PlanDraft
from policies.bench.power import watts_at
from policies.contract.columns import F64
from policies.contract.plan import Expected
from policies.pricing.cost import RunWatts, run_watts
from policies.pricing.price_line import PriceLine


def expected(
    draft: PlanDraft, line: PriceLine, rows: Sequence[int], run_s: F64, tardiness_weight: F64
) -> tuple[Expected, ...]:
    """Of job `rows` as the draft has placed them, for `run_s` from now on, at prices of `line`."""
    if not rows:
        return ()
    snapshot, at = draft.snapshot, np.array(rows, np.int64)
    watts, per_w = _watts(draft, rows), line.cost(0.0, run_s)
    late_s = np.maximum(snapshot.now_s + run_s - snapshot.jobs.deadline_s[at], 0.0)
    columns = (
        snapshot.jobs.id[at],
        run_s,
        watts.marginal * per_w,
        watts.full * per_w,
        tardiness_weight * late_s,
        tardiness_weight,
    )
    return tuple(starmap(Expected, zip(*(column.tolist() for column in columns), strict=True)))


def _watts(draft: PlanDraft, rows: Sequence[int]) -> RunWatts:
    """Of each job as a whole."""
    snapshot, placed = draft.snapshot, [draft.placed[row] for row in rows]
    clock_mhz = np.array([written.clock_mhz for written in placed], np.int64)
    pieces = [(at, p[0], p[1].bit_count()) for at, one in enumerate(placed) for p in one.pieces]
    job, node, gpus = np.array(pieces, np.int64).T
    count, total = len(rows), np.bincount(job, gpus).astype(np.int64)
    gpu_w = watts_at(snapshot, np.array(rows, np.int64), total, clock_mhz)
    each_w = gpu_w[job, snapshot.nodes.gpu_type[node]]
    watts = run_watts(snapshot.nodes, snapshot.gpu_types, node, gpus, each_w)

    def per_job(of_piece: F64) -> F64:
        return np.bincount(job, of_piece, minlength=count).astype(np.float64)

    return RunWatts(per_job(watts.marginal), per_job(watts.full))
