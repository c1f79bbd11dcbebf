"""From a snapshot to a problem: who is scheduled, who stays where they are, and what is left."""

from typing import NamedTuple

import numpy as np

from policies.andreas.configurations import (
    SOONEST_S,
    Configurations,
    configurations,
    estimated_s,
    held,
)
from policies.andreas.node_classes import AndreasNodeClasses, Reaches
from policies.andreas.parameters import CostParameters
from policies.andreas.problem import AndreasProblem
from policies.bench.power import (
    budget_w,
    busy_gpu_w,
    host_watts_per_gpu,
    idle_draw_w,
    piece_watts,
    watts_per_gpu,
)
from policies.contract.columns import F64, I32, I64, Bool
from policies.contract.plan_columns import Placed
from policies.contract.snapshot import UNLIMITED, JobState, Snapshot
from policies.pricing.price_line import PriceLine


class Formulated(NamedTuple):
    """A problem with what it was made of, and the jobs in order of pressure."""

    snapshot: Snapshot
    parameters: CostParameters
    line: PriceLine
    problem: AndreasProblem
    rows: I64
    machines: AndreasNodeClasses
    configurations: Configurations
    pressure: F64

    def order(self) -> I64:
        """The most urgent first; ties to the earlier row."""
        return np.argsort(-self.pressure, kind="stable")


def weights(snapshot: Snapshot, parameters: CostParameters) -> F64:
    """Money per second of tardiness: the job's own, else its priority's."""
    jobs, table = snapshot.jobs, np.array(parameters.priority_weights)
    by_priority = table[np.clip(jobs.priority - 1, 0, len(table) - 1)]
    return np.where(jobs.tardiness_weight > 0, jobs.tardiness_weight, by_priority)


def _limited(snapshot: Snapshot) -> bool:
    """Whether watts or quotas may be in a job's way."""
    tenants = snapshot.tenants
    quotas = (tenants.quota_gpus != UNLIMITED).any() or (tenants.quota_by_type != UNLIMITED).any()
    return bool(quotas) or bool(np.isfinite(budget_w(snapshot)))


def formulate(
    snapshot: Snapshot, rows: I64, parameters: CostParameters, line: PriceLine
) -> Formulated:
    """`rows` are scheduled; what other jobs hold is theirs."""
    jobs, tenants = snapshot.jobs, snapshot.tenants
    machines = AndreasNodeClasses.of(snapshot, parameters.energy)
    capacity = _Capacity(snapshot, rows, machines)
    reaches = Reaches.of(snapshot, machines, rows, capacity.most)
    run_s = parameters.default_run_s
    known = configurations(
        snapshot, rows, machines, reaches.capacity, line=line, default_run_s=run_s
    )
    ways, weight = known.ways, weights(snapshot, parameters)
    slack_s = jobs.deadline_s - snapshot.now_s
    slowest_s = known.slowest_s()
    late_s = np.maximum(slowest_s - slack_s[rows], 0.0)
    fixed = np.flatnonzero((jobs.state == JobState.RUNNING) & ~capacity.scheduled)
    fixed_s = remaining_s(snapshot, fixed, run_s)
    free = np.where(capacity.busy > 0, 0, capacity.free) if parameters.exclusive else capacity.free
    problem = AndreasProblem(
        job_weight=weight[rows],
        job_slack_s=slack_s[rows],
        job_slowest_s=slowest_s,
        job_penalty=parameters.rho * weight[rows] * late_s,
        job_tenant=jobs.tenant[rows].astype(np.int64),
        job_reach=reaches.of_job,
        job_cpus=jobs.cpus_per_gpu[rows].astype(np.int64),
        job_mem_mib=jobs.mem_mib_per_gpu[rows].copy(),
        job_budget_w=capacity.budget_w[rows],
        first_config=known.first,
        meeting=known.meeting,
        config_type=ways.gpu_type,
        config_gpus=ways.gpus,
        config_s=ways.run_s,
        config_w=ways.gpus * (ways.gpu_w - machines.idle_w[ways.gpu_type]),
        class_from=reaches.class_from,
        classes=reaches.classes,
        class_first=machines.class_first,
        node_class=machines.node_class,
        node_free=free,
        node_busy=capacity.busy,
        node_cpus=capacity.cpus,
        node_mem_mib=capacity.mem_mib,
        node_base_w=machines.base_w,
        node_host_w=machines.host_w,
        node_budget_w=host_watts_per_gpu(snapshot)[machines.rows],
        quota=tenants.quota_gpus.astype(np.int64),
        quota_by_type=tenants.quota_by_type.astype(np.int64),
        used=capacity.used,
        used_by_type=capacity.used_by_type,
        watts_left=capacity.watts_left,
        fixed_weight=weight[fixed],
        fixed_slack_s=slack_s[fixed],
        fixed_first_s=float(fixed_s.min(initial=np.inf)),
        fixed_w=capacity.fixed_w,
        price_at_s=line.at_s,
        price=line.price,
        price_area=line.area,
        limited=_limited(snapshot),
        exclusive=parameters.exclusive,
        lends=bool(snapshot.partitions.lends.any()),
        proxy=parameters.by_proxy,
    )
    # A job without any configuration has no fastest time; it comes last.
    fastest_s = known.fastest_s()
    pressure = np.where(np.isfinite(fastest_s), fastest_s, 0.0) - slack_s[rows]
    pressure[~np.isfinite(fastest_s)] = -np.inf
    return Formulated(snapshot, parameters, line, problem, rows, machines, known, pressure)


