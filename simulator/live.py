"""The live queue as a world: what runs keeps its GPUs, what waits is decided upon from now on."""

from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np

from policies.contract.columns import F64, I64, Bool
from policies.contract.plan import Piece, Start
from policies.contract.policy import Policy
from policies.contract.snapshot import (
    UNLIMITED,
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
from simulator.costs import Costs
from simulator.engine import Engine, Pace
from simulator.machines import Machines
from simulator.setting import Setting
from simulator.truth import Truth
from simulator.workload import Workload
from simulator.world import World

# A job that has outlived its estimate is taken to need this share of what it has done once more.
OVERRUN = 0.1


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
    price: PriceCurve | None = None,
    carbon: PriceCurve | None = None,
    tariff: Tariff | None = None,
    left_out: Collection[int] = (),
) -> Live:
    """Queued jobs that are held, wait for another job or are `left_out` do not take part.

    A `tariff` adds its demand charge, from the snapshot's peak on.
    """
    rows = _taking_part(snapshot, left_out)
    setting, done = _setting(snapshot, rows, guess or Guess(), price, carbon)
    setting = replace(setting, tariff=tariff, peak_w=snapshot.peak_w)
    engine = Engine(setting, policy, pace)
    _resume(engine.world, snapshot, rows, done)
    return Live(engine, snapshot.jobs.id[rows])


def _taking_part(snapshot: Snapshot, left_out: Collection[int]) -> I64:
    """In the order of the world's rows: by submission, then by id, as policies break ties."""
    jobs = snapshot.jobs
    waiting = (jobs.state == JobState.QUEUED) & (jobs.blocked == Blocked.NO)
    waiting &= ~np.isin(jobs.id, np.array(sorted(left_out), np.int64))
    rows = np.flatnonzero(waiting | (jobs.state != JobState.QUEUED))
    return rows[np.argsort(jobs.submitted_s[rows], kind="stable")]


def _setting(
    snapshot: Snapshot, rows: I64, guess: Guess, price: PriceCurve | None, carbon: PriceCurve | None
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
        seed=guess.seed or 0,
        pue=snapshot.pue,
        power_budget_w=snapshot.power_budget_w,
        price=price,
        carbon=carbon,
    )
    believed, total, done = _work(snapshot, rows, _asked_rate(setting), guess)
    jobs = _workload(snapshot, rows, total)
    return replace(setting, jobs=jobs, believed_work=believed), done


def _asked_rate(setting: Setting) -> F64:
    truth = Truth(setting.jobs, setting.machines, setting.profiles, setting.costs)
    return np.array([truth.asked_rate(row, kind) for row, kind in enumerate(setting.first_types())])


def _work(snapshot: Snapshot, rows: I64, rate: F64, guess: Guess) -> tuple[F64, F64, F64]:
    """What policies believe of each job's work, what it is taken to be, and what is done.

    In steps where the job has a profile and says how many; else as seconds on the asked GPUs.
    """
    jobs = snapshot.jobs
    steps, est_s = jobs.work_total[rows], jobs.est_total_s[rows]
    counted = (jobs.profile[rows] >= 0) & ~np.isnan(steps)
    ran_s = jobs.attained_gpu_s[rows] / jobs.min_gpus[rows]
    done = np.where(counted, steps - jobs.work_left[rows], ran_s * rate)
    believed = np.where(counted, steps, est_s * rate)
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
    """Quotas less what the tenants hold in other clusters, which the run does not see change."""
    tenants, held, jobs = snapshot.tenants, snapshot.placements, snapshot.jobs
    here = np.zeros((len(tenants), len(snapshot.gpu_types)), np.int64)
    owner = jobs.tenant[held.job_of_piece()]
    np.add.at(here, (owner, snapshot.nodes.gpu_type[held.node]), np.bitwise_count(held.gpus))

    def left(quota: Any, used: Any, mine: Any) -> Any:
        return np.where(quota == UNLIMITED, UNLIMITED, quota - np.maximum(used - mine, 0))

    return TenantTable.of(
        id=np.arange(len(tenants)),
        weight=tenants.weight,
        quota_gpus=left(tenants.quota_gpus, tenants.used_gpus, here.sum(axis=1)),
        quota_by_type=left(tenants.quota_by_type, tenants.used_by_type, here),
        used_by_type=np.zeros_like(tenants.used_by_type),
        energy_left_j=tenants.energy_left_j,
    )


def _complete(profiles: ProfileTable) -> ProfileTable:
    """Every type runs every profile: where it was not measured, as fast as elsewhere."""
    filled = profiles.throughput.copy()
    for of_profile in filled:
        known = of_profile[of_profile > 0]
        missing = np.isnan(of_profile).all(axis=1)
        np.copyto(of_profile, known.mean() if len(known) else 1.0, where=missing[:, None, :])
    return ProfileTable.of(**{**dict(profiles.columns()), "throughput": filled})


def _resume(world: World, snapshot: Snapshot, rows: I64, done: F64) -> None:
    """Put the running jobs where they are, as far as they came; what is stopping has stopped."""
    jobs, columns = snapshot.jobs, world.jobs
    columns.done[:] = done
    columns.attained_gpu_s[:] = jobs.attained_gpu_s[rows]
    columns.restart_cost_s[:] = jobs.restart_cost_s[rows]
    world.advance(snapshot.now_s)
    running = _running(snapshot, rows)
    state = world.holdings.node_state.copy()
    # Draining and silent nodes keep what they run, though they would be given nothing new.
    world.holdings.node_state[:] = NodeState.READY
    world.adopt([_start(snapshot, rows, at) for at in running.tolist()])
    world.holdings.node_state[:] = state
    started_s = jobs.started_s[rows][running]
    columns.started_s[running] = started_s
    columns.checkpoint_s[running] = np.fmax(started_s, jobs.checkpoint_s[rows][running])
    world.first_start_s[running] = started_s
    world.changed = True


def _running(snapshot: Snapshot, rows: I64) -> I64:
    holds: Bool = np.diff(snapshot.placements.offset)[rows] > 0
    return np.flatnonzero((snapshot.jobs.state[rows] == JobState.RUNNING) & holds)


def _start(snapshot: Snapshot, rows: I64, at: int) -> Start:
    held, row = snapshot.placements, int(rows[at])
    pieces = tuple(
        Piece(int(held.node[i]), int(held.gpus[i]), int(held.cpus[i]), int(held.mem_mib[i]))
        for i in range(int(held.offset[row]), int(held.offset[row + 1]))
    )
    return Start(at, pieces, int(snapshot.jobs.clock_mhz[row]))
