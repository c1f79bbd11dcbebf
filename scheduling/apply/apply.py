"""Carries a plan out against fresh rows: what the world no longer allows is dropped as stale.

A plan is a proposal. Each chunk is one short transaction that locks its jobs, nodes and tenants in
id order and keeps the entries that still fit: `allocate.py` starts jobs, `relocation.py` moves and
resizes them, `switching.py` switches nodes.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypedDict, TypeVar

from django.db import connection, transaction

from jobs.attempts import attempts_end, live_attempts
from jobs.lifecycle import State, advance
from jobs.models import Attempt
from policies.contract.plan import Plan, Preempt, SetClock
from scheduling.apply import relocation
from scheduling.apply.allocate import place
from scheduling.apply.node_power import nodes_switch
from scheduling.apply.retune import retune

Entry = TypeVar("Entry")

CHUNK = 500


class RoundTerms(TypedDict):
    cluster_id: int
    round_id: int
    now: datetime


_SET_CLOCKS = """
UPDATE jobs_attempt attempt SET clock_mhz = nullif(wanted.clock_mhz, 0), clock_at = %s
FROM unnest(%s::int8[], %s::int4[]) AS wanted (job_id, clock_mhz)
WHERE attempt.job_id = wanted.job_id AND attempt.state IN ('offered', 'starting', 'running')
RETURNING attempt.job_id
"""


@dataclass
class Applied:
    """Job ids by what became of the plan's entry; `switched` are node ids."""

    started: list[int] = field(default_factory=list)
    retuned: list[int] = field(default_factory=list)
    preempted: list[int] = field(default_factory=list)
    moved: list[int] = field(default_factory=list)
    resized: list[int] = field(default_factory=list)
    stale: list[int] = field(default_factory=list)
    switched: list[int] = field(default_factory=list)


def apply_plan(plan: Plan, *, cluster_id: int, round_id: int, now: datetime) -> Applied:
    """First what lowers the draw or gives room, then what takes it."""
    applied = Applied()
    terms: RoundTerms = {"cluster_id": cluster_id, "round_id": round_id, "now": now}
    for clocks in _chunks(plan.clocks):
        with transaction.atomic():
            changed = _set_clocks(clocks, now)
        applied.stale += _missing((entry.job for entry in clocks), changed)
    # What starts may need the CPUs that others give up.
    applied.retuned = retune(plan.retunes, cluster_id=cluster_id)
    applied.stale += _missing((entry.job for entry in plan.retunes), applied.retuned)
    for preempts in _chunks(plan.preempts):
        with transaction.atomic():
            stopped = _preempt(preempts, now)
        applied.preempted += stopped
        applied.stale += _missing((entry.job for entry in preempts), stopped)
    relocations: tuple[relocation.Change, ...] = (*plan.moves, *plan.resizes)
    for changes in _chunks(relocations):
        with transaction.atomic():
            going = set(relocation.relocate(changes, **terms))
        for entry in changes:
            reason = relocation.reason_of(entry) if entry.job in going else "stale"
            getattr(applied, reason).append(entry.job)
    for starts in _chunks(plan.starts):
        with transaction.atomic():
            started = place(starts, **terms)
        applied.started += started
        applied.stale += _missing((entry.job for entry in starts), started)
    applied.switched = nodes_switch(plan.power, cluster_id=cluster_id, now=now)
    return applied


def _preempt(preempts: Sequence[Preempt], now: datetime) -> list[int]:
    """Ask the jobs to stop; one that no agent has fetched yet is back in the queue at once."""
    stopping = advance(
        [entry.job for entry in preempts],
        sources=[State.PLACED, State.RUNNING],
        to=State.PREEMPTING,
        reason="preempted",
        now=now,
    )
    attempts = Attempt.objects.filter(pk__in=live_attempts(stopping))
    unfetched = dict(attempts.filter(state=Attempt.State.OFFERED).values_list("pk", "job_id"))
    attempts.exclude(pk__in=unfetched).update(state=Attempt.State.STOPPING)
    attempts_end(unfetched, state=Attempt.State.ENDED, reason="preempted", now=now)
    advance(
        unfetched.values(),
        sources=[State.PREEMPTING],
        to=State.QUEUED,
        reason="preempted",
        now=now,
    )
    return stopping


def _set_clocks(clocks: Sequence[SetClock], now: datetime) -> list[int]:
    wanted = {entry.job: entry.clock_mhz for entry in clocks}
    with connection.cursor() as cursor:
        cursor.execute(_SET_CLOCKS, [now, list(wanted), list(wanted.values())])
        changed = [row[0] for row in cursor.fetchall()]
    return changed + relocation.set_clocks(wanted, now=now)


def _missing(wanted: Iterable[int], done: Iterable[int]) -> list[int]:
    return sorted(set(wanted) - set(done))


def _chunks(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    for first in range(0, len(entries), CHUNK):
        yield entries[first : first + CHUNK]
