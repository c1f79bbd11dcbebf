"""Writes of tariffs; a stored tariff is one that policies/pricing can evaluate."""

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

from policies.pricing.tariff import validate_flat, validate_time_of_use
from policies.pricing.timezones import validate_timezone
from policies.value_fault import ValueFault as Found
from rest.problems import Contradiction, Fault
from rest.services import Services, Values
from tariffs import selectors
from tariffs.curves import period_from_json
from tariffs.models import Tariff
from tenancy import audited
from tenancy.callers import Caller

Kind = Tariff.Kind


def tariff_create(caller: Caller, values: Values) -> Tariff:
    tariff = Tariff(**_storable(values))
    refuse(_problems(tariff))
    return audited.insert(caller, tariff, values)


def tariff_update(caller: Caller, tariff: Tariff, changes: Values, now: datetime) -> Tariff:
    columns = _storable(changes)
    for name, value in columns.items():
        setattr(tariff, name, value)
    refuse(_problems(tariff))
    return audited.update(caller, tariff, {**columns, "updated_at": now}, changes)


def tariff_delete(caller: Caller, tariff: Tariff) -> None:
    """Takes its hours along; refused while a cluster has it."""
    audited.delete(caller, tariff, {"name": tariff.name})


TARIFFS = Services(
    read=lambda _: selectors.tariffs(),
    create=tariff_create,
    update=tariff_update,
    delete=tariff_delete,
)


def refuse(problems: list[Found]) -> None:
    if problems:
        first = problems[0]
        faults = [Fault(p.pointer, p.code, p.message) for p in problems]
        raise Contradiction(first.message, code=first.code, errors=faults)


def _problems(tariff: Tariff) -> list[Found]:
    misplaced = list(_misplaced(tariff))
    if misplaced:
        return misplaced
    charge = tariff.demand_charge_per_kw
    if tariff.kind == Kind.TIME_OF_USE:
        periods = [period_from_json(period) for period in tariff.periods]
        return validate_time_of_use(periods, tariff.timezone, charge)
    price = Decimal(0) if tariff.price_per_kwh is None else tariff.price_per_kwh
    return [*validate_timezone(tariff.timezone), *validate_flat(price, charge)]


def _misplaced(tariff: Tariff) -> Iterator[Found]:
    """Each kind has one source of prices."""
    if tariff.kind == Kind.FLAT and tariff.price_per_kwh is None:
        yield Found("required", "/price_per_kwh", "A flat tariff needs its price.")
    if tariff.kind != Kind.FLAT and tariff.price_per_kwh is not None:
        message = "Only a flat tariff has one price; leave it out."
        yield Found("not_of_this_kind", "/price_per_kwh", message)
    if tariff.kind != Kind.TIME_OF_USE and tariff.periods:
        message = "Only a time-of-use tariff has periods; leave them out."
        yield Found("not_of_this_kind", "/periods", message)


def _storable(values: Values) -> dict[str, Any]:
    if "periods" not in values:
        return dict(values)
    return {**values, "periods": [_stored_period(period) for period in values["periods"]]}


def _stored_period(period: Values) -> dict[str, Any]:
    """JSON has no decimals: prices are kept as their digits."""
    charge = period.get("demand_charge_per_kw")
    return {
        "name": period.get("name", ""),
        "months": sorted(set(period["months"])),
        "weekdays": sorted(set(period["weekdays"])),
        "from_minute": period["from_minute"],
        "to_minute": period["to_minute"],
        "price_per_kwh": str(period["price_per_kwh"]),
        "demand_charge_per_kw": None if charge is None else str(charge),
    }
