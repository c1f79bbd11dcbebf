"""Which nodes a shape of job may use, and whether it could fit them if they were empty."""

from typing import NamedTuple

import numpy as np

from policies.columns import I64, Bool
from policies.reasons import Reason
from policies.snapshot import NodeState, Snapshot, Span


class Shape(NamedTuple):
    """What jobs that can only start in the same places have in common."""

    partition: int
    gpu_types: int
    gpus: int
    cpus_per_gpu: int
    mem_mib_per_gpu: int
    span: int
    borrows: bool
    profile: int


def shapes_of(snapshot: Snapshot, rows: I64) -> tuple[list[Shape], list[int]]:
    """The distinct shapes among job `rows`, and each row's index into them."""
    jobs = snapshot.jobs
    lends = bool(snapshot.partitions.lends.any())
    # Only watts depend on the profile, and only a power budget makes watts matter.
    powered = np.isfinite(snapshot.power_budget_w)
    each = zip(
        jobs.partition[rows].tolist(),
        jobs.gpu_types[rows].tolist(),
        jobs.min_gpus[rows].tolist(),
        jobs.cpus_per_gpu[rows].tolist(),
        jobs.mem_mib_per_gpu[rows].tolist(),
        jobs.span[rows].tolist(),
        (jobs.preemptible[rows] & lends).tolist(),
        (jobs.profile[rows] if powered else np.zeros(len(rows), np.int32)).tolist(),
        strict=True,
    )
    known: dict[tuple[int, ...], int] = {}
    index = [known.setdefault(shape, len(known)) for shape in each]
    return [Shape._make(shape) for shape in known], index


def reachable(snapshot: Snapshot, shape: Shape) -> Bool:
    """Nodes by partition alone: the job's own, and lenders' when it may borrow."""
    nodes, partitions = snapshot.nodes, snapshot.partitions
    own: Bool = nodes.partition == shape.partition
    if not shape.borrows:
        return own
    # Row -1, the nodes of no partition, reads the appended last entry: they are not lent.
    lent: Bool = np.append(partitions.lends, False)[nodes.partition]
    return own | lent


def of_allowed_type(snapshot: Snapshot, shape: Shape) -> Bool:
    bits = np.uint64(shape.gpu_types) >> snapshot.nodes.gpu_type.astype(np.uint64)
    return (bits & np.uint64(1)).astype(bool)


def room(gpus: I64, cpus: I64, mem_mib: I64, shape: Shape) -> I64:
    """How many GPUs of the shape every node has room for, given what the nodes have."""
    count = gpus
    if shape.cpus_per_gpu:
        count = np.minimum(count, cpus // shape.cpus_per_gpu)
    if shape.mem_mib_per_gpu:
        count = np.minimum(count, mem_mib // shape.mem_mib_per_gpu)
    return np.maximum(count, 0)


def fits_together(snapshot: Snapshot, shape: Shape, count: I64, usable: Bool, span: int) -> bool:
    """Whether usable nodes of one GPU type, within one group of `span`, have room for it all."""
    nodes = snapshot.nodes
    tables = {Span.RACK: nodes.rack, Span.SWITCH: nodes.switch}
    groups = [tables[kind] for kind in Span(span).groups() if kind in tables]
    for gpu_type in range(len(snapshot.gpu_types)):
        here = usable & (nodes.gpu_type == gpu_type)
        if not here.any():
            continue
        if count[here].max() >= shape.gpus:
            return True
        if span == Span.ANY and count[here].sum() >= shape.gpus:
            return True
        for group in groups:
            inside = here & (group >= 0)
            if inside.any() and np.bincount(group[inside], count[inside]).max() >= shape.gpus:
                return True
    return False


def structural_reason(snapshot: Snapshot, shape: Shape) -> Reason | None:
    """Why the shape could not start even if every node were empty."""
    nodes = snapshot.nodes
    usable = reachable(snapshot, shape) & of_allowed_type(snapshot, shape)
    if not usable.any():
        return Reason.NO_SUCH_GPU_TYPE
    empty = room(nodes.gpus.astype(np.int64), nodes.cpus.astype(np.int64), nodes.mem_mib, shape)
    if not fits_together(snapshot, shape, empty, usable, shape.span):
        return Reason.LARGER_THAN_PARTITION
    ready = usable & (nodes.state == NodeState.READY)
    if fits_together(snapshot, shape, empty, ready, shape.span):
        return None
    could_be_on = ready | (usable & (nodes.state == NodeState.OFF))
    if fits_together(snapshot, shape, empty, could_be_on, shape.span):
        return Reason.POWER
    return Reason.NODES_UNAVAILABLE
