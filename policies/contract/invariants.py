"""What every plan must keep, whoever made it; a plan that breaks one of these is refused whole."""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from policies.bench.node_power import in_demand, may_sleep, ready_nodes
from policies.bench.power import (
    budget_w,
    drawn_w,
    host_watts_per_gpu,
    limited,
    node_idle_w,
    partition_budgets_w,
    per_partition,
    watts_at,
    watts_per_gpu,
)
from policies.bench.ways import pools
from policies.contract.columns import F64, I32, I64, U64, Bool
from policies.contract.plan import Placing, Plan, Retune
from policies.contract.plan_columns import Placed, rows_of
from policies.contract.snapshot import UNLIMITED, Blocked, JobState, NodeState, Snapshot, Span
from policies.explain.reasons import WaitReason

# Watts are sums of floats in another order than the ledger's.
_WATT_SLACK = 1e-6


class Violation(NamedTuple):
    code: str
    message: str


def check_plan(snapshot: Snapshot, plan: Plan) -> list[Violation]:
    """Every broken invariant, empty when the plan is safe to apply."""
    named = list(_check_names(snapshot, plan))
    if named:
        return named
    placed = Placed.of(snapshot, plan)
    acts = (*plan.moves, *plan.resizes, *(plan.preempts if snapshot.hands_over else ()))
    held = Placed.held(snapshot)
    leaving = held.only(np.isin(held.job, rows_of(snapshot.jobs.id, [act.job for act in acts])))
    tuned = Placed.by(snapshot, plan.retunes)
    untuned = held.only(np.isin(held.job, tuned.job))
    return [
        *_check_entries(snapshot, plan),
        *_check_running(snapshot, plan),
        *_check_gangs(snapshot, placed),
        *_check_where(snapshot, placed),
        *_check_gpus(snapshot, plan, placed, leaving),
        *_check_retunes(snapshot, tuned, untuned),
        *_check_cpus_and_memory(snapshot, placed.beside(tuned), leaving.beside(untuned)),
        *_check_quotas(snapshot, placed, leaving),
        *_check_power(snapshot, plan, placed, leaving),
        *_check_switching(snapshot, plan, placed),
    ]


def _check_names(snapshot: Snapshot, plan: Plan) -> Iterator[Violation]:
    """Ids must be known before anything else can be looked at."""
    acts = (*plan.starts, *plan.preempts, *plan.moves, *plan.resizes, *plan.clocks, *plan.retunes)
    job_ids = [*(act.job for act in acts), *plan.waits.job.tolist()]
    job_ids += [act.for_job for act in plan.preempts]
    for at in np.flatnonzero(rows_of(snapshot.jobs.id, job_ids) < 0).tolist():
        yield Violation("unknown_job", f"job {job_ids[at]} is not in the snapshot")
    placing: tuple[Placing | Retune, ...]
    placing = (*plan.starts, *plan.moves, *plan.resizes, *plan.retunes)
    node_ids = [piece.node for act in placing for piece in act.pieces]
    node_ids += [act.node for act in plan.power]
    for at in np.flatnonzero(rows_of(snapshot.nodes.id, node_ids) < 0).tolist():
        yield Violation("unknown_node", f"node {node_ids[at]} is not in the snapshot")
    evidence = plan.waits.evidence
    if len(evidence) and (evidence.min() < 0 or evidence.max() >= len(plan.evidence)):
        yield Violation("evidence_missing", "a wait names evidence that is not there")
    for reason in np.setdiff1d(plan.waits.reason, [int(reason) for reason in WaitReason]).tolist():
        yield Violation("unknown_reason", f"no reason has the number {reason}")


def _check_entries(snapshot: Snapshot, plan: Plan) -> Iterator[Violation]:
    jobs, each = snapshot.jobs, partial(_each, snapshot.jobs.id)
    started = rows_of(jobs.id, (act.job for act in plan.starts))
    entries = np.bincount(rows_of(jobs.id, plan.waits.job), minlength=len(jobs))
    entries += np.bincount(started, minlength=len(jobs))
    queued, some = jobs.state == JobState.QUEUED, entries > 0
    yield from each(queued & ~some, "no_entry", "queued job {} has no entry")
    yield from each(queued & (entries > 1), "two_entries", "job {} has several entries")
    yield from each(~queued & some, "not_queued", "job {} starts or waits but is not queued")
    starting = _mask(len(jobs), started)
    yield from each(starting & (jobs.blocked != Blocked.NO), "blocked", "held-back job {} starts")
    broke = (snapshot.tenants.energy_left_j <= 0)[jobs.tenant]
    yield from each(starting & broke, "energy_budget", "job {} starts without energy budget")