def remaining_s(snapshot: Snapshot, rows: I64, default_run_s: float) -> F64:
    """Time still to run of running jobs where they are."""
    jobs, table = snapshot.jobs, snapshot.profiles
    left_s = estimated_s(snapshot, rows, default_run_s)
    if not len(rows) or not table.throughput.size:
        return left_s
    kind, gpus = held(snapshot, rows)
    at = np.searchsorted(table.gpu_counts, gpus).clip(max=len(table.gpu_counts) - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        speed = table.throughput[jobs.profile[rows], kind, at, -1]
        measured_s = jobs.work_left[rows] / speed
    known = (jobs.profile[rows] >= 0) & (table.gpu_counts[at] == gpus) & (speed > 0)
    return np.where(known & ~np.isnan(measured_s), np.maximum(measured_s, SOONEST_S), left_s)


class _Capacity:
    """What the nodes, tenants and the power budget have, were the scheduled jobs not there."""

    def __init__(self, snapshot: Snapshot, rows: I64, machines: AndreasNodeClasses) -> None:
        nodes, pieces = snapshot.nodes, snapshot.placements
        self.scheduled: Bool = np.zeros(len(snapshot.jobs), np.bool_)
        self.scheduled[rows] = True
        job, node = pieces.job_of_piece(), pieces.node
        gpus = np.bitwise_count(pieces.gpus).astype(np.int64)
        leaves = self.scheduled[job]

        def per_node(amount: I32 | I64) -> I64:
            return np.bincount(node, amount, minlength=len(nodes)).astype(np.int64)[machines.rows]

        self.free: I64 = np.bitwise_count(nodes.free_gpus).astype(np.int64)[machines.rows]
        self.free = self.free + per_node(gpus * leaves)
        self.busy: I64 = per_node(gpus * ~leaves)
        self.most: I64 = self.free + self.busy
        self.cpus: I64 = nodes.free_cpus[machines.rows] + per_node(pieces.cpus * leaves)
        self.mem_mib: I64 = nodes.free_mem_mib[machines.rows] + per_node(pieces.mem_mib * leaves)
        given = Placed.held(snapshot).only(leaves).per_tenant_and_type(snapshot)
        self.used: I64 = snapshot.tenants.used_gpus - given.sum(axis=1)
        self.used_by_type: I64 = snapshot.tenants.used_by_type - given
        each_w = watts_per_gpu(snapshot)
        self.budget_w: F64 = each_w - snapshot.gpu_types.idle_w
        stays_w = float(piece_watts(snapshot, each_w)[~leaves].sum())
        self.watts_left = budget_w(snapshot) - idle_draw_w(snapshot) - stays_w
        self.fixed_w = self._fixed_w(snapshot, machines, each_w, ~leaves)

    def _fixed_w(
        self, snapshot: Snapshot, machines: AndreasNodeClasses, each_w: F64, stays: Bool
    ) -> float:
        """Watts of the jobs that stay, by the same account as those that are scheduled."""
        pieces = snapshot.placements
        job, node = pieces.job_of_piece()[stays], pieces.node[stays]
        gpus, kind = np.bitwise_count(pieces.gpus[stays]), snapshot.nodes.gpu_type[node]
        number = np.full(len(snapshot.nodes), -1, np.int64)
        number[machines.rows] = np.arange(len(machines.rows))
        host_w = np.append(machines.host_w, 0.0)[number[node]]
        watts = gpus * busy_gpu_w(each_w[job, kind], machines.idle_w[kind], host_w)
        return float(watts.sum() + machines.base_w[self.busy > 0].sum())
