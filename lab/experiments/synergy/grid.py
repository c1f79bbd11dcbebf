"""The grid of the Synergy experiment, and one run of it."""

from dataclasses import replace
from itertools import product
from typing import Any

import msgspec
import numpy as np

from lab.experiments.published import build_published
from lab.experiments.synergy.settings import (
    FIRST_MEASURED,
    MEASURED_TO,
    ORDERINGS,
    Ordering,
    Split,
    SynergyCase,
    setting_of,
)
from policies.bench.shares.job_shares import JobShares
from policies.bench.shares.needs import ProfileSpeeds, Share
from policies.bench.shares.needs_table import NeedsTable
from policies.contract.columns import F64
from policies.contract.plan import Plan
from policies.contract.policy import Policy
from policies.contract.snapshot import JobState, Snapshot
from policies.synergy.optimum import best_shares
from policies.synergy.parameters import PackingName
from simulator.engine import Engine, Outcome
from simulator.log import StretchEnd
from simulator.measure import measure
from simulator.report.series import series_of

SEEDS = (0, 1, 2, 3, 4)
PACKINGS: tuple[PackingName, ...] = ("proportional", "greedy", "tune")
MAIN: tuple[Ordering, ...] = ("fifo", "srtf")
FAIR: tuple[Ordering, ...] = ("las", "ftf")
OTHER_SPLITS: tuple[Split, ...] = ("33/33/33", "50/0/50")
COMPARED: tuple[PackingName, ...] = ("proportional", "tune")
LOADS = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)
MULTI_LOADS = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 8.0)
MULTI_LOAD = 6.0
BOUND_EVERY = 25
"""Rounds between two comparisons of a packing with the linear program's bound."""
QUANTILES = 200


def grid() -> list[SynergyCase]:
    """The primary cells with all seeds, every other cell with the first; fixed before any run."""
    first = [
        *_primary(SEEDS[0]),
        *(SynergyCase(o, "opt", pooled=True) for o in ORDERINGS[1:]),
        *(SynergyCase(o, p, load=load) for load in LOADS for o, p in product(MAIN, COMPARED)),
        *(SynergyCase(o, p, load=8.0) for o, p in product(FAIR, COMPARED)),
        *(
            SynergyCase(o, p, split=split)
            for split, o, p in product(OTHER_SPLITS, ORDERINGS, PACKINGS)
        ),
        *(SynergyCase("fifo", "opt", split=split, pooled=True) for split in OTHER_SPLITS),
        *(SynergyCase(o, p, "multi", MULTI_LOAD) for o, p in product(ORDERINGS, PACKINGS)),
        *(SynergyCase("fifo", p, "multi", load) for load, p in product(MULTI_LOADS, COMPARED)),
        *(SynergyCase(o, p, servers=4) for o, p in product(ORDERINGS, COMPARED)),
        *(SynergyCase(o, p, servers=64) for o, p in product(MAIN, COMPARED)),
        *(
            SynergyCase(o, p, cpus_per_gpu=ratio)
            for ratio, o, p in product((4, 5, 6), MAIN, COMPARED)
        ),
        *(SynergyCase("srtf", "tune", split=split, by_money=True) for split in OTHER_SPLITS),
        SynergyCase("srtf", "tune", "multi", MULTI_LOAD, by_money=True),
    ]
    others = [
        case
        for seed in SEEDS[1:]
        for case in (
            *_primary(seed),
            *(
                SynergyCase(o, p, "multi", MULTI_LOAD, seed=seed)
                for o, p in product(MAIN, COMPARED)
            ),
        )
    ]
    return list(dict.fromkeys([*first, *others]))


def _primary(seed: int) -> list[SynergyCase]:
    return [
        *(SynergyCase(o, p, seed=seed) for o, p in product(ORDERINGS, PACKINGS)),
        SynergyCase("fifo", "opt", pooled=True, seed=seed),
        SynergyCase("fifo", "tune", migration=False, seed=seed),
        SynergyCase("srtf", "tune", by_money=True, seed=seed),
    ]


def plotted(case: SynergyCase) -> bool:
    """Completion times of the primary cell and of the multi-GPU one, with the first seed."""
    cells = (
        SynergyCase(case.ordering, case.packing),
        SynergyCase(case.ordering, case.packing, "multi", 6.0),
    )
    return any(replace(case, pooled=False, by_money=False) == cell for cell in cells)