def _check_running(snapshot: Snapshot, plan: Plan) -> Iterator[Violation]:
    jobs, each = snapshot.jobs, partial(_each, snapshot.jobs.id)
    acts = (*plan.preempts, *plan.moves, *plan.resizes, *plan.clocks, *plan.retunes)
    acted = np.bincount(rows_of(jobs.id, (act.job for act in acts)), minlength=len(jobs))
    yield from each(acted > 1, "two_entries", "job {} has several entries")
    still = jobs.state != JobState.RUNNING
    yield from each((acted > 0) & still, "not_running", "job {} is changed but not running")
    stopping = (*plan.preempts, *plan.moves, *plan.resizes)
    stopped = _mask(len(jobs), rows_of(jobs.id, (act.job for act in stopping)))
    yield from each(stopped & ~jobs.preemptible, "not_preemptible", "job {} must not be stopped")
    young = snapshot.now_s - jobs.started_s < jobs.min_run_s
    yield from each(stopped & young, "min_run", "job {} is within its guaranteed run time")
    if snapshot.hands_over:
        return
    # A job stopped for the power budget alone names itself.
    others = [act.for_job for act in plan.preempts if act.for_job != act.job]
    claimants = _mask(len(jobs), rows_of(jobs.id, others))
    claimants[rows_of(jobs.id, plan.waits.job)] = False
    yield from each(claimants, "claimant", "work is stopped for job {}, which does not wait")


def _check_gangs(snapshot: Snapshot, placed: Placed) -> Iterator[Violation]:
    jobs, nodes = snapshot.jobs, snapshot.nodes
    total = placed.per_job(len(jobs))
    named = _mask(len(jobs), placed.job)
    wrong = named & ((total < jobs.min_gpus) | (total > jobs.max_gpus))
    yield from _each(jobs.id, wrong, "gang_size", "job {} gets another number of GPUs than it asks")
    pairs = placed.job * len(nodes) + placed.node
    if len(np.unique(pairs)) != len(pairs):
        yield Violation("node_twice", "a job names the same node twice")
    first = np.zeros(len(jobs), np.int64)
    first[placed.job[::-1]] = placed.node[::-1]
    here, anchor = placed.node, first[placed.job]
    several = _mask(len(jobs), placed.job[here != anchor])

    def leaves(group: I32) -> Bool:
        """Jobs on several nodes of which one is not in the group of the first."""
        outside = (group[here] != group[anchor]) | (group[here] < 0)
        return several & _mask(len(jobs), placed.job[outside])

    # All of one rack or all of one switch: where a rack lies under two switches, a job with one
    # piece beside the first and another below its switch is in neither.
    racks, switches = leaves(nodes.rack), leaves(nodes.switch)
    apart = {Span.NODE: several, Span.RACK: racks, Span.SWITCH: racks & switches}
    for span, torn in apart.items():
        too_wide = torn & (jobs.span == span)
        yield from _each(jobs.id, too_wide, "span", "job {} lies wider apart than it allows")
    kind = nodes.gpu_type
    mixed = _mask(len(jobs), placed.job[kind[placed.node] != kind[first[placed.job]]])
    yield from _each(jobs.id, mixed, "mixed_types", "job {} mixes GPU types")


def _check_where(snapshot: Snapshot, placed: Placed) -> Iterator[Violation]:
    jobs, nodes, partitions = snapshot.jobs, snapshot.nodes, snapshot.partitions

    def each(wrong: Bool, code: str, message: str) -> Iterator[Violation]:
        """Of jobs with a piece that is wrong."""
        return _each(jobs.id, _mask(len(jobs), placed.job[wrong]), code, message)

    not_ready = nodes.state[placed.node] != NodeState.READY
    yield from each(not_ready, "node_not_ready", "job {} is put on a node not ready")
    kind = nodes.gpu_type[placed.node].astype(np.uint64)
    allowed = (jobs.gpu_types[placed.job] >> kind & np.uint64(1)).astype(bool)
    yield from each(~allowed, "gpu_type", "job {} is put on a GPU type it does not allow")
    home, there = jobs.partition[placed.job], nodes.partition[placed.node]
    lent = np.append(partitions.lends, False)[there] & jobs.preemptible[placed.job]
    yield from each((home != there) & ~lent, "partition", "job {} is put outside its reach")


