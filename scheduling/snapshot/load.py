"""Rows of one cluster become a Snapshot, in a fixed number of queries and one consistent view."""

from dataclasses import fields
from datetime import datetime
from math import inf

import numpy as np
import numpy.typing as npt
from django.db import connection, transaction

from clusters.models import Cluster, GpuType, Partition
from energy.budgets.energy import energy_left
from energy.budgets.peak import demand_seen
from energy.budgets.power import planned_budgets
from policies.contract.columns import ColumnTable
from policies.contract.snapshot import (
    Blocked,
    GpuTypeTable,
    JobTable,
    NodeTable,
    PartitionTable,
    Placements,
    PriceTable,
    ProfileTable,
    Snapshot,
    TenantTable,
)
from policies.pricing.published import seen_prices
from scheduling.snapshot import queries
from scheduling.snapshot.copy_read import Rows
from scheduling.snapshot.memory_share import memory_mib_per_gpu
from scheduling.snapshot.node_classes import NodeClasses, classify
from scheduling.snapshot.profile_tensors import profile_table
from scheduling.snapshot.remaining import Where, remaining_s, steps_per_s
from tariffs.curves import price_curves


def load_snapshot(cluster: Cluster, *, now: datetime, seed: int) -> Snapshot:
    outermost = not connection.in_atomic_block
    with transaction.atomic():
        if outermost:
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        return _load(cluster, now, seed)


def _load(cluster: Cluster, now: datetime, seed: int) -> Snapshot:
    gpu_types = list(GpuType.objects.order_by("id"))
    partitions = list(Partition.objects.filter(cluster=cluster).order_by("id"))
    tenants = queries.TENANTS.read()
    nodes = queries.NODES.read(cluster=cluster.pk, now_s=now.timestamp())
    jobs = queries.JOBS.read(cluster=cluster.pk, now_s=now.timestamp())
    pieces = queries.PLACEMENTS.read(cluster=cluster.pk, now_s=now.timestamp())
    type_ids = np.array([kind.pk for kind in gpu_types], np.int64)
    partition_ids = np.array([partition.pk for partition in partitions], np.int64)
    placements = _placements(jobs, nodes, pieces)
    kind = _row_of(nodes["gpu_type"], type_ids)
    classes = classify(jobs, nodes, tenants, kind, len(gpu_types))
    mem_mib_per_gpu = memory_mib_per_gpu(jobs, nodes, kind)
    gpu_types = [gpu_types[at] for at in classes.type_of_row.tolist()]
    node_table = _node_table(nodes, partition_ids, classes)
    asked_gpus = np.concatenate([jobs["min_gpus"], jobs["max_gpus"], jobs["gpus"]])
    profiles = profile_table(
        np.unique(jobs["profile"]), gpu_types, asked_gpus[np.tile(jobs["profile"] > 0, 3)]
    )
    budgets, energy = planned_budgets(cluster, now=now), energy_left(cluster, now=now)
    peak_w, demand_price_per_w = demand_seen(cluster, now=now)
    return Snapshot(
        now_s=now.timestamp(),
        seed=seed,
        pue=float(cluster.pue),
        power_budget_w=budgets.cluster_w,
        energy_left_j=inf if energy is None else energy.left_j,
        energy_until_s=inf if energy is None else energy.until_at.timestamp(),
        peak_w=peak_w,
        demand_price_per_w=demand_price_per_w,
        power_off=cluster.power_off,
        min_idle_s=cluster.min_idle_s,
        jobs=_job_table(
            jobs,
            profiles,
            now.timestamp(),
            tenants=tenants,
            max_price_per_h=float(cluster.max_tardiness_price_per_h),
            partition_ids=partition_ids,
            held_type=_held_types(placements, node_table),
            gpu_types=classes.allowed,
            mem_mib_per_gpu=mem_mib_per_gpu,
        ),
        placements=placements,
        nodes=node_table,
        gpu_types=GpuTypeTable.of(
            name=tuple(kind.name for kind in gpu_types),
            idle_w=[kind.idle_w for kind in gpu_types],
            max_w=[kind.max_w for kind in gpu_types],
            mem_mib=[kind.memory_mib for kind in gpu_types],
        ),
        partitions=PartitionTable.of(
            id=partition_ids,
            name=tuple(partition.name for partition in partitions),
            lends=[partition.lends for partition in partitions],
            power_budget_w=[budgets.of(partition.pk) for partition in partitions],
        ),
        tenants=_tenant_table(tenants, type_ids, classes.type_of_row),
        profiles=profiles,
        prices=_prices(cluster, now),
    )


def _of_same_name(table: type[ColumnTable], rows: Rows) -> dict[str, Rows]:
    """The columns that need no translation: what was read has the name that policies know."""
    read = rows.dtype.names or ()
    return {field.name: rows[field.name] for field in fields(table) if field.name in read}


