"""The machines of a site: as given, or as large as its own history shows them to have been."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from policies.contract.columns import F64, I64, Bool
from policies.contract.snapshot import ANY_GPU_TYPE, Span
from simulator.advice.faults import AdviceError
from simulator.advice.watts import GpuWatts, watts_of
from simulator.machines import GpuKind, Machines, NodeKind, build
from simulator.traces.sacct import Accounting
from simulator.workload import Workload

_NODES = re.compile(r"^(\d{1,5})x(\d{1,2})(?::(.+))?$")
# Where accounting tells no node count, a gang is taken to lie on nodes of at most so many GPUs.
USUAL_NODE = 8
MOST_PER_NODE = 64


@dataclass(frozen=True, slots=True, eq=False)
class SiteMachines:
    """`kept` are the rows of the accounting that take part, `kind` the GPU type row of each."""

    machines: Machines
    error: F64
    kept: I64
    jobs: Workload
    kind: I64
    assumptions: list[str]


def site_of(
    read: Accounting,
    *,
    nodes: Sequence[str],
    gpu_type: str,
    given: Mapping[str, GpuWatts],
    host_w: tuple[float, float],
) -> SiteMachines:
    names, kind, said = _kinds(read, gpu_type)
    if nodes:
        node_kinds = _given(nodes, names)
        said.append(f"Machines as given: {_machines_text(node_kinds)}.")
        said += _too_small(read, names, kind, node_kinds)
    else:
        node_kinds = _inferred(read, names, kind)
        said.append(
            f"Machines inferred from the history, as the most GPUs that were in use at once and "
            f"the most that a job had on a node: {_machines_text(node_kinds)}."
        )
    names = list(dict.fromkeys([*names, *(node.gpu_type for node in node_kinds)]))
    watts = [watts_of(name, given) for name in names]
    said += [f"{name}: {each.text()}." for name, each in zip(names, watts, strict=True)]
    machines = build(
        [_with_host(node, host_w) for node in node_kinds],
        [
            GpuKind(name=name, idle_w=each.idle_w, max_w=each.max_w)
            for name, each in zip(names, watts, strict=True)
        ],
    )
    one_node = (read.nodes() == 1) & (read.trace.jobs.gpus > 1)
    fits = _fits(read, kind, one_node, machines)
    if not fits.any():
        raise AdviceError("no job of the accounting fits on the machines given: look at --nodes")
    if not fits.all():
        count = int((~fits).sum())
        said.append(f"{count} jobs that fit on no machine given are left out everywhere.")
    kept = np.flatnonzero(fits)
    jobs = read.trace.jobs.rows(kept).but(
        gpu_types=np.left_shift(np.uint64(1), kind[kept].astype(np.uint64)),
        span=np.where(one_node[kept], Span.NODE, Span.ANY),
        partition=np.full(len(kept), -1),
    )
    return SiteMachines(
        machines, np.array([each.error for each in watts]), kept, jobs, kind[kept], said
    )


def _kinds(read: Accounting, gpu_type: str) -> tuple[list[str], I64, list[str]]:
    """Names of GPU types, and each job's row of them."""
    names, masks = list(read.trace.gpu_types), read.trace.jobs.gpu_types
    untyped = masks == ANY_GPU_TYPE
    said = []
    if untyped.any():
        if not gpu_type and len(names) != 1:
            raise AdviceError(
                f"{int(untyped.sum())} jobs name no GPU type: say which they had with --gpu-type"
            )
        gpu_type = _same_name(gpu_type, names) if gpu_type else names[0]
        said.append(
            f"{int(untyped.sum())} jobs name no GPU type: they are taken to have {gpu_type}."
        )
        names = list(dict.fromkeys([*names, gpu_type]))
    unnamed = names.index(gpu_type) if untyped.any() else 0
    row_of = {1 << row: row for row in range(len(read.trace.gpu_types))}
    kind = [row_of.get(mask, unnamed) for mask in masks.tolist()]
    return names, np.array(kind, np.int64), said


def _same_name(name: str, names: Sequence[str]) -> str:
    """As it is written already, if only capitals differ."""
    return next((known for known in names if known.casefold() == name.casefold()), name)


def _given(texts: Sequence[str], names: Sequence[str]) -> list[NodeKind]:
    found = []
    for text in texts:
        match = _NODES.match(text)
        if not match or not int(match[1]) or not 1 <= int(match[2]) <= MOST_PER_NODE:
            raise AdviceError(
                f"--nodes {text}: expected COUNTxGPUS or COUNTxGPUS:TYPE, such as 16x8:a100"
            )
        if not match[3] and len(names) != 1:
            raise AdviceError(f"--nodes {text}: say which of {', '.join(names)} these nodes have")
        kind = _same_name(match[3], names) if match[3] else names[0]
        found.append(NodeKind(count=int(match[1]), gpus=int(match[2]), gpu_type=kind))
    return found


def _too_small(
    read: Accounting, names: Sequence[str], kind: I64, given: Sequence[NodeKind]
) -> list[str]:
    said = []
    for row, name in enumerate(names):
        held = _most_at_once(read, kind == row)
        there = sum(node.count * node.gpus for node in given if node.gpu_type == name)
        if held > there:
            said.append(f"The history held {held} {name} at once, of which {there} are given.")
    return said


def _inferred(read: Accounting, names: Sequence[str], kind: I64) -> list[NodeKind]:
    jobs, nodes = read.trace.jobs, read.nodes()
    told = -(-jobs.gpus.astype(np.int64) // np.maximum(nodes, 1))
    per_node = np.where(nodes > 0, told, np.minimum(jobs.gpus, USUAL_NODE))
    found = []
    for row, name in enumerate(names):
        of_kind = kind == row
        if of_kind.any():
            gpus = min(int(per_node[of_kind].max()), MOST_PER_NODE)
            peak = _most_at_once(read, of_kind)
            found.append(NodeKind(count=-(-peak // gpus), gpus=gpus, gpu_type=name))
    return found


def _most_at_once(read: Accounting, chosen: Bool) -> int:
    jobs, from_s = read.trace.jobs.rows(chosen), read.started_s()[chosen]
    gpus = jobs.gpus.astype(np.int64)
    at_s = np.concatenate([from_s, from_s + jobs.work])
    change = np.concatenate([gpus, -gpus])
    # What ends at a moment leaves before what starts then.
    order = np.lexsort((change, at_s))
    return int(np.cumsum(change[order]).max())


def _fits(read: Accounting, kind: I64, one_node: Bool, machines: Machines) -> Bool:
    nodes, count = machines.nodes, len(machines.gpu_types)
    total = np.bincount(nodes.gpu_type, nodes.gpus, minlength=count)
    largest = np.zeros(count)
    np.maximum.at(largest, nodes.gpu_type, nodes.gpus)
    return np.asarray(read.trace.jobs.gpus <= np.where(one_node, largest[kind], total[kind]))


def _with_host(node: NodeKind, host_w: tuple[float, float]) -> NodeKind:
    idle_w, peak_w = host_w
    return NodeKind(
        count=node.count,
        gpus=node.gpus,
        gpu_type=node.gpu_type,
        host_idle_w=idle_w,
        host_peak_w=peak_w,
    )


def _machines_text(kinds: Sequence[NodeKind]) -> str:
    return ", ".join(f"{kind.count} nodes of {kind.gpus} {kind.gpu_type}" for kind in kinds)