def _check_gpus(
    snapshot: Snapshot, plan: Plan, placed: Placed, leaving: Placed
) -> Iterator[Violation]:
    nodes = snapshot.nodes
    named = np.bincount(placed.node, placed.counts(), minlength=len(nodes))
    distinct = np.bitwise_count(placed.union_per_node(len(nodes)))
    yield from _each(nodes.id, named > distinct, "gpu_twice", "a GPU of node {} is given twice")
    # A resized job may keep its own GPUs; a moved one must leave for free ones, or for those that
    # others leave which move in the same round.
    free = nodes.free_gpus
    if snapshot.hands_over:
        free = free | leaving.union_per_node(len(nodes))
    resized = rows_of(snapshot.jobs.id, (act.job for act in plan.resizes))
    moved = rows_of(snapshot.jobs.id, (act.job for act in plan.moves))
    held = Placed.held(snapshot)
    held = held.only(np.isin(held.job, np.concatenate([resized, moved])))
    own = _own_gpus(placed, held, len(nodes))
    left = held.only(np.isin(held.job, moved)).union_per_node(len(nodes))[placed.node]
    available = free[placed.node]
    available = available | np.where(np.isin(placed.job, resized), own, np.uint64(0))
    available = available | np.where(np.isin(placed.job, moved), left & ~own, np.uint64(0))
    taken = _mask(len(nodes), placed.node[(placed.gpus & ~available) != 0])
    yield from _each(nodes.id, taken, "gpu_not_free", "a GPU of node {} is given but not free")
    if (placed.gpus == 0).any():
        yield Violation("no_gpus", "a piece has no GPUs")


def _own_gpus(placed: Placed, held: Placed, nodes: int) -> U64:
    """The GPUs that the job of every placed piece holds now on that piece's node."""
    if not len(held.job):
        return np.zeros(len(placed.job), np.uint64)
    pair, held_pair = placed.job * nodes + placed.node, held.job * nodes + held.node
    order = np.argsort(held_pair)
    at = order[np.searchsorted(held_pair[order], pair).clip(max=len(order) - 1)]
    return np.where(held_pair[at] == pair, held.gpus[at], np.uint64(0))


def _check_retunes(snapshot: Snapshot, tuned: Placed, held: Placed) -> Iterator[Violation]:
    """In place means on the very GPUs that the job holds."""
    nodes = len(snapshot.nodes)

    def named(pieces: Placed) -> U64:
        where = pieces.job * nodes + pieces.node
        order = np.argsort(where, kind="stable")
        return np.stack([where[order].astype(np.uint64), pieces.gpus[order]])

    if not np.array_equal(named(tuned), named(held)):
        ids = ", ".join(map(str, np.unique(snapshot.jobs.id[tuned.job]).tolist()[:10]))
        yield Violation("not_in_place", f"of jobs {ids}, one is retuned on GPUs it does not hold")


def _check_cpus_and_memory(
    snapshot: Snapshot, placed: Placed, leaving: Placed
) -> Iterator[Violation]:
    nodes = snapshot.nodes
    if (placed.cpus < 0).any() or (placed.mem_mib < 0).any():
        yield Violation("negative", "a piece has negative CPUs or memory")
    for code, wanted, given_back, free in (
        ("cpus", placed.cpus, leaving.cpus, nodes.free_cpus),
        ("memory", placed.mem_mib, leaving.mem_mib, nodes.free_mem_mib),
    ):
        needed = _per_node(placed.node, wanted, len(nodes))
        back = _per_node(leaving.node, given_back, len(nodes))
        over = (needed > 0) & (needed > free + back)
        yield from _each(nodes.id, over, code, f"node {{}} has too little {code}")


def _check_quotas(snapshot: Snapshot, placed: Placed, leaving: Placed) -> Iterator[Violation]:
    tenants = snapshot.tenants
    added = placed.per_tenant_and_type(snapshot) - leaving.per_tenant_and_type(snapshot)
    limited = tenants.quota_by_type != UNLIMITED
    over_type = limited & (added > 0) & (tenants.used_by_type + added > tenants.quota_by_type)
    total = added.sum(axis=1)
    over = (tenants.quota_gpus != UNLIMITED) & (total > 0)
    over &= tenants.used_gpus + total > tenants.quota_gpus
    yield from _each(tenants.id, over, "quota", "tenant {} exceeds its quota")
    yield from _each(
        tenants.id, over_type.any(axis=1), "quota_of_type", "tenant {} exceeds a quota by GPU type"
    )


