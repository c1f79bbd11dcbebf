"""The ledger's only writer: what should stand there, less what stands there, becomes new rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db.models import Max, QuerySet, Sum

from energy.ledger.terms import WindowTerms
from energy.models import LedgerRow
from jobs.models import Attempt


@dataclass(frozen=True, slots=True)
class LedgerKey:
    """What a row is about; rows of one entry are added up."""

    gpu_id: int
    starts_at: datetime
    ends_at: datetime
    terms: WindowTerms


@dataclass(frozen=True, slots=True)
class Drawn:
    gpu_mj: int
    host_mj: int
    coverage: float = 1.0

    @property
    def energy_mj(self) -> int:
        return self.gpu_mj + self.host_mj

    def __add__(self, other: "Drawn") -> "Drawn":
        covered = min(self.coverage, other.coverage)
        return Drawn(self.gpu_mj + other.gpu_mj, self.host_mj + other.host_mj, covered)


@dataclass(frozen=True, slots=True)
class Standing:
    """The sum of an entry's rows so far."""

    gpu_mj: int = 0
    host_mj: int = 0
    cost: Decimal = Decimal(0)
    carbon_g: Decimal = Decimal(0)
    coverage: float = 1.0


NOTHING = Standing()
_TERMS = ("method", "pue", "price_per_kwh", "g_per_kwh", "currency")


def standing(rows: QuerySet[LedgerRow]) -> dict[LedgerKey, Standing]:
    """Entries that add up to nothing are left out: they were corrected away."""
    found = (
        rows.values("gpu_id", "starts_at", "ends_at", *_TERMS)
        .annotate(Sum("gpu_mj"), Sum("host_mj"), Sum("cost"), Sum("carbon_g"), Max("coverage"))
        .order_by()
    )
    return {
        LedgerKey(
            row["gpu_id"],
            row["starts_at"],
            row["ends_at"],
            WindowTerms(*(row[name] for name in _TERMS)),
        ): Standing(
            int(row["gpu_mj__sum"]),
            int(row["host_mj__sum"]),
            row["cost__sum"],
            row["carbon_g__sum"],
            row["coverage__max"],
        )
        for row in found
        if row["gpu_mj__sum"] or row["host_mj__sum"] or row["cost__sum"] or row["carbon_g__sum"]
    }


def write_differences(
    attempt: Attempt,
    before: Mapping[LedgerKey, Standing],
    after: Mapping[LedgerKey, Drawn],
    *,
    now: datetime,
) -> int:
    """Add the rows that turn `before` into `after`; how many. Doing it twice adds none."""
    entries = sorted({*before, *after}, key=lambda entry: (entry.starts_at, entry.gpu_id))
    rows = [
        row
        for entry in entries
        if (row := _difference(attempt, entry, before.get(entry, NOTHING), after.get(entry), now))
    ]
    LedgerRow.objects.bulk_create(rows, batch_size=1000)
    return len(rows)


def _difference(
    attempt: Attempt, entry: LedgerKey, before: Standing, after: Drawn | None, now: datetime
) -> LedgerRow | None:
    drawn = after or Drawn(0, 0)
    terms = entry.terms
    changes = {
        "gpu_mj": drawn.gpu_mj - before.gpu_mj,
        "host_mj": drawn.host_mj - before.host_mj,
        "cost": terms.cost(drawn.energy_mj) - before.cost,
        "carbon_g": terms.carbon_g(drawn.energy_mj) - before.carbon_g,
    }
    if not any(changes.values()):
        return None
    return LedgerRow(
        tenant_id=attempt.tenant_id,
        cluster_id=attempt.cluster_id,
        attempt_id=attempt.pk,
        gpu_id=entry.gpu_id,
        starts_at=entry.starts_at,
        ends_at=entry.ends_at,
        method=terms.method,
        pue=terms.pue,
        price_per_kwh=terms.price_per_kwh,
        g_per_kwh=terms.g_per_kwh,
        currency=terms.currency,
        coverage=drawn.coverage,
        written_at=now,
        **changes,
    )
