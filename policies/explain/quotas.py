"""Quotas in the way of jobs: who is over one, and what would help."""

from functools import cached_property

import numpy as np

from policies.bench.ledger import Ledger
from policies.bench.power import held_gpus
from policies.bench.reach import Shape
from policies.bench.roster import within_quota
from policies.contract.columns import I64, Bool
from policies.contract.snapshot import UNLIMITED, JobState
from policies.explain.reasons import Evidence, Remedy


def over_quota(ledger: Ledger, rows: I64) -> Bool:
    """Jobs that the round's end leaves no quota for, or none of any type that they allow."""
    jobs, tenants = ledger.snapshot.jobs, ledger.snapshot.tenants
    tenant, gpus = jobs.tenant[rows], jobs.min_gpus[rows]
    used = np.array(ledger.used, np.int64)[tenant]
    quota = tenants.quota_gpus[tenant]
    over = (quota != UNLIMITED) & (used + gpus > quota)
    used_by_type = np.array(ledger.used_by_type, np.int64).reshape(tenants.used_by_type.shape)
    quota_by_type = tenants.quota_by_type[tenant]
    type_over = (quota_by_type != UNLIMITED) & (
        used_by_type[tenant] + gpus[:, None] > quota_by_type
    )
    bits = np.arange(quota_by_type.shape[1], dtype=np.uint64)
    allowed = (jobs.gpu_types[rows][:, None] >> bits & np.uint64(1)).astype(bool)
    every_type_over = (type_over | ~allowed).all(axis=1) & (type_over & allowed).any(axis=1)
    return np.asarray(over | every_type_over, np.bool_)


class Quotas:
    """What helps a job counts on nothing that another job of its tenant may take before it."""

    def __init__(self, ledger: Ledger, waiting: I64, taking: Bool) -> None:
        """Of the `waiting` rows, those `taking` would take GPUs if they could."""
        self._ledger = ledger
        self._waiting = waiting
        self._taking = waiting[taking]

    def evidence(self, shape: Shape, row: int) -> Evidence:
        """A quota for all types, one of each type that the job allows, or both are in its way."""
        ledger, tenant = self._ledger, int(self._ledger.snapshot.jobs.tenant[row])
        wanted = shape.gpus + self._of_others(self._wanted[tenant] - shape.gpus)
        quota, used = ledger.quota[tenant], ledger.used[tenant]
        over = 0 if quota == UNLIMITED else max(used + shape.gpus - quota, 0)
        more = 0 if quota == UNLIMITED else max(used + wanted - quota, 0)
        name, over_type, more_type = self._nearest_type(shape, tenant, wanted)
        facts: dict[str, float] = {"gpus_asked": shape.gpus}
        facts |= {"quota": quota, "used": used} if over else {"over_by": over_type}
        fitting = shape.gpus - max(over, over_type) - self._rivals(shape, row, tenant)
        reduced = (Remedy("reduce_gpus", to=fitting),) if fitting > 0 else ()
        if not more_type:
            raised = Remedy("raise_quota", by=more)
        elif not more:
            raised = Remedy("raise_quota_of_type", by=more_type, name=name)
        else:
            raised = Remedy("raise_both_quotas", by=more, to=more_type, name=name)
        return Evidence(facts=facts, remedies=(raised, *reduced))

    def _nearest_type(self, shape: Shape, tenant: int, wanted: int) -> tuple[str, int, int]:
        """The allowed type over whose quota the job is least, by how much, and what is wanted."""
        ledger = self._ledger
        quotas, used = ledger.quota_by_type[tenant], ledger.used_by_type[tenant]
        names = ledger.snapshot.gpu_types.name
        kinds = [kind for kind in range(len(names)) if shape.gpu_types >> kind & 1]
        free = [kind for kind in kinds if quotas[kind] == UNLIMITED]
        if free or not kinds:
            return names[free[0]] if free else "", 0, 0
        kind = min(kinds, key=lambda kind: (used[kind] - quotas[kind], kind))
        over, more = (used[kind] + gpus - quotas[kind] for gpus in (shape.gpus, wanted))
        return names[kind], max(over, 0), max(more, 0)

    def _rivals(self, shape: Shape, row: int, tenant: int) -> int:
        """GPUs that other jobs of the tenant may take of the quota as it is."""
        able = within_quota(self._ledger.snapshot, np.array([row])).any()
        return self._of_others(self._wanted_within[tenant] - (shape.gpus if able else 0))

    def _of_others(self, gpus: int) -> int:
        """All together they take no more than the cluster has."""
        return int(min(max(gpus, 0), self._cluster_gpus))

    @cached_property
    def _cluster_gpus(self) -> int:
        return int(self._ledger.snapshot.nodes.gpus.sum())

    @cached_property
    def _wanted(self) -> I64:
        """By tenant, under any quota: whatever is added to it any of its jobs may take."""
        return self._growth + self._most_gpus(self._taking)

    @cached_property
    def _wanted_within(self) -> I64:
        """By tenant, under the quota as it is: who could start first in another order."""
        able = within_quota(self._ledger.snapshot, self._taking).any(axis=1)
        return self._growth + self._most_gpus(self._taking[able])

    @cached_property
    def _growth(self) -> I64:
        """By tenant: GPUs that those who run or start may have beyond the fewest they hold."""
        snapshot = self._ledger.snapshot
        jobs = snapshot.jobs
        least = np.where(jobs.state == JobState.QUEUED, jobs.min_gpus, held_gpus(snapshot))
        more = np.maximum(jobs.max_gpus - least, 0)
        more[self._waiting] = 0
        return np.bincount(jobs.tenant, more, minlength=len(snapshot.tenants)).astype(np.int64)

    def _most_gpus(self, rows: I64) -> I64:
        jobs, tenants = self._ledger.snapshot.jobs, self._ledger.snapshot.tenants
        most = np.bincount(jobs.tenant[rows], jobs.max_gpus[rows], minlength=len(tenants))
        return most.astype(np.int64)
