"""What a schedule leaves free goes to jobs that it left waiting.

A schedule knows places on one node only, and may wait for running jobs to make room. Gangs over
several nodes, and jobs whose place is not free yet but that fit elsewhere, start here.
"""

import numpy as np

from policies.andreas.formulate import Formulated
from policies.bench.draft import PlanDraft
from policies.bench.reach import shapes_of
from policies.contract.columns import I64
from policies.contract.plan import Start


def fill_up(draft: PlanDraft, formulated: Formulated, queue: I64) -> None:
    """Start waiting jobs on their fewest GPUs, at home first, then on what others lend."""
    ledger, settled = draft.ledger, draft.placed.keys() | set(draft.reserved)
    rows = [row for row in queue.tolist() if row not in settled]
    if not rows or not any(ledger.free):
        return
    shapes, shape_of = shapes_of(ledger.snapshot, np.array(rows))
    like = dict(zip(reversed(shape_of), reversed(rows), strict=True))
    asks = [ledger.ask(shape, like_job=like[at]) for at, shape in enumerate(shapes)]
    tenant_of = ledger.snapshot.jobs.tenant.tolist()
    known = _known_types(formulated)
    for borrow in (False, True):
        full: set[tuple[int, tuple[int, ...]]] = set()
        for row, at in zip(rows, shape_of, strict=True):
            if row in draft.placed or (borrow and not shapes[at].borrows):
                continue
            types = ledger.types_within_quota(tenant_of[row], asks[at])
            types = tuple(kind for kind in types if kind in known.get(row, types))
            if not types or (at, types) in full:
                continue
            hold = ledger.try_place(asks[at], tenant_of[row], types, borrow=borrow)
            if hold is None:
                full.add((at, types))
            else:
                draft.write(Start, row, hold.pieces)


def _known_types(formulated: Formulated) -> dict[int, set[int]]:
    """GPU types on which a job's speed is known, for those that have any."""
    known = formulated.configurations.ways
    found: dict[int, set[int]] = {}
    for row, kind in zip(formulated.rows[known.job].tolist(), known.gpu_type.tolist(), strict=True):
        found.setdefault(row, set()).add(kind)
    return found