class Watched:
    """A policy whose total speed is compared with the bound now and then."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._rounds = 0
        self._needs_table: NeedsTable | None = None
        self.reached: list[float] = []

    @property
    def work_conserving(self) -> bool:
        return self._policy.work_conserving

    @property
    def minds_running(self) -> bool:
        return self._policy.minds_running

    def plan(self, snapshot: Snapshot) -> Plan:
        plan = self._policy.plan(snapshot)
        self._rounds += 1
        if self._rounds % BOUND_EVERY == 0 and not plan.preempts:
            bound = self._bound(snapshot, plan)
            if bound:
                self.reached.append(plan.shown["total_speed"] / bound)
        return plan

    def _bound(self, snapshot: Snapshot, plan: Plan) -> float | None:
        if self._needs_table is None:
            self._needs_table = NeedsTable(snapshot)
        roster = JobShares(snapshot, self._needs_table)
        running = np.flatnonzero(snapshot.jobs.state == JobState.RUNNING).tolist()
        starting = {start.job for start in plan.starts}
        starts = [row for row, job in enumerate(snapshot.jobs.id.tolist()) if job in starting]
        jobs = [
            (row, roster.gpus[row], roster.needs(row, roster.gpus[row]), Share(0, 0))
            for row in (*running, *starts)
        ]
        nodes = snapshot.nodes
        return best_shares(jobs, int(nodes.cpus.sum()), int(nodes.mem_mib.sum()))[1]


def run_case(case: SynergyCase) -> dict[str, Any]:
    """The record of a run, as it is stored."""
    setting = setting_of(case)
    watched = Watched(build_published(*case.policy()))
    watching = case.packing == "tune" and not case.by_money
    policy: Policy = watched if watching else build_published(*case.policy())
    outcome = Engine(setting, policy, case.pace()).run()
    jct_s = (outcome.finished_s - setting.jobs.submitted_s)[FIRST_MEASURED:MEASURED_TO]
    stretches = outcome.log.table()
    from_s, to_s = setting.jobs.submitted_s[[FIRST_MEASURED, MEASURED_TO - 1]].tolist()
    used = _utilisation(outcome, from_s, to_s)
    record: dict[str, Any] = {
        "jct_mean_s": float(jct_s.mean()),
        "jct_median_s": float(np.median(jct_s)),
        "jct_p99_s": float(np.quantile(jct_s, 0.99)),
        "gpus_held": used[0],
        "cpus_given": used[1],
        "cpus_used": used[2],
        "retunes": int((stretches.end == StretchEnd.RETUNED).sum()),
        "moves": int((stretches.end == StretchEnd.MOVED).sum()),
        "preemptions": int((stretches.end == StretchEnd.PREEMPTED).sum()),
        "rounds": outcome.rounds,
        "of_bound": float(np.mean(watched.reached)) if watched.reached else None,
        "of_bound_least": float(np.min(watched.reached)) if watched.reached else None,
    }
    if plotted(case):
        series = series_of(outcome, measure(outcome))
        quantiles = np.quantile(jct_s, np.linspace(0, 1, QUANTILES)).tolist()
        record["series"] = msgspec.to_builtins(
            msgspec.structs.replace(series, jct_s=quantiles, gantt=[])
        )
    return record


def _utilisation(outcome: Outcome, from_s: float, to_s: float) -> tuple[float, float, float]:
    """Shares of GPUs held, of CPUs given and of CPUs that make a difference, while measured."""
    nodes, jobs = outcome.setting.machines.nodes, outcome.setting.jobs
    needs = _Needs(outcome)
    sums: F64 = np.zeros(3)
    for (row, began_s, ended_s, gpus, *_), pieces in zip(
        outcome.log.stretches, outcome.log.pieces, strict=True
    ):
        seconds = min(ended_s, to_s) - max(began_s, from_s)
        if seconds <= 0:
            continue
        cpus = sum(piece[2] for piece in pieces)
        share = Share(cpus // gpus, sum(piece[3] for piece in pieces) // gpus)
        sums += np.array([gpus, cpus, needs.cpus(int(jobs.profile[row]), share) * gpus]) * seconds
    total = np.array([nodes.gpus.sum(), nodes.cpus.sum(), nodes.cpus.sum()]) * (to_s - from_s)
    held, given, used = (sums / total).tolist()
    return held, given, used


class _Needs:
    """The fewest CPUs per GPU with which a job would be as fast as it is."""

    def __init__(self, outcome: Outcome) -> None:
        self._profiles = outcome.setting.profiles
        self._grid: list[int] = [int(cpus) for cpus in self._profiles.cpus_per_gpu]
        self._known: dict[tuple[int, Share], int] = {}

    def cpus(self, profile: int, share: Share) -> int:
        key = (profile, share)
        if key not in self._known:
            measured = ProfileSpeeds(self._profiles, profile)
            speed = measured.at(share)
            fewer = (c for c in self._grid if measured.at(Share(c, share.mem_mib)) >= speed)
            self._known[key] = min(next(fewer, share.cpus), share.cpus)
        return self._known[key]
