"""The live queue as a world: what runs keeps its GPUs, what waits is decided upon from now on."""

import math
from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np

from policies.contract.columns import F64, I64
from policies.contract.plan import Piece, Start
from policies.contract.policy import Policy
from policies.contract.snapshot import (
    Blocked,
    JobState,
    NodeState,
    NodeTable,
    ProfileTable,
    Snapshot,
    TenantTable,
)
from policies.pricing.curve import PriceCurve
from policies.pricing.tariff import Tariff
from simulator.budgets import Allowance
from simulator.costs import Costs
from simulator.engine import Engine, Pace
from simulator.job_columns import JobColumns
from simulator.machines import Machines
from simulator.setting import Setting
from simulator.truth import Truth
from simulator.workload import Workload
from simulator.world import World

# A job that has outlived its estimate is taken to need this share of what it has done once more.
OVERRUN = 0.1
# What stops or boots takes at least so long: the round of now has neither its GPUs nor its node.
SHORTEST_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """What is assumed of run times: `run_s` without an estimate, and how far estimates are off.

    With a `seed`, each job really takes its estimate times exp(normal(0, spread)). A job runs
    `start_s` after the round that places it, and the service knows of its end after `end_s`.
    """

    run_s: float = 3600.0
    spread: float = 0.0
    seed: int | None = None
    start_s: float = 0.0
    end_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergyTerms:
    """What energy costs from the snapshot on, and how much of it there is in later periods.

    Of a `tariff` the demand charge counts, from the snapshot's peak on. Without an `allowance` an
    energy budget ends with the period that the snapshot is in.
    """

    price: PriceCurve | None = None
    carbon: PriceCurve | None = None
    tariff: Tariff | None = None
    allowance: Allowance | None = None


class Live(NamedTuple):
    """A run that starts from a snapshot; job row r of its world is the job with id `job_ids[r]`."""

    engine: Engine
    job_ids: I64


def engine_from(
    snapshot: Snapshot,
    policy: Policy,
    pace: Pace,
    guess: Guess | None = None,
    *,
    terms: EnergyTerms | None = None,
    left_out: Collection[int] = (),
) -> Live:
    """Queued jobs that are held, wait for another job or are `left_out` do not take part."""
    guess, rows = guess or Guess(), _taking_part(snapshot, left_out)
    setting, done = _setting(snapshot, rows, guess, terms or EnergyTerms())
    engine = Engine(setting, policy, pace)
    _resume(engine.world, snapshot, rows, guess, done)
    return Live(engine, snapshot.jobs.id[rows])


def _taking_part(snapshot: Snapshot, left_out: Collection[int]) -> I64:
    """In the order of the snapshot, by which policies may break ties; nobody is yet to come."""
    jobs = snapshot.jobs
    waiting = (jobs.state == JobState.QUEUED) & (jobs.blocked == Blocked.NO)
    waiting &= ~np.isin(jobs.id, np.array(sorted(left_out), np.int64))
    rows = np.flatnonzero(waiting | (jobs.state != JobState.QUEUED))
    arrives_s = np.maximum(jobs.submitted_s[rows], snapshot.now_s)
    return rows[np.argsort(arrives_s, kind="stable")]


def _setting(
    snapshot: Snapshot, rows: I64, guess: Guess, terms: EnergyTerms
) -> tuple[Setting, F64]:
    """The setting of the run, and how much of its work each job has done already."""
    restart_s = snapshot.jobs.restart_cost_s[rows]
    unknown = np.full(len(rows), np.nan)
    setting = Setting(
        jobs=_workload(snapshot, rows, unknown),
        tenants=_tenants(snapshot),
        tenant_names=tuple(map(str, snapshot.tenants.id.tolist())),
        machines=machines_of(snapshot),
        believed_work=unknown,
        profiles=_complete(snapshot.profiles),
        believed_profiles=snapshot.profiles,
        costs=Costs(
            start_s=guess.start_s,
            end_s=guess.end_s,
            restart_s=guess.start_s + (float(np.median(restart_s)) if len(rows) else 0.0),
            # Nobody knows whether a job saves its work, so it is lost, as policies fear.
            saves_on_stop=False,
        ),
        origin_s=snapshot.now_s,
        first_seed=snapshot.seed,
        pue=snapshot.pue,
        power_budget_w=snapshot.power_budget_w,
        allowance=_allowance(snapshot, terms.allowance),
        price=terms.price,
        carbon=terms.carbon,
        tariff=terms.tariff,
        peak_w=snapshot.peak_w,
        power_off=snapshot.power_off,
        min_idle_s=snapshot.min_idle_s,
    )
    believed, total, done = _work(snapshot, rows, _asked_rate(setting), guess)
    jobs = _workload(snapshot, rows, total)
    return replace(setting, jobs=jobs, believed_work=believed), done


