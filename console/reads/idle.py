"""What machines drew while nobody was billed for it, and what that cost whoever runs them."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import F, Sum

from clusters.models import Cluster
from clusters.selectors import clusters
from console.kept import kept
from console.reads.curves import DAY, POINTS_OF_MANY, picked, prices_at
from energy.ledger.sums import MJ_PER_KWH
from energy.measured import measured_minutes
from energy.models import LedgerRow

KEPT_S = 300.0


@dataclass(frozen=True, slots=True)
class Idle:
    """Of a day; without PUE, as the ledger counts energy, and money with it."""

    cluster: str
    currency: str
    drawn_kwh: float
    billed_kwh: float
    # None where no price is known.
    price_per_kwh: float | None

    @property
    def idle_kwh(self) -> float:
        return max(0.0, self.drawn_kwh - self.billed_kwh)

    @property
    def cost(self) -> float | None:
        return None if self.price_per_kwh is None else self.idle_kwh * self.price_per_kwh


@kept(KEPT_S)
def idle_of_day(*, now: datetime) -> list[Idle]:
    return [_idle(cluster, now) for cluster in clusters().order_by("name")]


def _idle(cluster: Cluster, now: datetime) -> Idle:
    """Drawn is the mean of picked minutes over the day: readings of each would be too many."""
    minutes = picked(now - DAY, now, POINTS_OF_MANY)
    read = measured_minutes(
        cluster.pk, partition_id=None, from_at=minutes[0], until_at=now, only=minutes
    )
    mean_w = sum(watts for _, watts, _ in read) / len(read) if read else 0.0
    rows = LedgerRow.objects.filter(cluster=cluster, starts_at__gte=now - DAY, ends_at__lte=now)
    billed = rows.aggregate(sum=Sum(F("gpu_mj") + F("host_mj")))["sum"] or 0
    known = [price for price in prices_at(cluster, minutes) if price is not None]
    return Idle(
        cluster=cluster.name,
        currency=cluster.currency,
        drawn_kwh=mean_w * 24 / 1000,
        billed_kwh=float(billed / MJ_PER_KWH),
        price_per_kwh=sum(known) / len(known) * float(cluster.pue) if known else None,
    )
