"""Walks the seals of the audit, and says whether the rows are still what was sealed."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from tenancy import rls
from tenancy.audit_digest import GENESIS, Content, row_digest
from tenancy.audit_seals import BEFORE_ALL, chained, rows_between
from tenancy.models import AuditRow, AuditSeal


class UnknownDigest(Exception):
    """No seal has it: the seals were made anew, or it was copied wrong."""


@dataclass(frozen=True, slots=True)
class BrokenSeal:
    """The first seal that does not hold, and the ids it was made for."""

    id: int
    why: str
    first_id: int
    last_id: int
    sealed_rows: int
    found_rows: int


class SealBroken(Exception):
    def __init__(self, broken: BrokenSeal) -> None:
        super().__init__(
            f"seal {broken.id} is broken ({broken.why}): of rows {broken.first_id} to "
            f"{broken.last_id} it sealed {broken.sealed_rows}, and {broken.found_rows} are there"
        )
        self.broken = broken


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was walked; `last_digest` is the one to write down elsewhere."""

    seals: int
    rows: int
    unsealed_rows: int
    last_id: int
    last_digest: str
    broken: BrokenSeal | None


def audit_verify(from_digest: str = GENESIS) -> Verdict:
    """From the first row, or from behind the seal with a digest that somebody wrote down."""
    with rls.scope(rls.ALL):
        return _verify(_last_id_of(from_digest), from_digest)


def _verify(last_id: int, digest: str) -> Verdict:
    seals = rows = 0
    broken = None
    for seal in _seals_after(last_id):
        broken = _fault(seal, _rows(seal), last_id, digest)
        if broken is not None:
            break
        seals, rows = seals + 1, rows + seal.count
        last_id, digest = seal.last_id, seal.digest
    unsealed = 0 if broken else AuditRow.objects.filter(pk__gt=last_id).count()
    return Verdict(seals, rows, unsealed, last_id, digest, broken)


def audit_lines(since: datetime | None, until: datetime | None) -> Iterator[str]:
    """Rows sealed between the two, as JSON with their digests; raises where a seal is broken."""
    with rls.scope(rls.ALL):
        for seal in _sealed_between(since, until):
            yield from _lines(seal)


def _lines(seal: AuditSeal) -> Iterator[str]:
    rows, previous = _rows(seal), seal.previous_digest
    if (broken := _fault(seal, rows, seal.first_id - 1, previous)) is not None:
        raise SealBroken(broken)
    for row in rows:
        digest = row_digest(previous, row)
        yield json.dumps({**row, "previous_digest": previous, "digest": digest})
        previous = digest


def _rows(seal: AuditSeal) -> list[Content]:
    """The first seal also answers for rows that were slipped in before the first."""
    after = BEFORE_ALL if seal.previous_digest == GENESIS else seal.first_id - 1
    return rows_between(after, seal.last_id)


def _fault(seal: AuditSeal, rows: list[Content], last_id: int, digest: str) -> BrokenSeal | None:
    if (seal.first_id, seal.previous_digest) != (last_id + 1, digest):
        why = "does_not_follow"
    elif len(rows) != seal.count:
        why = "rows_missing" if len(rows) < seal.count else "rows_added"
    elif chained(digest, rows) != seal.digest:
        why = "rows_changed"
    else:
        return None
    return BrokenSeal(seal.pk, why, seal.first_id, seal.last_id, seal.count, len(rows))


def _last_id_of(digest: str) -> int:
    if digest == GENESIS:
        return 0
    found = AuditSeal.objects.filter(digest=digest).values_list("last_id", flat=True).first()
    if found is None:
        raise UnknownDigest(f"no seal has the digest {digest}")
    return found


def _seals_after(last_id: int) -> Iterator[AuditSeal]:
    return AuditSeal.objects.filter(last_id__gt=last_id).order_by("last_id").iterator()


def _sealed_between(since: datetime | None, until: datetime | None) -> Iterator[AuditSeal]:
    """Without a hole, also where the clock that dated them was put back."""
    seals = AuditSeal.objects.order_by("last_id")
    first = seals.filter(sealed_at__gte=since).first() if since else seals.first()
    last = seals.filter(sealed_at__lt=until).last() if until else seals.last()
    if first is None or last is None:
        return iter(())
    return seals.filter(last_id__gte=first.last_id, last_id__lte=last.last_id).iterator()