def _check_power(
    snapshot: Snapshot, plan: Plan, placed: Placed, leaving: Placed
) -> Iterator[Violation]:
    """Of what the plan changes; power that is exceeded already is no fault of it.

    A node switched on counts at once, one switched off only when it is off.
    """
    if not limited(snapshot):
        return
    before = drawn_w(snapshot, watts_per_gpu(snapshot))
    added = _watts(snapshot, placed) - _watts(snapshot, leaving) + _clock_watts(snapshot, plan)
    waking = rows_of(snapshot.nodes.id, (act.node for act in plan.power if act.on))
    added += per_partition(snapshot, waking, node_idle_w(snapshot)[waking])
    after = before + added
    budgets = [*partition_budgets_w(snapshot)[:-1], budget_w(snapshot)]
    rises = [*(added[:-1] > _WATT_SLACK).tolist(), added.sum() > _WATT_SLACK]
    draws = [*after[:-1].tolist(), float(after.sum())]
    names = [*snapshot.partitions.name, ""]
    for draw, budget, rise, name in zip(draws, budgets, rises, names, strict=True):
        if rise and draw > budget * (1 + _WATT_SLACK):
            where = f" of partition {name}" if name else ""
            yield Violation("power", f"{draw:.0f} W exceed the budget{where} of {budget:.0f}")


def _watts(snapshot: Snapshot, pieces: Placed) -> F64:
    """What pieces add to their idle nodes at their clocks, over the partitions."""
    total = pieces.per_job(len(snapshot.jobs))
    each = watts_at(snapshot, pieces.job, total[pieces.job], pieces.clock_mhz)
    kind = snapshot.nodes.gpu_type[pieces.node]
    busy = each[np.arange(len(kind)), kind] - snapshot.gpu_types.idle_w[kind]
    busy += host_watts_per_gpu(snapshot)[pieces.node]
    return per_partition(snapshot, pieces.node, busy * pieces.counts())


def _clock_watts(snapshot: Snapshot, plan: Plan) -> F64:
    """What changed clocks add where their jobs lie."""
    changed = rows_of(snapshot.jobs.id, (act.job for act in plan.clocks))
    clock_mhz = np.zeros(len(snapshot.jobs), np.int64)
    clock_mhz[changed] = [act.clock_mhz for act in plan.clocks]
    held = Placed.held(snapshot)
    held = held.only(np.isin(held.job, changed))
    then = held._replace(clock_mhz=clock_mhz[held.job])
    return _watts(snapshot, then) - _watts(snapshot, held)


def _check_switching(snapshot: Snapshot, plan: Plan, placed: Placed) -> Iterator[Violation]:
    nodes, held = snapshot.nodes, Placed.held(snapshot)
    switched = rows_of(nodes.id, (act.node for act in plan.power))
    if len(np.unique(switched)) != len(switched):
        yield Violation("two_entries", "a node is switched twice")
    on = np.array([act.on for act in plan.power], np.bool_)
    busy = _mask(len(nodes), placed.node) | _mask(len(nodes), held.node)
    off = _mask(len(nodes), switched[~on])
    yield from _each(nodes.id, off & busy, "node_busy", "node {} is switched off while in use")
    early = off & ~busy & ~may_sleep(snapshot)
    yield from _each(nodes.id, early, "power_off", "node {} may not be switched off, or not yet")
    if off.any():
        waiting = snapshot.jobs.state == JobState.QUEUED
        waiting[rows_of(snapshot.jobs.id, (act.job for act in plan.starts))] = False
        gone = in_demand(snapshot, np.flatnonzero(waiting)) & (ready_nodes(snapshot, off) == 0)
        last = off & gone[pools(snapshot, nodes.partition, nodes.gpu_type)]
        yield from _each(nodes.id, last, "last_ready", "node {} is the last that queued work has")
    not_off = _mask(len(nodes), switched[on]) & (nodes.state != NodeState.OFF)
    yield from _each(nodes.id, not_off, "node_not_off", "node {} is switched on but is not off")


def _mask(length: int, rows: np.ndarray[tuple[int, ...], np.dtype[np.integer]]) -> Bool:
    mask = np.zeros(length, np.bool_)
    mask[rows] = True
    return mask


def _per_node(node: I64, amount: I64, nodes: int) -> I64:
    # bincount sums floats, exact here: below 2**53 MiB.
    return np.bincount(node, amount, minlength=nodes).astype(np.int64)


def _each(ids: I64, wrong: Bool, code: str, message: str) -> Iterator[Violation]:
    for row in np.flatnonzero(wrong).tolist():
        yield Violation(code, message.format(int(ids[row])))
