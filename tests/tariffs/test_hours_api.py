"""Hourly series over HTTP: whole, in order and without holes, or not at all."""

import gzip
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from django.conf import settings

from tariffs.models import CarbonHour, Tariff, TariffHour
from tenancy.models import AuditRow
from tests.clusters.http import ClusterApi, refusal

START = datetime(2026, 1, 1, tzinfo=UTC)
DE_LU_2022 = Path("electricity_prices/DE-LU/DE-LU_electricity_prices_2022.csv.gz")
CARBON_2022 = Path("carbon_intensity/DE-LU/DE-LU_2022_hourly.csv.gz")


def csv(first: int, hours: int, price: str = "0.1", column: str = "price_per_kwh") -> str:
    """`hours` rows from hour `first` of 2026 on."""
    times = [START + timedelta(hours=hour) for hour in range(first, first + hours)]
    rows = [f"{at:%Y-%m-%dT%H:%MZ},{price}" for at in times]
    return "\n".join([f"starts_at,{column}", *rows])


@pytest.fixture
def tariff(operator: ClusterApi) -> str:
    return f"tariffs/{operator.made('tariffs/', {'name': 'spot', 'kind': 'hourly'})['id']}/"


def stored() -> list[tuple[int, Decimal]]:
    rows = TariffHour.objects.order_by("starts_at").values_list("starts_at", "price_per_kwh")
    return [(int((at - START).total_seconds() // 3600), price.normalize()) for at, price in rows]


def test_import_list_and_evaluate(operator: ClusterApi, tariff: str) -> None:
    answer = operator.post(f"{tariff}hours/", {"csv": csv(0, 3)})
    assert answer.status_code == 200, answer.content
    assert answer.json() == {
        "hours": 3,
        "column": "price_per_kwh",
        "covers_from_at": "2026-01-01T00:00:00Z",
        "covers_until_at": "2026-01-01T03:00:00Z",
    }
    page = operator.get(f"{tariff}hours/?ordering=starts_at&limit=2").json()
    first = {"starts_at": "2026-01-01T00:00:00Z", "price_per_kwh": "0.1"}
    assert (page["items"][0], len(page["items"])) == (first, 2)
    rest = operator.get(f"{tariff}hours/?ordering=starts_at&limit=2&cursor={page['next']}").json()
    assert [row["starts_at"] for row in rest["items"]] == ["2026-01-01T02:00:00Z"]
    shown = operator.get(tariff).json()
    assert shown["covers_until_at"] == "2026-01-01T03:00:00Z"
    assert shown["version"] == 2
    prices = operator.get(
        f"{tariff}prices/?from=2026-01-01T02:00:00Z&to=2026-01-01T04:00:00Z"
    ).json()["prices"]
    assert [p["price_per_kwh"] for p in prices] == ["0.1", None]
    row = AuditRow.objects.get(action="tariff.import")
    assert row.changes == {"mode": "extend", "hours": 3}


def test_extending_adds_and_overwrites(operator: ClusterApi, tariff: str) -> None:
    operator.post(f"{tariff}hours/", {"csv": csv(2, 3)})
    operator.post(f"{tariff}hours/", {"csv": csv(4, 2, "0.2")})
    operator.post(f"{tariff}hours/", {"csv": csv(1, 1, "0.3")})
    a, b, c = Decimal("0.1"), Decimal("0.2"), Decimal("0.3")
    assert stored() == [(1, c), (2, a), (3, a), (4, b), (5, b)]


@pytest.mark.parametrize("first", [0, 8])
def test_extending_leaves_no_hole(operator: ClusterApi, tariff: str, first: int) -> None:
    operator.post(f"{tariff}hours/", {"csv": csv(4, 3)})
    answer = operator.post(f"{tariff}hours/", {"csv": csv(first, 3)})
    assert refusal(answer) == (409, "leaves_hole", "/csv")
    assert [hour for hour, _ in stored()] == [4, 5, 6]


def test_replacing_forgets_the_rest(operator: ClusterApi, tariff: str) -> None:
    operator.post(f"{tariff}hours/", {"csv": csv(0, 5)})
    answer = operator.post(f"{tariff}hours/", {"csv": csv(100, 2, "0.2"), "mode": "replace"})
    assert answer.json()["covers_from_at"] == "2026-01-05T04:00:00Z"
    assert stored() == [(100, Decimal("0.2")), (101, Decimal("0.2"))]


def test_a_refused_replacement_forgets_nothing(operator: ClusterApi, tariff: str) -> None:
    operator.post(f"{tariff}hours/", {"csv": csv(0, 2)})
    broken = csv(0, 2).replace("01:00Z", "02:00Z")
    answer = operator.post(f"{tariff}hours/", {"csv": broken, "mode": "replace"})
    assert refusal(answer) == (422, "missing_hour", "/csv/3/starts_at")
    assert [hour for hour, _ in stored()] == [0, 1]


TWICE = csv(0, 2) + "\n2026-01-01T01:00Z,0.1"
SPRING = "starts_at,price_per_kwh\n2026-03-29T01:00,1\n2026-03-29T02:00,1\n2026-03-29T03:00,1"
AUTUMN = "starts_at,price_per_kwh\n2026-10-25T01:00,1\n2026-10-25T02:00,1\n2026-10-25T03:00,1"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"csv": SPRING, "timezone": "Europe/Berlin"}, (422, "dst_jump", "/csv/3/starts_at")),
        ({"csv": AUTUMN, "timezone": "Europe/Berlin"}, (422, "dst_jump", "/csv/3/starts_at")),
        ({"csv": SPRING}, (422, "naive_time", "/csv/2/starts_at")),
        ({"csv": SPRING, "timezone": "Nowhere"}, (422, "unknown_timezone", "/timezone")),
        ({"csv": TWICE}, (422, "duplicated_hour", "/csv/4/starts_at")),
        ({"csv": csv(0, 1, "NaN")}, (422, "non_finite", "/csv/2/price_per_kwh")),
        ({"csv": csv(0, 1), "value_column": "x"}, (422, "missing_column", "/csv/1/x")),
        ({"csv": "starts_at,price_per_kwh"}, (422, "empty", "/csv")),
        ({"csv": ""}, (400, "invalid", "/csv")),
        ({"csv": 5}, (400, "invalid", "/csv")),
        ({}, (400, "invalid", "/csv")),
        ({"csv": csv(0, 1), "mode": "append"}, (400, "invalid", "/mode")),
        ({"csv": csv(0, 1), "file": "x"}, (400, "invalid", "/file")),
    ],
)  # fmt: skip
def test_bad_series_are_refused_where_they_break(
    operator: ClusterApi, tariff: str, body: dict[str, object], expected: tuple[int, str, str]
) -> None:
    assert refusal(operator.post(f"{tariff}hours/", body)) == expected
    assert stored() == []
    assert operator.get(tariff).json()["version"] == 1


