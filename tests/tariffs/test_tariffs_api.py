"""Tariffs over HTTP: what is stored can be evaluated, what cannot is refused where it stands."""

from copy import deepcopy
from typing import Any

import pytest

from tariffs.models import Tariff
from tests.clusters.http import ClusterApi, refusal

EVERY_DAY = {"months": list(range(1, 13)), "weekdays": list(range(7))}
NIGHT = {**EVERY_DAY, "from_minute": 0, "to_minute": 360, "price_per_kwh": "0.18"}
DAY = {**EVERY_DAY, "from_minute": 360, "to_minute": 1440, "price_per_kwh": "0.31"}
TOU: dict[str, Any] = {
    "name": "tou",
    "kind": "time_of_use",
    "timezone": "Europe/Berlin",
    "periods": [NIGHT, DAY],
}
FLAT = {"name": "flat", "kind": "flat", "price_per_kwh": "0.25"}


def test_flat(operator: ClusterApi) -> None:
    made = operator.made("tariffs/", {**FLAT, "demand_charge_per_kw": "8.5"})
    assert (made["price_per_kwh"], made["demand_charge_per_kw"]) == ("0.25", "8.5")
    assert (made["currency"], made["timezone"], made["periods"]) == ("EUR", "UTC", [])
    assert made["covers_from_at"] is None


def test_time_of_use(operator: ClusterApi) -> None:
    made = operator.made("tariffs/", TOU)
    assert made["price_per_kwh"] is None
    assert made["periods"][0] == {"name": "", **NIGHT, "demand_charge_per_kw": None}
    assert operator.get(f"tariffs/{made['id']}/").json() == made


def test_prices_are_kept_to_the_last_digit(operator: ClusterApi) -> None:
    made = operator.made("tariffs/", {**FLAT, "price_per_kwh": "-0.123456789012"})
    assert operator.get(f"tariffs/{made['id']}/").json()["price_per_kwh"] == "-0.123456789012"


def _changed(**changes: Any) -> dict[str, Any]:
    return {**deepcopy(TOU), **changes}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"name": "x", "kind": "flat"}, (422, "required", "/price_per_kwh")),
        ({**FLAT, "periods": [NIGHT, DAY]}, (422, "not_of_this_kind", "/periods")),
        ({**FLAT, "kind": "hourly"}, (422, "not_of_this_kind", "/price_per_kwh")),
        (_changed(price_per_kwh="0.1"), (422, "not_of_this_kind", "/price_per_kwh")),
        (_changed(periods=[]), (422, "empty", "/periods")),
        (_changed(periods=[NIGHT]), (422, "hole", "/periods")),
        (_changed(periods=[NIGHT, DAY, NIGHT]), (422, "overlap", "/periods/2")),
        (
            _changed(periods=[{**NIGHT, "to_minute": 361}, DAY]),
            (422, "overlap", "/periods/1"),
        ),
        (
            _changed(periods=[{**NIGHT, "from_minute": 360}, DAY]),
            (422, "out_of_range", "/periods/0/to_minute"),
        ),
        (_changed(timezone="Europe/Atlantis"), (422, "unknown_timezone", "/timezone")),
        ({**FLAT, "timezone": "Mars"}, (422, "unknown_timezone", "/timezone")),
        (_changed(periods=[{**NIGHT, "months": [13]}]), (400, "invalid", "/periods/0/months/0")),
        (_changed(periods=[{**NIGHT, "weekdays": []}]), (400, "invalid", "/periods/0/weekdays")),
        (
            _changed(periods=[{**NIGHT, "price_per_kwh": 0.18}]),
            (400, "invalid", "/periods/0/price_per_kwh"),
        ),
        (_changed(periods=[{**NIGHT, "colour": 1}]), (400, "invalid", "/periods/0/colour")),
        (_changed(periods=[EVERY_DAY]), (400, "invalid", "/periods/0/from_minute")),
        (_changed(periods=[NIGHT] * 201), (400, "invalid", "/periods")),
        ({**FLAT, "price_per_kwh": "1000"}, (400, "invalid", "/price_per_kwh")),
        ({**FLAT, "price_per_kwh": "NaN"}, (400, "invalid", "/price_per_kwh")),
        ({**FLAT, "price_per_kwh": "0.1234567890123"}, (400, "invalid", "/price_per_kwh")),
        ({**FLAT, "demand_charge_per_kw": "-1"}, (400, "invalid", "/demand_charge_per_kw")),
    ],
)
def test_bad_input_is_refused_where_it_stands(
    operator: ClusterApi, body: dict[str, Any], expected: tuple[int, str, str]
) -> None:
    assert refusal(operator.post("tariffs/", body)) == expected
    assert not Tariff.objects.exists()


