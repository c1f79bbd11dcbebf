"""What the schema shows for each operation on tariffs and carbon series."""

from typing import Any

from rest.views import Example

_AT = "2026-01-31T08:00:00Z"


def _crud(row: dict[str, Any], create: dict[str, Any], patch: dict[str, Any]) -> dict[str, Example]:
    return {
        "list": Example(response=row),
        "retrieve": Example(response=row),
        "create": Example(request=create, response=row),
        "partial_update": Example(request=patch, response={**row, **patch}),
    }


_EVERY_DAY = {"months": [*range(1, 13)], "weekdays": [*range(7)], "demand_charge_per_kw": None}


_PERIODS = [
    {
        "name": "night",
        **_EVERY_DAY,
        "from_minute": 0,
        "to_minute": 360,
        "price_per_kwh": "0.18",
    },
    {
        "name": "day",
        **_EVERY_DAY,
        "from_minute": 360,
        "to_minute": 1440,
        "price_per_kwh": "0.31",
    },
]


_TARIFF = {
    "id": 2,
    "name": "de-2026",
    "kind": "time_of_use",
    "currency": "EUR",
    "price_per_kwh": None,
    "timezone": "Europe/Berlin",
    "periods": _PERIODS,
    "demand_charge_per_kw": "8.5",
    "covers_from_at": None,
    "covers_until_at": None,
    "version": 1,
    "created_at": _AT,
    "updated_at": _AT,
}


TARIFFS = {
    **_crud(
        _TARIFF,
        create={
            "name": "de-2026",
            "kind": "time_of_use",
            "timezone": "Europe/Berlin",
            "periods": _PERIODS,
            "demand_charge_per_kw": "8.5",
        },
        patch={"demand_charge_per_kw": "9.25"},
    ),
    "prices": Example(
        response={
            "currency": "EUR",
            "from_at": "2026-01-31T00:00:00Z",
            "until_at": "2026-01-31T12:00:00Z",
            "prices": [
                {
                    "from_at": "2026-01-31T00:00:00Z",
                    "until_at": "2026-01-31T05:00:00Z",
                    "price_per_kwh": "0.18",
                },
                {
                    "from_at": "2026-01-31T05:00:00Z",
                    "until_at": "2026-01-31T12:00:00Z",
                    "price_per_kwh": "0.31",
                },
            ],
        }
    ),
}


def _hours(value: str, amount: str, digits: str) -> dict[str, Example]:
    rows = f"starts_at,{value}\n2026-01-31T08:00Z,{digits}\n2026-01-31T09:00Z,{digits}\n"
    return {
        "list": Example(response={"starts_at": _AT, value: amount}),
        "create": Example(
            request={"csv": rows, "mode": "extend"},
            response={
                "hours": 2,
                "column": value,
                "covers_from_at": "2026-01-01T00:00:00Z",
                "covers_until_at": "2026-01-31T10:00:00Z",
            },
        ),
    }


TARIFF_HOURS = _hours("price_per_kwh", "0.08725", "0.08725")


CARBON_HOURS = _hours("g_per_kwh", "213.790", "213.79")


CARBON_SERIES = _crud(
    {
        "id": 1,
        "name": "de-lu",
        "covers_from_at": "2026-01-01T00:00:00Z",
        "covers_until_at": "2026-01-31T10:00:00Z",
        "version": 2,
        "created_at": _AT,
        "updated_at": _AT,
    },
    create={"name": "de-lu"},
    patch={"name": "de-lu-2026"},
)
