"""Who may start, who may be changed or stopped, and what stopping them loses."""

import numpy as np

from policies.contract.columns import F64, I32, I64, Bool
from policies.contract.snapshot import UNLIMITED, Blocked, JobState, NodeState, Snapshot

# Enum members are slow to look up, and these are asked every round.
_QUEUED, _RUNNING = int(JobState.QUEUED), int(JobState.RUNNING)


def waiting(snapshot: Snapshot) -> Bool:
    """Queued jobs that nothing holds back and whose tenant has energy left."""
    jobs = snapshot.jobs
    has_energy = (snapshot.tenants.energy_left_j > 0)[jobs.tenant]
    queued = (jobs.state == _QUEUED) & (jobs.blocked == Blocked.NO)
    return np.asarray(queued & has_energy, np.bool_)


def startable(snapshot: Snapshot) -> I64:
    """Rows of the jobs that may start, in turn."""
    return in_turn(snapshot, np.flatnonzero(waiting(snapshot)))


def in_turn(snapshot: Snapshot, rows: I64, *before: F64 | I32 | Bool) -> I64:
    """As every policy breaks ties: the higher priority, then the earlier submitted, then by id.

    What comes `before`, one value per row, decides first; the last of several most of all.
    """
    jobs = snapshot.jobs
    turn = (jobs.id[rows], jobs.submitted_s[rows], -jobs.priority[rows])
    return rows[np.lexsort((*turn, *before))]


def within_quota(snapshot: Snapshot, rows: I64) -> Bool:
    """Over (row, GPU type): whether the job allows the type and its tenant's quotas its GPUs."""
    jobs, tenants = snapshot.jobs, snapshot.tenants
    tenant, gpus = jobs.tenant[rows], jobs.min_gpus[rows]
    quota, by_type = tenants.quota_gpus[tenant], tenants.quota_by_type[tenant]
    within = (quota == UNLIMITED) | (tenants.used_gpus[tenant] + gpus <= quota)
    of_type = tenants.used_by_type[tenant] + gpus[:, None] <= by_type
    kinds = np.arange(by_type.shape[1], dtype=np.uint64)
    allowed = (jobs.gpu_types[rows][:, None] >> kinds & np.uint64(1)).astype(np.bool_)
    return np.asarray(within[:, None] & ((by_type == UNLIMITED) | of_type) & allowed, np.bool_)


def stoppable(snapshot: Snapshot, min_run_s: float) -> Bool:
    """Running jobs that allow it and have run for as long as they and the policy promise."""
    jobs = snapshot.jobs
    young = snapshot.now_s - jobs.started_s < np.maximum(jobs.min_run_s, min_run_s)
    return np.asarray((jobs.state == _RUNNING) & jobs.preemptible & ~young, np.bool_)


def just_started(snapshot: Snapshot) -> Bool:
    """Jobs that nobody changes twice at one moment: so rounds settle."""
    return np.asarray(snapshot.now_s - snapshot.jobs.started_s <= 0, np.bool_)


def borrowing(snapshot: Snapshot) -> Bool:
    """Jobs that hold GPUs outside their own partition."""
    held = snapshot.placements
    away = snapshot.nodes.partition[held.node] != snapshot.jobs.partition[held.job_of_piece()]
    return _any_piece(snapshot, away)


def on_unready_node(snapshot: Snapshot) -> Bool:
    """Jobs with a GPU on a node that is not ready."""
    return _any_piece(snapshot, snapshot.nodes.state[snapshot.placements.node] != NodeState.READY)


def _any_piece(snapshot: Snapshot, pieces: Bool) -> Bool:
    """Jobs of which any piece is among these."""
    found = np.zeros(len(snapshot.jobs), np.bool_)
    found[snapshot.placements.job_of_piece()[pieces]] = True
    return found


def remaining_s(snapshot: Snapshot, unknown_s: float = np.inf) -> F64:
    """Estimated seconds still to run."""
    est_run_s = snapshot.jobs.est_run_s
    return np.where(np.isnan(est_run_s), unknown_s, est_run_s)


def lost_s(snapshot: Snapshot) -> F64:
    """Seconds of work a running job would repeat, and spend restarting, if stopped now."""
    jobs = snapshot.jobs
    saved_s = np.fmax(jobs.started_s, jobs.checkpoint_s)
    # fmax takes the other number where one is nan, as it is for jobs that do not run.
    lost: F64 = np.fmax(snapshot.now_s - saved_s, 0.0)
    return lost + jobs.restart_cost_s
