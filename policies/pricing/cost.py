"""What it costs to run a job, said once: `full`, as it is billed, and `marginal`, above what idles.

A GPU in use draws its own watts, and its host a share of its peak: that is the full account, which
ledger, forecasts, predictions and expectations all keep. A node that is on would draw its idle
watts without the job, too; what the job adds to those is marginal, by which policies choose. Host
watts are per GPU here, a node's over its GPUs; money is watts over time, times PUE and price.
"""

from typing import NamedTuple, TypeVar

import numpy as np

from policies.contract.columns import F64, I64
from policies.contract.snapshot import GpuTypeTable, NodeTable

W = TypeVar("W", float, F64)


def full_w(gpu_w: W, host_peak_w: W) -> W:
    """What one GPU in use draws, with its share of the host."""
    return gpu_w + host_peak_w


def marginal_w(gpu_w: W, idle_w: W, host_span_w: W) -> W:
    """What one GPU in use adds to its idle node; `host_span_w` is the host's from idle to peak."""
    return gpu_w - idle_w + host_span_w


def anyway_w(nodes: NodeTable, gpu_types: GpuTypeTable) -> F64:
    """Per GPU of every node, what it draws with or without a job: full less marginal."""
    return gpu_types.idle_w[nodes.gpu_type] + per_gpu_w(nodes, nodes.host_idle_w)


def per_gpu_w(nodes: NodeTable, host_w: F64) -> F64:
    """What of its host's watts goes with each GPU of a node."""
    return np.asarray(host_w / np.maximum(nodes.gpus, 1), np.float64)


def host_mj(peak_w: int, node_gpus: int, held_us: int) -> int:
    """A held GPU's share of its host, in whole millijoules: watts x microseconds / 1000."""
    return peak_w * held_us // (1000 * max(node_gpus, 1))


class RunWatts(NamedTuple):
    """Of pieces of jobs, each some GPUs of one node."""

    marginal: F64
    full: F64


def run_watts(
    nodes: NodeTable, gpu_types: GpuTypeTable, node: I64, gpus: I64, gpu_w: F64
) -> RunWatts:
    """Of `gpus` GPUs of the `node` rows that draw `gpu_w` each."""
    idle_w, peak_w = gpu_types.idle_w[nodes.gpu_type[node]], per_gpu_w(nodes, nodes.host_peak_w)
    span_w = per_gpu_w(nodes, nodes.host_peak_w - nodes.host_idle_w)
    return RunWatts(
        marginal=gpus * marginal_w(gpu_w, idle_w, span_w[node]),
        full=gpus * full_w(gpu_w, peak_w[node]),
    )
