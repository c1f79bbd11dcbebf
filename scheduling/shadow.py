"""What another policy would have done with the same snapshot, without acting on it."""

from typing import Any

from policies import registry
from policies.contract.invariants import check_plan
from policies.contract.plan import Plan
from policies.contract.snapshot import Snapshot
from scheduling.models import Round


def shadow_difference(entry: Round, snapshot: Snapshot, active: Plan) -> dict[str, Any]:
    if entry.shadow_policy is None:
        raise ValueError("the round has no shadow policy")
    try:
        shadow = registry.build(entry.shadow_policy, entry.shadow_parameters).plan(snapshot)
    except Exception as error:  # noqa: BLE001  # a shadow on trial may fail; the round must not
        return {"error": f"{type(error).__name__}: {error}"}
    ours, theirs = {s.job: s for s in active.starts}, {s.job: s for s in shadow.starts}
    both = ours.keys() & theirs.keys()
    return {
        "violations": [str(violation) for violation in check_plan(snapshot, shadow)[:10]],
        "starts": {"active": len(ours), "shadow": len(theirs), "both": len(both)},
        "preempts": {"active": len(active.preempts), "shadow": len(shadow.preempts)},
        "only_active": sorted(ours.keys() - theirs.keys())[:SHOWN],
        "only_shadow": sorted(theirs.keys() - ours.keys())[:SHOWN],
        "placed_elsewhere": sorted(job for job in both if ours[job] != theirs[job])[:SHOWN],
        "objective": {"active": active.objective, "shadow": shadow.objective},
    }


# Enough to see what differs; the counts above say how much there is in all.
SHOWN = 100