def test_an_update_is_checked_as_a_whole(operator: ClusterApi) -> None:
    path = f"tariffs/{operator.made('tariffs/', TOU)['id']}/"
    assert refusal(operator.patch(path, {"periods": [NIGHT]})) == (422, "hole", "/periods")
    assert refusal(operator.patch(path, {"periods": [{"months": [1]}]}))[0] == 400
    assert refusal(operator.patch(path, {"price_per_kwh": "1"}))[1] == "not_of_this_kind"
    assert refusal(operator.patch(path, {"kind": "flat"})) == (400, "invalid", "/kind")
    all_day = {**NIGHT, "to_minute": 1440}
    done = operator.patch(path, {"periods": [all_day], "timezone": "UTC"}).json()
    assert (len(done["periods"]), done["timezone"], done["version"]) == (1, "UTC", 2)


def test_a_tariff_in_use_stays_and_keeps_its_currency(operator: ClusterApi) -> None:
    made = operator.made("tariffs/", FLAT)
    operator.made("clusters/", {"name": "berlin", "tariff": "flat"})
    path = f"tariffs/{made['id']}/"
    assert refusal(operator.delete(path))[:2] == (409, "in_use")
    assert refusal(operator.patch(path, {"currency": "USD"}))[1] == "currency_mismatch"


def test_prices_follow_the_local_clock(operator: ClusterApi) -> None:
    """On 29 March 2026 Berlin skips from 02:00 to 03:00: the night is an hour shorter in UTC."""
    path = f"tariffs/{operator.made('tariffs/', TOU)['id']}/prices/"
    answer = operator.get(f"{path}?from=2026-03-28T23:00:00Z&to=2026-03-29T22:00:00Z").json()
    assert answer["currency"] == "EUR"
    spans = [(p["from_at"], p["until_at"], p["price_per_kwh"]) for p in answer["prices"]]
    assert spans == [
        ("2026-03-28T23:00:00Z", "2026-03-29T04:00:00Z", "0.18"),
        ("2026-03-29T04:00:00Z", "2026-03-29T22:00:00Z", "0.31"),
    ]


def test_prices_of_two_days_from_now_by_default(operator: ClusterApi) -> None:
    path = f"tariffs/{operator.made('tariffs/', FLAT)['id']}/prices/"
    answer = operator.get(path).json()
    assert [p["price_per_kwh"] for p in answer["prices"]] == ["0.25"]
    assert answer["prices"][0]["from_at"] == answer["from_at"]


@pytest.mark.parametrize(
    ("query", "from_at", "until_at", "spans"),
    [
        ("from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", "2026-01-02", "2026-01-02", 0),
        ("from=2026-01-01T00:00:00Z&to=2036-01-01T00:00:00Z", "2026-01-01", "2027-01-02", 1),
        ("from=0001-01-01T00:00:00Z&to=1970-01-02T00:00:00Z", "1970-01-01", "1970-01-02", 1),
        ("from=9999-12-31T23:59:59Z", "2200-01-01", "2200-01-01", 0),
    ],
)
def test_prices_are_answered_within_bounds(
    operator: ClusterApi, query: str, from_at: str, until_at: str, spans: int
) -> None:
    path = f"tariffs/{operator.made('tariffs/', FLAT)['id']}/prices/"
    answer = operator.get(f"{path}?{query}").json()
    assert (answer["from_at"][:10], answer["until_at"][:10]) == (from_at, until_at)
    assert len(answer["prices"]) == spans


def test_prices_take_two_parameters(operator: ClusterApi) -> None:
    path = f"tariffs/{operator.made('tariffs/', FLAT)['id']}/prices/"
    assert refusal(operator.get(f"{path}?from=yesterday")) == (400, "invalid", "?from")
    assert refusal(operator.get(f"{path}?at=1"))[1] == "unknown_parameter"