def _job_table(
    jobs: Rows,
    profiles: ProfileTable,
    now_s: float,
    *,
    tenants: Rows,
    max_price_per_h: float,
    partition_ids: Rows,
    held_type: Rows,
    gpu_types: Rows,
    mem_mib_per_gpu: Rows,
) -> JobTable:
    run_s = np.maximum(now_s - np.nan_to_num(jobs["started_s"], nan=now_s), 0)
    attained_gpu_s = jobs["attained_gpu_s"] + run_s * jobs["gpus"]
    profile = _row_of(jobs["profile"], profiles.id)
    gpus = np.where(jobs["gpus"] > 0, jobs["gpus"], jobs["min_gpus"])
    predicted_per_s = steps_per_s(
        Where(profile, held_type, gpu_types, gpus, jobs["clock_mhz"]), profiles
    )
    work_left = np.maximum(jobs["work_total"] - jobs["work_done"], 0)
    by_estimate_s = np.maximum(jobs["est_total_s"] - attained_gpu_s / jobs["min_gpus"], 0)
    blocked = np.where(jobs["unmet"] > 0, Blocked.DEPENDENCY, Blocked.NO)
    tenant, own_bound = _row_of(jobs["tenant"], tenants["id"]), tenants["max_price_per_h"]
    bound_per_h = np.where(np.isnan(own_bound), max_price_per_h, own_bound)[tenant]
    translated = {
        "tenant": tenant,
        # A bound that was lowered counts for jobs that named more before, too.
        "tardiness_weight": np.minimum(jobs["tardiness_weight"], bound_per_h / 3600),
        "profile": profile,
        "partition": _row_of(jobs["partition"], partition_ids),
        "blocked": np.where(jobs["held"] > 0, Blocked.HELD, blocked),
        "gpu_types": gpu_types,
        "mem_mib_per_gpu": mem_mib_per_gpu,
        "work_left": work_left,
        "attained_gpu_s": attained_gpu_s,
        "est_total_s": np.where(
            np.isnan(jobs["est_total_s"]), jobs["work_total"] / predicted_per_s, jobs["est_total_s"]
        ),
        "est_run_s": remaining_s(work_left, jobs["steps_per_s"], predicted_per_s, by_estimate_s),
    }
    return JobTable.of(**{**_of_same_name(JobTable, jobs), **translated})


def _placements(jobs: Rows, nodes: Rows, pieces: Rows) -> Placements:
    """Pieces come ordered by job id, as the jobs do, so each job's are contiguous."""
    offset = np.searchsorted(pieces["job"], np.append(jobs["id"], np.iinfo(np.int64).max))
    translated = {
        "offset": offset,
        "node": _row_of(pieces["node"], nodes["id"]),
        "gpus": _mask(pieces["gpus"]),
    }
    return Placements.of(**{**_of_same_name(Placements, pieces), **translated})


def _held_types(placements: Placements, nodes: NodeTable) -> Rows:
    """Of each job the GPU type of its first piece; -1 while it holds nothing."""
    types = np.full(len(placements.offset) - 1, -1, np.int64)
    holds = np.diff(placements.offset) > 0
    types[holds] = nodes.gpu_type[placements.node[placements.offset[:-1][holds]]]
    return types


def _node_table(nodes: Rows, partition_ids: Rows, classes: NodeClasses) -> NodeTable:
    free_gpus = np.where(classes.closed, 0, nodes["healthy"] & ~nodes["held"])
    translated = {
        "partition": _row_of(nodes["partition"], partition_ids),
        "gpu_type": classes.row_of_node,
        "free_gpus": _mask(free_gpus),
        "rack": _row_of(nodes["rack"], np.unique(nodes["rack"][nodes["rack"] >= 0])),
        "switch": _row_of(nodes["switch"], np.unique(nodes["switch"][nodes["switch"] >= 0])),
    }
    return NodeTable.of(**{**_of_same_name(NodeTable, nodes), **translated})


def _tenant_table(tenants: Rows, type_ids: Rows, type_of_row: Rows) -> TenantTable:
    """Rows of one GPU type share its quota; applying the plan counts them together."""
    quotas = queries.QUOTAS.read()
    quota_by_type = np.full((len(tenants), len(type_ids)), -1, np.int32)
    used_by_type = np.zeros_like(quota_by_type)
    cells = _row_of(quotas["tenant"], tenants["id"]), _row_of(quotas["gpu_type"], type_ids)
    quota_by_type[cells] = quotas["gpus"]
    used_by_type[cells] = quotas["used"]
    quotas_of = {
        "quota_by_type": quota_by_type[:, type_of_row],
        "used_by_type": used_by_type[:, type_of_row],
    }
    return TenantTable.of(**{**_of_same_name(TenantTable, tenants), **quotas_of})


def _prices(cluster: Cluster, now: datetime) -> PriceTable:
    price, carbon = price_curves(cluster, now=now)
    if price is None:
        return PriceTable.unknown()
    # Without a market: what an operator has imported is published.
    return seen_prices(price, carbon, now.timestamp())


def _row_of(ids: Rows, ascending_ids: Rows) -> npt.NDArray[np.int64]:
    """Row numbers of `ids` in a table sorted by id; -1 where an id is not in it."""
    if len(ascending_ids) == 0:
        return np.full(len(ids), -1, np.int64)
    rows = np.minimum(np.searchsorted(ascending_ids, ids), len(ascending_ids) - 1)
    return np.where(ascending_ids[rows] == ids, rows, -1)


def _mask(bits: Rows) -> npt.NDArray[np.uint64]:
    """The sign of an int8 of Postgres is bit 63."""
    return bits.astype(np.int64).view(np.uint64)