def _allowance(snapshot: Snapshot, later: Allowance | None) -> Allowance | None:
    if math.isinf(snapshot.energy_left_j):
        return None
    return replace(
        later or Allowance(),
        first_j=snapshot.energy_left_j,
        first_until_s=snapshot.energy_until_s,
    )


def _asked_rate(setting: Setting) -> F64:
    truth = Truth(setting.jobs, setting.machines, setting.profiles, setting.costs)
    return np.array([truth.asked_rate(row, kind) for row, kind in enumerate(setting.first_types())])


def _work(snapshot: Snapshot, rows: I64, rate: F64, guess: Guess) -> tuple[F64, F64, F64]:
    """What policies believe of each job's work, what it is taken to be, and what is done.

    In steps where the job has a profile and says how many are left; else as seconds on the asked
    GPUs.
    """
    jobs = snapshot.jobs
    left, ran_s = jobs.work_left[rows], jobs.attained_gpu_s[rows] / jobs.min_gpus[rows]
    counted = (jobs.profile[rows] >= 0) & ~np.isnan(left)
    steps = np.fmax(jobs.work_total[rows], left)
    est_s = ran_s + jobs.est_run_s[rows]
    est_s = np.where(np.isnan(est_s), jobs.est_total_s[rows], est_s)
    done = np.where(counted, steps - left, ran_s * rate)
    believed = np.maximum(np.where(counted, steps, est_s * rate), done)
    total = np.where(np.isnan(believed), guess.run_s * rate, believed)
    if guess.seed is not None:
        random = np.random.default_rng([guess.seed, 5])
        total = total * np.exp(random.normal(0.0, guess.spread, len(rows)))
    total = np.where(total > done, total, done * (1 + OVERRUN) + rate)
    return believed, np.maximum(total, rate), done


def _workload(snapshot: Snapshot, rows: I64, work: F64) -> Workload:
    jobs = snapshot.jobs
    same = (
        "submitted_s", "max_gpus", "tenant", "partition", "profile", "priority", "deadline_s",
        "tardiness_weight", "gpu_types", "cpus_per_gpu", "mem_mib_per_gpu", "span", "preemptible",
    )  # fmt: skip
    columns = {name: getattr(jobs, name)[rows] for name in same}
    return Workload.of(**columns, gpus=jobs.min_gpus[rows], work=work)


def machines_of(snapshot: Snapshot) -> Machines:
    """All free, but for GPUs that are out of order."""
    nodes, held = snapshot.nodes, snapshot.placements
    free_gpus, free_cpus = nodes.free_gpus.copy(), nodes.free_cpus.copy()
    free_mem_mib = nodes.free_mem_mib.copy()
    np.bitwise_or.at(free_gpus, held.node, held.gpus)
    np.add.at(free_cpus, held.node, held.cpus)
    np.add.at(free_mem_mib, held.node, held.mem_mib)
    columns: dict[str, Any] = {f.name: getattr(nodes, f.name) for f in fields(NodeTable)}
    columns |= {"id": np.arange(len(nodes)), "free_gpus": free_gpus}
    columns |= {"free_cpus": free_cpus, "free_mem_mib": free_mem_mib}
    return Machines(
        nodes=NodeTable.of(**columns),
        gpu_types=snapshot.gpu_types,
        partitions=snapshot.partitions,
    )


