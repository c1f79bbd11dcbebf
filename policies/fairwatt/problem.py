"""A round as a problem of arrays: who is planned, in which ways, for what money, in what room."""

from dataclasses import dataclass

import numpy as np

from policies.bench.roster import (
    just_started,
    lost_s,
    on_unready_node,
    startable,
    stoppable,
)
from policies.bench.shares.needs_table import NeedsTable
from policies.bench.ways import Ways, pools
from policies.contract.columns import F64, I64
from policies.contract.snapshot import Snapshot
from policies.fairwatt.arrays import Ahead, Wants
from policies.fairwatt.draw import ClusterDraw, draw_of
from policies.fairwatt.horizon import horizon
from policies.fairwatt.parameters import FairwattParameters
from policies.fairwatt.speeds import Speeds, sensitive
from policies.fairwatt.way_builder import LEAST_CHANGE_S, WayBuilder
from policies.pricing.price_line import PriceLine, price_line

HOUR_S = 3600.0


@dataclass(frozen=True, slots=True, eq=False)
class FairwattProblem:
    """Planned jobs are `rows` of the snapshot; `draw` is known where its peak has a price."""

    snapshot: Snapshot
    line: PriceLine
    rows: I64
    ways: Ways
    wants: Wants
    ahead: Ahead
    usual_s: F64
    """How long every job takes in its usual way."""
    change_s: F64
    """What stopping and restarting a job that runs is charged; 0 for queued ones."""
    newcomer_factor: F64
    """What a job's times would be multiplied by with the CPUs and memory of a newcomer, at most 1.

    Alike jobs rank alike by it. Else a queued one would take the place of a running one that has
    few of them, get no more, and lose it again the same way.
    """
    draw: ClusterDraw | None = None

    def gpu_s(self) -> F64:
        """GPU-seconds of every job in its leanest way, with CPUs and memory as others get them."""
        return self.ways.least(self.ways.gpus * self.ways.run_s) * self.newcomer_factor

    def alone(self, way: I64, job: I64) -> F64:
        """What ways, each of its `job`, cost that start now and are not disturbed."""
        ways, wants, run_s = self.ways, self.wants, self.ways.run_s[way]
        late_s = np.maximum(run_s - wants.due_s[job], 0.0)
        energy = ways.watts[way] * self.line.cost(0.0, run_s)
        return np.asarray(energy + wants.wait[job] * run_s + wants.omega[job] * late_s, np.float64)

    def only_order(self) -> bool:
        """Whether nobody has a choice: one way each, no due dates, hours that cost the same."""
        ways, wants = self.ways, self.wants
        if not self.line.flat or bool((np.isfinite(wants.due_s) & (wants.omega > 0)).any()):
            return False
        job, first = self.ways.job(), ways.first[:-1][self.ways.job()]
        again = np.bincount(job[~ways.stays], minlength=len(self.rows))
        alike = (ways.pool == ways.pool[first]) & (ways.gpus == ways.gpus[first])
        return bool(alike.all() and (again <= 1).all())

    def stops_freely(self) -> bool:
        """Whether stopping any of the work that may be stopped loses nothing."""
        return not bool((lost_s(self.snapshot)[self.rows[self.wants.held >= 0]] > 0).any())


def problem_of(
    snapshot: Snapshot, given: FairwattParameters, needs_table: NeedsTable | None = None
) -> FairwattProblem:
    """`needs_table` are the snapshot's, from a caller that keeps them."""
    fixed, loose = _running(snapshot, given)
    speeds = None
    if sensitive(snapshot):
        speeds = Speeds.of(snapshot, needs_table or NeedsTable(snapshot))
    builder = WayBuilder(
        snapshot,
        default_run_s=given.default_run_s,
        empty_nodes_off=given.empty_nodes_off or (given.power_off and snapshot.power_off),
        speeds=speeds,
    )
    rows = np.sort(np.concatenate([startable(snapshot), loose]))
    rows, ways = _with_ways(
        rows, builder.ways(rows, restarts=given.hysteresis, resize=given.resize)
    )
    line = price_line(
        snapshot, given.assumed_price_per_kwh, carbon_per_kg=given.carbon_price_per_kg
    )
    held = builder.held(fixed)
    ahead = horizon(
        snapshot,
        line,
        gpu_s=float(ways.least(ways.gpus * ways.run_s).sum()),
        ends_s=ways.run_s[ways.stays],
        fixed=fixed,
        until_s=held.run_s,
        watts=builder.added_w(held),
    )
    wait = _wait_weight(snapshot, rows, ways.least(ways.run_s), given)
    usual_s = _usual_s(ways, line, wait)
    # Nobody waits for a price that nobody knows, in whichever way it will run.
    known_s = line.known_s + ways.least(-ways.run_s)
    latest_s = np.minimum(_latest_s(snapshot, rows, usual_s, given), known_s)
    priced = snapshot.demand_price_per_w > 0
    return FairwattProblem(
        snapshot=snapshot,
        line=line,
        rows=rows,
        ways=ways,
        wants=_wants(snapshot, rows, ways, wait, latest_s),
        ahead=ahead,
        usual_s=usual_s,
        change_s=_change_s(snapshot, rows, ways, given.hysteresis),
        newcomer_factor=_newcomer_factor(builder, rows, speeds),
        draw=draw_of(builder, ways, ahead, fixed, held) if priced else None,
    )


def _change_s(snapshot: Snapshot, rows: I64, ways: Ways, hysteresis: float) -> F64:
    charged = np.maximum(lost_s(snapshot)[rows], LEAST_CHANGE_S) * hysteresis
    runs = np.zeros(len(rows), np.bool_)
    runs[ways.job()[ways.stays]] = True
    return np.where(runs, charged, 0.0)