def test_many_problems_have_a_short_answer(operator: ClusterApi, tariff: str) -> None:
    answer = operator.post(f"{tariff}hours/", {"csv": csv(0, 500, "dear")})
    errors = answer.json()["errors"]
    assert (len(errors), errors[-1]["code"]) == (21, "more_problems")


def test_only_hourly_tariffs_take_hours(operator: ClusterApi) -> None:
    made = operator.made("tariffs/", {"name": "flat", "kind": "flat", "price_per_kwh": "1"})
    answer = operator.post(f"tariffs/{made['id']}/hours/", {"csv": csv(0, 1)})
    assert refusal(answer)[:2] == (409, "not_hourly")
    assert operator.get(f"tariffs/{made['id']}/hours/").json()["items"] == []


def test_hours_of_nothing_are_not_found(operator: ClusterApi) -> None:
    assert operator.get("tariffs/999/hours/").status_code == 404
    assert operator.post("tariffs/999/hours/", {"csv": csv(0, 1)}).status_code == 404
    assert operator.get("carbon-series/999/hours/").status_code == 404
    assert operator.post("carbon-series/999/hours/", {"csv": csv(0, 1)}).status_code == 404


def test_hours_between(operator: ClusterApi, tariff: str) -> None:
    operator.post(f"{tariff}hours/", {"csv": csv(0, 5)})
    path = f"{tariff}hours/?since=2026-01-01T01:00:00Z&until=2026-01-01T03:00:00Z"
    assert operator.names(path, "starts_at") == ["2026-01-01T02:00:00Z", "2026-01-01T01:00:00Z"]


def test_carbon(operator: ClusterApi) -> None:
    series = f"carbon-series/{operator.made('carbon-series/', {'name': 'de'})['id']}/"
    body = {"csv": csv(0, 2, "213.7894", "g_per_kwh")}
    assert operator.post(f"{series}hours/", body).json()["hours"] == 2
    page = operator.get(f"{series}hours/").json()["items"]
    assert page[0] == {"starts_at": "2026-01-01T01:00:00Z", "g_per_kwh": "213.789"}
    assert operator.get(series).json()["covers_from_at"] == "2026-01-01T00:00:00Z"
    bad = operator.post(f"{series}hours/", {"csv": csv(2, 1, "-1", "g_per_kwh")})
    assert refusal(bad) == (422, "out_of_range", "/csv/2/g_per_kwh")
    assert operator.patch(series, {"name": "de-lu"}).json()["name"] == "de-lu"
    assert operator.delete(series).status_code == 204
    assert not CarbonHour.objects.exists()


def published(path: Path) -> str:
    file = settings.DATA_DIR / path
    if not file.exists():
        pytest.skip(f"{path} is not below FAIRWATT_DATA")
    return gzip.decompress(file.read_bytes()).decode()


def test_a_real_year_of_prices(operator: ClusterApi, tariff: str) -> None:
    answer = operator.post(f"{tariff}hours/", {"csv": published(DE_LU_2022)})
    assert answer.status_code == 200, answer.content
    assert (answer.json()["hours"], answer.json()["column"]) == (8760, "Price (USD/MWh)")
    first = TariffHour.objects.earliest("starts_at")
    assert (first.starts_at.year, first.price_per_kwh) == (2022, Decimal("0.0492373716"))
    prices = operator.get(
        f"{tariff}prices/?from=2022-01-01T00:00:00Z&to=2023-01-01T00:00:00Z"
    ).json()["prices"]
    assert len(prices) > 8000
    assert all(price["price_per_kwh"] is not None for price in prices)


def test_a_real_year_of_carbon_needs_no_time_zone(operator: ClusterApi) -> None:
    series = f"carbon-series/{operator.made('carbon-series/', {'name': 'de'})['id']}/"
    answer = operator.post(f"{series}hours/", {"csv": published(CARBON_2022)})
    assert answer.json()["hours"] == 8760
    assert CarbonHour.objects.earliest("starts_at").g_per_kwh == Decimal("213.790")


def test_deleting_an_hourly_tariff_takes_its_hours_along(operator: ClusterApi, tariff: str) -> None:
    operator.post(f"{tariff}hours/", {"csv": csv(0, 3)})
    assert operator.delete(tariff).status_code == 204
    assert not Tariff.objects.exists()
    assert not TariffHour.objects.exists()
