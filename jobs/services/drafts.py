"""Drafts of jobs become jobs: the way that every kind of submit takes."""

from collections.abc import Sequence
from datetime import datetime

from jobs.nudge import nudge
from jobs.services.predecessors import counted, link, links_of, lock_predecessors
from jobs.services.store import Draft, Stored, store
from rest.problems import Problem


def submit_drafts(drafts: Sequence[Draft], *, now: datetime) -> list[Stored | Problem]:
    """Store what can be stored, wake the schedulers; one result per draft, in their order."""
    if not drafts:
        return []
    known = lock_predecessors(drafts)
    judged = [counted(draft, known) for draft in drafts]
    sound = [draft for draft in judged if isinstance(draft, Draft)]
    stored = store(sound, now=now) if sound else []
    link(
        [
            row
            for draft, result in zip(sound, stored, strict=True)
            if draft.spec.depends_on and isinstance(result, Stored)
            for row in links_of(
                draft, job_id=result.id, tenant_id=result.tenant_id, known=known, now=now
            )
        ]
    )
    for cluster_id in {result.cluster_id for result in stored if isinstance(result, Stored)}:
        nudge(cluster_id)
    results = iter(stored)
    return [next(results) if isinstance(draft, Draft) else draft for draft in judged]
