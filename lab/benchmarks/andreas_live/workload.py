"""Live costs: a tariff that changes soon, elastic jobs, and the bill."""

import itertools
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import msgspec
import numpy as np
from django.utils import timezone

from clusters.models import Cluster
from energy.ledger.settle import settle
from energy.telemetry.digest import samples_digest
from jobs.models import Attempt, Job, Profile
from jobs.services.profiles import profile_create
from jobs.specs import ProfileSpec
from scheduler_service import seed
from scheduling.costs import CostReport, cluster_costs
from tariffs.models import Tariff
from tariffs.services.tariffs import tariff_create
from tenancy.callers import SYSTEM
from tenancy.models import Tenant

JOBS = 20
# Steps per second by GPU type and count; the watts are what the emulated devices draw when busy.
SPEED = {"A100": {2: 1.0, 4: 1.8, 8: 3.2}, "V100": {2: 0.6, 4: 1.1, 8: 1.9}}
WATTS = {"A100": 400, "V100": 300}
DAY, NIGHT = Decimal("0.40"), Decimal("0.15")
# The night begins with a full minute, so many minutes from now.
NIGHT_IN_MIN = 2
PARAMETERS = {"changes_running": False}


def prepare() -> None:
    """The demo's cluster under the policy and a tariff of which the jobs see both prices."""
    now = timezone.now()
    tariff_create(
        caller=SYSTEM,
        values={
            "name": "soon-night",
            "kind": "time_of_use",
            "timezone": "UTC",
            "periods": _periods(now),
        },
    )
    Cluster.objects.update(policy="andreas", policy_parameters=PARAMETERS)
    cluster = Cluster.objects.get()
    cluster.tariff = Tariff.objects.get(name="soon-night")
    cluster.save(update_fields=["tariff"])


def _periods(now: datetime) -> list[dict[str, Any]]:
    night = (now.hour * 60 + now.minute + NIGHT_IN_MIN) % 1440
    cuts = sorted({0, night, (night + 60) % 1440, 1440})
    return [
        {
            "months": list(range(1, 13)),
            "weekdays": list(range(7)),
            "from_minute": start,
            "to_minute": end,
            "price_per_kwh": NIGHT if (start - night) % 1440 < 60 else DAY,
        }
        for start, end in itertools.pairwise(cuts)
    ]


def submit() -> None:
    """All at once: half of them urgent, half with time enough for the night."""
    now, cluster = timezone.now(), Cluster.objects.get()
    rng = np.random.default_rng(7)
    owners = [(tenant, _profile(tenant, now)) for tenant in Tenant.objects.order_by("pk")]
    for number in range(JOBS):
        tenant, profile = owners[number % len(owners)]
        steps = int(rng.integers(50, 90))
        due_s = int(rng.integers(60, 150)) if number % 2 else int(rng.integers(500, 900))
        Job.objects.create(
            cluster=cluster,
            tenant=tenant,
            profile=profile,
            name=f"elastic-{number}",
            argv=["sh", "-c", _script(steps)],
            min_gpus=2,
            max_gpus=8,
            span=Job.Span.NODE,
            work_total=steps,
            priority=1 + number % 5,
            tardiness_price_per_h=Decimal("0.05"),
            deadline_at=now + timedelta(seconds=due_s),
            submitted_at=now,
        )


def _profile(tenant: Tenant, now: datetime) -> Profile:
    spec = {"name": "elastic", "tenant": tenant.name, "points": _points()}
    return profile_create(caller=SYSTEM, spec=msgspec.convert(spec, ProfileSpec), now=now)


def _points() -> list[dict[str, Any]]:
    return [
        {"gpu_type": kind, "gpus": gpus, "steps_per_s": speed, "watts_per_gpu": WATTS[kind]}
        for kind, speeds in SPEED.items()
        for gpus, speed in speeds.items()
    ]


def _script(steps: int) -> str:
    """Sleeps as long as so many steps take on the GPUs it was given, wherever that is."""
    cases = "".join(
        f"{node}-{gpus}) exec sleep {steps / speed:.2f};; "
        for node, (_, devices) in seed.NODES.items()
        for gpus, speed in SPEED[devices.split("x")[0].upper()].items()
    )
    return f'case "$FAIRWATT_NODE-$FAIRWATT_GPUS" in {cases}*) exit 9;; esac'


def costs() -> CostReport:
    samples_digest()
    now = timezone.now()
    for attempt_id in Attempt.objects.values_list("pk", flat=True):
        settle(attempt_id, now=now)
    cluster = Cluster.objects.select_related("tariff").get()
    long_ago = now - timedelta(days=1)
    return cluster_costs(cluster, from_at=long_ago, until_at=now + timedelta(1), limit=1000)