def _tenants(snapshot: Snapshot) -> TenantTable:
    """With what the tenants hold in other clusters, which the run does not see change."""
    tenants, held, jobs = snapshot.tenants, snapshot.placements, snapshot.jobs
    here = np.zeros((len(tenants), len(snapshot.gpu_types)), np.int64)
    owner = jobs.tenant[held.job_of_piece()]
    np.add.at(here, (owner, snapshot.nodes.gpu_type[held.node]), np.bitwise_count(held.gpus))
    columns = dict(tenants.columns())
    columns["id"] = np.arange(len(tenants))
    columns["used_gpus"] = tenants.used_gpus - here.sum(axis=1)
    # Below 0 for a type that nobody counts because it has no quota.
    columns["used_by_type"] = tenants.used_by_type - here
    return TenantTable.of(**columns)


def _complete(profiles: ProfileTable) -> ProfileTable:
    """Every type runs every profile: where it was not measured, as fast as elsewhere."""
    filled = profiles.throughput.copy()
    for of_profile in filled:
        known = of_profile[of_profile > 0]
        missing = np.isnan(of_profile).all(axis=1)
        np.copyto(of_profile, known.mean() if len(known) else 1.0, where=missing[:, None, :])
    return ProfileTable.of(**{**dict(profiles.columns()), "throughput": filled})


def _resume(world: World, snapshot: Snapshot, rows: I64, guess: Guess, done: F64) -> None:
    """Put what holds GPUs where it is, as far as it came."""
    jobs, columns = snapshot.jobs, world.jobs
    columns.done[:] = done
    for name in ("attained_gpu_s", "restart_cost_s", "min_run_s", "work_total", "est_total_s"):
        getattr(columns, name)[:] = getattr(jobs, name)[rows]
    world.advance(snapshot.now_s)
    holding = np.flatnonzero(np.diff(snapshot.placements.offset)[rows] > 0)
    state = world.holdings.node_state.copy()
    # Draining and silent nodes keep what they run, though they would be given nothing new.
    world.holdings.node_state[:] = NodeState.READY
    world.adopt([_start(snapshot, rows, at) for at in holding.tolist()])
    world.holdings.node_state[:] = state
    started_s = jobs.started_s[rows][holding]
    columns.started_s[holding] = started_s
    columns.checkpoint_s[holding] = np.fmax(started_s, jobs.checkpoint_s[rows][holding])
    world.first_start_s[holding] = started_s
    stopping = holding[jobs.state[rows][holding] == JobState.STOPPING]
    world.give_up(stopping.tolist(), max(guess.end_s, SHORTEST_S))
    booting = np.flatnonzero(snapshot.nodes.state == NodeState.BOOTING)
    world.boot(booting.tolist(), max(world.costs.boot_s, SHORTEST_S))
    _tell(columns, snapshot, rows)
    world.changed = True


def _tell(columns: JobColumns, snapshot: Snapshot, rows: I64) -> None:
    """Let policies be told now what the snapshot tells them, to the last bit."""
    jobs = snapshot.jobs
    shown = columns.table(columns.id, snapshot.now_s)
    left, est_run_s = shown.work_left, jobs.est_run_s[rows]
    told = (left > 0) & (est_run_s > 0)
    np.divide(est_run_s, left, out=columns.s_per_work, where=told)
    columns.work_left[:] = jobs.work_left[rows] - left
    columns.est_run_s[:] = est_run_s - left * columns.s_per_work


def _start(snapshot: Snapshot, rows: I64, at: int) -> Start:
    held, row = snapshot.placements, int(rows[at])
    pieces = tuple(
        Piece(int(held.node[i]), int(held.gpus[i]), int(held.cpus[i]), int(held.mem_mib[i]))
        for i in range(int(held.offset[row]), int(held.offset[row + 1]))
    )
    return Start(at, pieces, int(snapshot.jobs.clock_mhz[row]))
