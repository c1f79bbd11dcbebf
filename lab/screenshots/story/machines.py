"""Where the story plays: one cluster in three racks, with prices and carbon hour by hour."""

from datetime import datetime, timedelta
from decimal import Decimal
from math import cos, pi
from typing import Any

from django.db import connection

from clusters.models import Cluster, Gpu, Node, Rack
from energy.models import Boot, PowerBudget
from scheduler_service.factories import make_cluster, make_gpu_type, make_nodes
from tariffs.models import CarbonHour, CarbonSeries, Tariff, TariffHour

HOUR = timedelta(hours=1)
CLUSTER = "north"
BUDGET_W = 46_000
NIGHT_BUDGET_W = 36_000
HOSTS: dict[str, Any] = {
    "host_idle_w": 350,
    "host_peak_w": 900,
    "cpus": 128,
    "memory_mib": 1_048_576,
}


def make_site(now: datetime) -> Cluster:
    tariff, carbon = _make_prices(now.replace(minute=0, second=0, microsecond=0))
    cluster = make_cluster(
        CLUSTER,
        policy="fairwatt",
        pue=Decimal("1.25"),
        power_budget_w=BUDGET_W,
        energy_budget_wh=900_000,
        energy_period="day",
        tariff=tariff,
        carbon_series=carbon,
        shadow_policy="fifo-backfill",
    )
    h100 = make_gpu_type("H100", max_w=700, idle_w=70, clocks_mhz=[1200, 1500, 1755, 1980])
    a100 = make_gpu_type("A100", max_w=400, idle_w=55, clocks_mhz=[1005, 1200, 1410])
    nodes = make_nodes(cluster, h100, 4, per_rack=4, prefix="h", **HOSTS)
    nodes += make_nodes(cluster, a100, 8, per_rack=4, prefix="a", **HOSTS)
    for number, rack in enumerate(Rack.objects.order_by("pk"), start=1):
        Rack.objects.filter(pk=rack.pk).update(name=f"rack-{number}")
    Boot.objects.bulk_create(
        Boot(node=node, boot_id=f"boot-{node.pk}", first_seen_at=now - 30 * 24 * HOUR)
        for node in nodes
    )
    Node.objects.filter(cluster=cluster).update(last_sync_at=now)
    _make_budget(cluster, now)
    return cluster


def _make_prices(hour: datetime) -> tuple[Tariff, CarbonSeries]:
    """Cheap and clean when wind and sun are up, dear in the evening."""
    _make_week()
    tariff = Tariff.objects.create(name="day-ahead", kind="hourly", timezone="Europe/Helsinki")
    carbon = CarbonSeries.objects.create(name="grid")
    hours = [hour + HOUR * number for number in range(-48, 36)]
    TariffHour.objects.bulk_create(
        TariffHour(tariff=tariff, starts_at=at, price_per_kwh=Decimal(f"{_price(at.hour):.4f}"))
        for at in hours
    )
    CarbonHour.objects.bulk_create(
        CarbonHour(series=carbon, starts_at=at, g_per_kwh=Decimal(f"{_carbon(at.hour):.1f}"))
        for at in hours
    )
    return tariff, carbon


def _make_week() -> None:
    """A tariff that nobody uses yet: cheap at night and on Sundays."""
    hours = ((0, 6, range(7), "0.12"), (22, 24, range(7), "0.12"), (6, 22, [6], "0.12"))
    day = ((6, 17, range(6), "0.24"), (17, 20, range(6), "0.33"), (20, 22, range(6), "0.24"))
    Tariff.objects.create(
        name="day-night",
        kind="time_of_use",
        timezone="Europe/Helsinki",
        periods=[
            {
                "months": list(range(1, 13)),
                "weekdays": list(weekdays),
                "from_minute": start * 60,
                "to_minute": end * 60,
                "price_per_kwh": price,
            }
            for start, end, weekdays, price in (*hours, *day)
        ],
    )


def _price(hour: int) -> float:
    evening = max(0.0, cos((hour - 18) * pi / 6)) if 15 <= hour <= 21 else 0.0
    return 0.11 + 0.04 * cos((hour - 9) * pi / 12) + 0.17 * evening


def _carbon(hour: int) -> float:
    return 190 + 90 * cos((hour - 19) * pi / 12)


def _make_budget(cluster: Cluster, now: datetime) -> None:
    evening = now.replace(hour=20, minute=0, second=0, microsecond=0)
    start = evening if now.hour < 20 else evening + 24 * HOUR
    PowerBudget.objects.create(
        cluster=cluster,
        watts=NIGHT_BUDGET_W,
        starts_at=start,
        ends_at=start + 10 * HOUR,
        reason="grid operator asked",
        ordered_by="maria",
    )


def wear(cluster: Cluster, now: datetime) -> None:
    """One node is being looked after, one is gone, one GPU is not well."""
    names = {node.name: node.pk for node in Node.objects.filter(cluster=cluster, gpus_in_use=0)}
    idle = sorted(names)
    if len(idle) > 1:
        Node.objects.filter(pk=names[idle[0]]).update(
            state="drained", state_reason="fan replacement"
        )
        Node.objects.filter(pk=names[idle[1]]).update(
            state="lost", state_reason="no sync within its lease", last_sync_at=now - 2 * HOUR
        )
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT gpu.id FROM clusters_gpu gpu JOIN clusters_node node ON node.id = gpu.node_id"
            " WHERE node.state = 'ready' ORDER BY gpu.id DESC LIMIT 1"
        )
        (gpu_id,) = cursor.fetchone()
    Gpu.objects.filter(pk=gpu_id).update(
        healthy=False, health_reason="double-bit ECC errors in the last hour"
    )
