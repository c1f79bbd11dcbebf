"""Tariffs are painted by the week and filled from files, by operators alone."""

from decimal import Decimal

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from console import week
from tariffs.models import Tariff, TariffHour
from tests.jobs.conftest import World

NIGHT, DAY = "0.1", "0.3"


def painted() -> dict[str, str]:
    """Cheap from 22 to 6, over midnight, and on Sundays."""
    return {
        week.key(day, hour): NIGHT if day == 6 or not 6 <= hour < 22 else DAY
        for day in range(7)
        for hour in week.HOURS
    }


def test_a_week_becomes_few_periods_and_back() -> None:
    periods = week.periods_of(painted())
    spans = {(p["from_minute"], p["to_minute"], str(p["price_per_kwh"])) for p in periods}
    assert spans == {(0, 360, NIGHT), (360, 1320, DAY), (1320, 1440, NIGHT), (0, 1440, NIGHT)}
    grid = week.week_of(periods)
    assert grid is not None
    assert {week.key(d, h): grid[d][h] for d in range(7) for h in week.HOURS} == painted()


@pytest.mark.parametrize("wrong", ["", "cheap", "NaN", "Infinity"])
def test_an_hour_without_a_price_is_said_so(wrong: str, staff: Client) -> None:
    made = staff.post(reverse("console:make-tariff"), {"name": "tou", "kind": "time_of_use"})
    row = Tariff.objects.get(name="tou")
    assert made["Location"] == reverse("console:tariff", args=[row.pk])
    sent = painted() | {week.key(2, 7): wrong}
    answer = staff.post(reverse("console:paint", args=[row.pk]), sent)
    assert answer.status_code == 400
    assert b"Wednesday" in answer.content
    assert Tariff.objects.get(pk=row.pk).periods == row.periods


def test_a_week_is_painted(staff: Client, world: World) -> None:
    staff.post(reverse("console:make-tariff"), {"name": "tou", "kind": "time_of_use"})
    row = Tariff.objects.get(name="tou")
    assert staff.post(reverse("console:paint", args=[row.pk]), painted()).status_code == 302
    stored = Tariff.objects.get(pk=row.pk).periods
    assert {period["price_per_kwh"] for period in stored} == {NIGHT, DAY}
    assert b'value="0.3"' in staff.get(reverse("console:tariff", args=[row.pk])).content


def test_what_the_grid_cannot_say_is_not_shown_as_one() -> None:
    (whole,) = week.periods_of(dict.fromkeys(painted(), DAY))
    assert week.week_of([whole]) is not None
    for change in ({"months": [1]}, {"from_minute": 30}, {"demand_charge_per_kw": "1"}):
        assert week.week_of([whole | change]) is None


def test_hours_come_from_a_file(staff: Client, world: World) -> None:
    staff.post(reverse("console:make-tariff"), {"name": "spot", "kind": "hourly"})
    row = Tariff.objects.get(name="spot")
    path = reverse("console:upload-tariff", args=[row.pk])
    csv = "starts_at,price_per_kwh\n2026-01-05T00:00:00Z,0.11\n2026-01-05T01:00:00Z,0.12\n"
    file = SimpleUploadedFile("spot.csv", csv.encode())
    assert staff.post(path, {"csv": file}).status_code == 302
    hours = TariffHour.objects.filter(tariff=row).order_by("starts_at")
    assert list(hours.values_list("price_per_kwh", flat=True)) == [Decimal("0.11"), Decimal("0.12")]
    again = SimpleUploadedFile("spot.csv", csv.replace("price_per_kwh", "spot").encode())
    assert staff.post(path, {"csv": again, "column": "spot"}).status_code == 302
    for wrong in (b"", b"\xff\xfe", b"no,table"):
        answer = staff.post(path, {"csv": SimpleUploadedFile("x.csv", wrong)})
        assert answer.status_code in {400, 409, 422}, wrong
    assert hours.count() == 2


def test_members_change_no_tariff(ours: Client, staff: Client, world: World) -> None:
    staff.post(reverse("console:make-tariff"), {"name": "tou", "kind": "time_of_use"})
    pk = Tariff.objects.get(name="tou").pk
    assert ours.get(reverse("console:tariffs")).status_code == 403
    assert ours.post(reverse("console:paint", args=[pk]), painted()).status_code == 403
    assert ours.post(reverse("console:make-tariff"), {"name": "x"}).status_code == 403