def _newcomer_factor(builder: WayBuilder, rows: I64, speeds: Speeds | None) -> F64:
    if speeds is None:
        return np.ones(len(rows))
    slower = np.minimum(speeds.planned[rows] / speeds.likely[rows], 1.0)
    return np.where(builder.counted(rows), slower, 1.0)


def _running(snapshot: Snapshot, given: FairwattParameters) -> tuple[I64, I64]:
    """Rows that hold GPUs: of work that is left alone, and of work that may be changed."""
    nodes, pieces = snapshot.nodes, snapshot.placements
    loose = stoppable(snapshot, given.min_run_s) & ~just_started(snapshot)
    loose &= (given.preempt or given.resize) & ~on_unready_node(snapshot)
    owner, pool = pieces.job_of_piece(), pools(snapshot, nodes.partition, nodes.gpu_type)
    apart = pool[pieces.node] != pool[pieces.node[pieces.offset[owner]]]
    loose[owner[apart]] = False
    holding = np.diff(pieces.offset) > 0
    return np.flatnonzero(holding & ~loose), np.flatnonzero(holding & loose)


def _with_ways(rows: I64, ways: Ways) -> tuple[I64, Ways]:
    """Without jobs that can run in no way."""
    count = np.diff(ways.first)
    first = np.concatenate([[0], np.cumsum(count[count > 0])])
    return rows[count > 0], ways._replace(first=first)


def _wants(snapshot: Snapshot, rows: I64, ways: Ways, wait: F64, latest_s: F64) -> Wants:
    held = np.full(len(rows), -1)
    held[ways.job()[ways.stays]] = np.flatnonzero(ways.stays)
    return Wants(
        wait=wait,
        omega=snapshot.jobs.tardiness_weight[rows],
        due_s=snapshot.jobs.deadline_s[rows] - snapshot.now_s,
        # Work that runs is stopped for other work, never for a cheaper hour.
        latest_s=np.where(held >= 0, -np.inf, latest_s),
        held=held,
    )


def _latest_s(snapshot: Snapshot, rows: I64, usual_s: F64, given: FairwattParameters) -> F64:
    """Until when a job may be kept for something better: by its due date, else by its age."""
    due_s = snapshot.jobs.deadline_s[rows] - snapshot.now_s
    by_age_s = snapshot.jobs.submitted_s[rows] + given.max_shift_s - snapshot.now_s
    return np.where(np.isfinite(due_s), due_s - given.slack * usual_s, by_age_s)


def _usual_s(ways: Ways, line: PriceLine, wait: F64) -> F64:
    """How long every job takes in the way that costs least alone, were it never late.

    That of many GPUs takes less, but who knows whether there will be as many.
    """
    if not len(ways.run_s):
        return np.empty(0)
    job = ways.job()
    cost = ways.watts * line.cost(0.0, ways.run_s) + wait[job] * ways.run_s
    cheapest = np.flatnonzero(cost == ways.least(cost)[job])
    first = np.searchsorted(job[cheapest], np.arange(len(wait)))
    return np.asarray(ways.run_s[cheapest[first]], np.float64)


def _wait_weight(snapshot: Snapshot, rows: I64, left_s: F64, given: FairwattParameters) -> F64:
    """Money per second until the end; more for tenants that are worse off than in their share.

    What some gain in weight the others lose, so that the price of waiting stays what it is.
    """
    weight = snapshot.tenants.weight
    tenant = snapshot.jobs.tenant[rows]
    plain = given.wait_price_per_h / HOUR_S * weight[tenant]
    plain = plain * _by_priority(snapshot, rows, plain, given.priority_step)
    here, member = np.unique(tenant, return_inverse=True)
    if len(here) < 2 or not given.fairness:
        return np.asarray(plain, np.float64)
    spent_s, alone_s = _lives(snapshot, rows, left_s)
    share = weight[here] / max(float(weight[here].sum()), 1e-12)
    isolated_s = np.bincount(member, alone_s) / np.maximum(share, 1e-6)
    worse = np.maximum(np.bincount(member, spent_s) / np.maximum(isolated_s, 1.0), 1.0)
    gained = worse**given.fairness
    mean = np.average(gained[member], weights=plain) if plain.any() else 1.0
    return np.asarray(plain * gained[member] / mean, np.float64)


def _by_priority(snapshot: Snapshot, rows: I64, plain: F64, step: float) -> F64:
    """What priorities multiply the price of waiting by; its mean stays what it is."""
    priority = snapshot.jobs.priority[rows]
    if not step or not plain.any():
        return np.ones(len(rows))
    # From the highest on, so that no power is too large.
    factor = np.exp2((priority - priority.max()) / step)
    return np.asarray(factor / np.average(factor, weights=plain), np.float64)


def _lives(snapshot: Snapshot, rows: I64, left_s: F64) -> tuple[F64, F64]:
    """Of every job the time from its submission to its earliest end, and that of its whole work."""
    jobs = snapshot.jobs
    left, total = jobs.work_left[rows], jobs.work_total[rows]
    told = (jobs.profile[rows] >= 0) & (left > 0) & (total >= left)
    ran_s = jobs.attained_gpu_s[rows] / np.maximum(jobs.min_gpus[rows], 1)
    whole_s = np.where(told, left_s * total / np.where(told, left, 1.0), left_s + ran_s)
    return snapshot.now_s - jobs.submitted_s[rows] + left_s, whole_s
