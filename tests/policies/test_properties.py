"""Every policy, on generated worlds: safe, complete, and as busy as it promises."""

from typing import Any

import numpy as np
import pytest

from policies.bench.ledger import Ledger
from policies.bench.parameters import PATIENCE_S
from policies.bench.placement import pack
from policies.bench.reach import shapes_of
from policies.bench.reservations import overdue_jobs
from policies.contract.invariants import check_plan
from policies.contract.plan import Plan
from policies.contract.snapshot import Blocked, JobState
from policies.explain.reasons import WaitReason
from policies.registry import build, parameter_schema, policy_names
from tests.examples import each_seed
from tests.policies.random_worlds import any_size
from tests.policies.worlds import World

YEAR_S = 365 * 86400
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in policy_names()),
    ("fifo", {"strict": False, "preempt": True, "placement": "spread"}),
    ("fifo", {"strict": True, "preempt": True, "placement": "consolidate"}),
    ("priority", {"preempt": True, "placement": "buddy", "min_run_s": 0}),
    ("ftf", {"preempt": True, "min_run_s": 0}),
    ("fair-share", {"preempt": True, "min_run_s": 0}),
    ("edf", {"placement": "consolidate"}),
    ("srtf", {"max_preemptions": 1, "placement": "consolidate"}),
    ("fifo-backfill", {"placement": "buddy"}),
    ("synergy", {"ordering": "srtf", "packing": "greedy", "min_run_s": 0}),
    ("synergy", {"ordering": "ftf", "packing": "proportional", "preempt": False}),
    ("synergy", {"ordering": "las", "migration": True, "min_run_s": 0}),
    ("gandiva", {"slice_s": 1, "min_run_s": 0, "clock": "efficient"}),
    ("afs", {"placement": "consolidate", "clock": "efficient"}),
    ("powerflow", {"placement": "pack", "power_off": False, "min_run_s": 0}),
    ("powerflow", {"preempt": False, "clock": "max"}),
    ("andreas", {"iterations": 20, "switch_gain": 0.0, "min_run_s": 0, "energy": "node"}),
    ("andreas", {"iterations": 20, "objective": "proxy", "walks_on": True, "alpha": 0.7}),
    ("andreas", {"iterations": 5, "changes_running": False, "analyzer": False}),
    ("andreas", {"iterations": 5, "local_search": 3, "path_relinking": 4, "swap_bias": -0.05}),
    ("fairwatt", {"min_run_s": 0, "placement": "consolidate", "hysteresis": 1.0}),
    ("fairwatt", {"min_run_s": 0, "resize": False, "iterations": 2, "promotions": 5}),
    ("fairwatt", {"preempt": False, "wait_price_per_h": 0.0, "empty_nodes_off": True}),
    ("first-principle", {"order": "edf"}),
    ("first-principle", {"order": "ps", "exclusive": True}),
]
# These judge schedules as a whole: the first job waits if all others are better off.
WEIGH_SCHEDULES = {"andreas", "fairwatt"}
every_policy = pytest.mark.parametrize(
    ("name", "parameters"), VARIANTS, ids=[f"{name}-{at}" for at, (name, _) in enumerate(VARIANTS)]
)


@every_policy
@each_seed(60)
def test_plan_is_safe_and_as_busy_as_promised(
    name: str, parameters: dict[str, Any], seed: int
) -> None:
    world = any_size(seed)
    snapshot = world.snapshot()
    policy = build(name, parameters)
    plan = policy.plan(snapshot)

    assert check_plan(snapshot, plan) == []
    if len(overdue_jobs(snapshot, PATIENCE_S)):
        # What is kept for who has waited long is idle on purpose.
        plan = build(name, {**parameters, "patience_s": YEAR_S}).plan(snapshot)
        assert check_plan(snapshot, plan) == []
    assert_busy(world, plan, conserving=policy.work_conserving)
    placement = parameter_schema(name)["properties"].get("placement", {"default": "best fit"})
    kept_apart = (
        "buddy" in {placement["default"], parameters.get("placement")}
        or parameters.get("exclusive")
        or name in WEIGH_SCHEDULES
    )
    if not kept_apart:
        assert_head_starts(world, plan)


def assert_busy(world: World, plan: Plan, *, conserving: bool) -> None:
    """Claims set free GPUs aside for whom they stop work; without any, nothing startable waits."""
    claimed = (plan.waits.reason == WaitReason.PREEMPTED_WORK).any()
    if conserving and not claimed:
        assert startable_after(world, plan) == set()


def assert_head_starts(world: World, plan: Plan) -> None:
    """Of a policy that serves by rank: who comes first and fits, starts."""
    waits = [
        wait for wait in plan.iter_waits() if wait.ahead == 0 and wait.reason > WaitReason.HELD
    ]
    assert startable_after(world, Plan()).isdisjoint(wait.job for wait in waits)


def startable_after(world: World, plan: Plan) -> set[int]:
    """Ids of queued jobs that would fit at home on what a plan leaves free."""
    snapshot = world.with_starts(plan).snapshot()
    jobs = snapshot.jobs
    rows = np.flatnonzero((jobs.state == JobState.QUEUED) & (jobs.blocked == Blocked.NO))
    shapes, index = shapes_of(snapshot, rows)
    found = set()
    ledger = Ledger(snapshot, pack)
    for row, shape in zip(rows.tolist(), index, strict=True):
        ask = ledger.ask(shapes[shape], like_job=row)
        tenant = int(jobs.tenant[row])
        mark = ledger.keep_journal()
        hold = ledger.try_place(ask, tenant, ledger.types_within_quota(tenant, ask))
        ledger.undo(mark)
        if hold is not None and snapshot.tenants.energy_left_j[tenant] > 0:
            found.add(int(jobs.id[row]))
    return found
