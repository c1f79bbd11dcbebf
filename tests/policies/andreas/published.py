"""The paper's machines and applications, in snapshots small enough to reckon by hand."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lab.experiments.andreas.settings import GPU_TYPES, GPU_W, NODE_GPUS, NODE_W, profiles
from policies.bench.bits import lowest_bits
from policies.contract.snapshot import (
    GpuTypeTable,
    JobState,
    JobTable,
    NodeTable,
    PartitionTable,
    Placements,
    PriceTable,
    Snapshot,
    Span,
    TenantTable,
)

TESLA, TURING = 0, 1
LSTM, EFFICIENT_NET, CONV_NET = 0, 2, 3
PRICE = 0.17168313
PUE = 1.33
NOW_S = 1_000_000.0


def euro_per_hour(watts: float) -> float:
    return watts / 1000 * PRICE * PUE


def paper_snapshot(
    nodes: Sequence[int],
    jobs: Sequence[dict[str, Any]],
    *,
    prices: PriceTable | None = None,
    hands_over: bool = True,
    **fields: Any,
) -> Snapshot:
    """`nodes` are GPU types; a job has an app, epochs left, seconds to its due date, a weight.

    One that runs says `on` which node and with how many GPUs, the lowest that are free.
    """
    kind = np.array(nodes, np.int64)
    count = np.array(NODE_GPUS)[kind]
    free = [(1 << int(gpus)) - 1 for gpus in count]
    pieces, offset = [], [0]
    for job in jobs:
        if "on" in job:
            node, gpus = job["on"]
            mask = lowest_bits(free[node], gpus)
            free[node] &= ~mask
            pieces.append((node, mask))
        offset.append(len(pieces))
    held = np.array([node for node, _ in pieces], np.int64)
    used = np.bincount(
        kind[held], [mask.bit_count() for _, mask in pieces], minlength=len(GPU_TYPES)
    )
    return Snapshot(
        now_s=NOW_S,
        pue=PUE,
        hands_over=hands_over,
        jobs=JobTable.of(
            id=np.arange(len(jobs)) + 1,
            tenant=np.zeros(len(jobs)),
            profile=[job.get("app", LSTM) for job in jobs],
            state=[JobState.RUNNING if "on" in job else JobState.QUEUED for job in jobs],
            submitted_s=NOW_S - np.arange(len(jobs))[::-1] - 1,
            deadline_s=[NOW_S + job.get("due_s", np.inf) for job in jobs],
            tardiness_weight=[job.get("weight", 0.0) for job in jobs],
            priority=[job.get("priority", 1) for job in jobs],
            min_gpus=np.ones(len(jobs)),
            max_gpus=np.full(len(jobs), 2),
            gpu_types=np.full(len(jobs), 3, np.uint64),
            span=np.full(len(jobs), Span.NODE),
            work_total=[job["epochs"] for job in jobs],
            work_left=[job["epochs"] for job in jobs],
            started_s=[NOW_S - 7200 if "on" in job else np.nan for job in jobs],
            checkpoint_s=[NOW_S if "on" in job else np.nan for job in jobs],
            restart_cost_s=[job.get("restart_s", 0.0) for job in jobs],
        ),
        placements=Placements.of(
            offset=offset,
            node=held,
            gpus=np.array([mask for _, mask in pieces], np.uint64),
            cpus=np.zeros(len(pieces)),
            mem_mib=np.zeros(len(pieces)),
        ),
        nodes=NodeTable.of(
            id=np.arange(len(nodes)) + 1,
            gpu_type=kind,
            gpus=count,
            free_gpus=np.array(free, np.uint64),
            cpus=np.zeros(len(nodes)),
            free_cpus=np.zeros(len(nodes)),
            mem_mib=np.zeros(len(nodes)),
            free_mem_mib=np.zeros(len(nodes)),
            host_idle_w=np.array(NODE_W)[kind],
            host_peak_w=np.array(NODE_W)[kind],
        ),
        gpu_types=GpuTypeTable.of(name=GPU_TYPES, max_w=GPU_W),
        partitions=PartitionTable.of(id=[], name=()),
        tenants=TenantTable.of(
            id=[1],
            used_gpus=[used.sum()],
            quota_by_type=np.full((1, 2), -1),
            used_by_type=used[None, :],
        ),
        profiles=profiles(),
        prices=PriceTable.of(from_s=[0.0], price_per_kwh=[PRICE]) if prices is None else prices,
        **fields,
    )
