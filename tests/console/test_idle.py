"""What was drawn and nobody billed for is shown to those who pay for it."""

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django.urls import reverse

from clusters.models import Gpu, Node
from console.reads.idle import idle_of_day
from energy.models import Boot, LedgerRow, SampleMinute
from scheduler_service.factories import hold
from tariffs.models import Tariff
from tests.jobs.conftest import World

NOON = datetime(2026, 1, 6, 12, tzinfo=UTC)


@pytest.fixture
def day(world: World) -> None:
    """Every GPU draws 100 W throughout; two of eight are billed for half of the day."""
    Node.objects.update(host_idle_w=0, host_peak_w=0)
    world.cluster.tariff = Tariff.objects.create(name="flat", kind="flat", price_per_kwh="0.5")
    world.cluster.save(update_fields=["tariff"])
    boots = {
        node.pk: Boot.objects.create(node=node, boot_id="b", first_seen_at=NOON)
        for node in world.nodes
    }
    SampleMinute.objects.bulk_create(
        SampleMinute(
            gpu=gpu, boot=boots[gpu.node_id], minute_at=NOON - timedelta(minutes=40 * number),
            samples=60, first_mj=0, last_mj=0, mean_mw=100_000, max_mw=100_000,
        )
        for gpu in Gpu.objects.all()
        for number in range(1, 36)
    )  # fmt: skip
    attempt = hold(world.ours, world.nodes[0], 2)
    LedgerRow.objects.bulk_create(
        LedgerRow(
            tenant=world.ours, cluster=world.cluster, attempt=attempt, gpu=gpu, host_mj=0,
            starts_at=NOON - timedelta(hours=13), ends_at=NOON - timedelta(hours=1),
            gpu_mj=100 * 12 * 3_600_000, method="counter", pue=1, currency="EUR", coverage=1,
            written_at=NOON,
        )
        for gpu in Gpu.objects.order_by("pk")[:2]
    )  # fmt: skip


@pytest.mark.usefixtures("day")
def test_idle_is_what_is_left(world: World) -> None:
    (found,) = idle_of_day(now=NOON)
    assert found.drawn_kwh == pytest.approx(8 * 0.1 * 24)
    assert found.billed_kwh == pytest.approx(2 * 0.1 * 12)
    assert found.cost == pytest.approx((19.2 - 2.4) * 0.5)


@pytest.mark.usefixtures("day")
def test_only_who_pays_is_shown_it(staff: Client, ours: Client) -> None:
    path = reverse("console:money")
    assert b"the operator pays" in staff.get(path).content
    assert b"the operator pays" not in ours.get(path).content
