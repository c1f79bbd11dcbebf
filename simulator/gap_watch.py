"""Somebody beside a policy who looks now and then how far its plans may be from the best."""

from policies.contract.plan import Plan
from policies.contract.policy import Bounding, Policy, gap
from policies.contract.snapshot import Snapshot


class GapWatch:
    """The policy itself, to whoever runs it; every `every`th round leaves its gap in `gaps`.

    A round in which nothing was at stake leaves none, nor does a policy that has no bound.
    """

    def __init__(self, policy: Policy, every: int = 25) -> None:
        self._policy = policy
        self._every = every
        self._rounds = 0
        self.gaps: list[float] = []

    @property
    def work_conserving(self) -> bool:
        return self._policy.work_conserving

    @property
    def minds_running(self) -> bool:
        return self._policy.minds_running

    def plan(self, snapshot: Snapshot) -> Plan:
        plan = self._policy.plan(snapshot)
        self._rounds += 1
        if self._rounds % self._every == 0 and plan.objective:
            self._look(snapshot, plan.objective)
        return plan

    def _look(self, snapshot: Snapshot, objective: float) -> None:
        if isinstance(self._policy, Bounding):
            self.gaps.append(gap(objective, self._policy.bound(snapshot, objective)))
