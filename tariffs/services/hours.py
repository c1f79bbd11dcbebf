"""Imports of hourly series: a stored series never has a hole."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from django.db import connection, transaction
from django.db.models import F

from policies.pricing.hourly import Parsed, parse_hourly_csv
from policies.pricing.hourly_cells import CARBON, PRICE, Quantity
from rest.problems import Conflict, NotFound
from tariffs.models import CarbonSeries, Tariff
from tariffs.services.tariffs import refuse
from tenancy import audit
from tenancy.callers import Caller

HOUR = timedelta(hours=1)
Span = tuple[datetime, datetime]  # the first and the last start of an hour


class Mode(StrEnum):
    EXTEND = "extend"  # add to the stored hours; those given again are overwritten
    REPLACE = "replace"  # forget the stored hours


@dataclass(frozen=True)
class Imported:
    """What came in, and the span the whole series covers now."""

    hours: int
    column: str
    covers_from_at: datetime
    covers_until_at: datetime


@dataclass(frozen=True)
class HourTable:
    """Names of a table of hours, none of which come from a caller."""

    name: str
    owner: str
    value: str

    @property
    def span(self) -> str:
        return f"SELECT min(starts_at), max(starts_at) FROM {self.name} WHERE {self.owner} = %s"  # noqa: S608

    @property
    def clear(self) -> str:
        return f"DELETE FROM {self.name} WHERE {self.owner} = %s"  # noqa: S608

    @property
    def upsert(self) -> str:
        return (
            f"INSERT INTO {self.name} ({self.owner}, starts_at, {self.value}) "  # noqa: S608
            "SELECT %s, to_timestamp(start_s), value "
            "FROM unnest(%s::int8[], %s::numeric[]) AS given (start_s, value) "
            f"ON CONFLICT ({self.owner}, starts_at) "
            f"DO UPDATE SET {self.value} = excluded.{self.value}"
        )


PRICES = HourTable("tariffs_tariffhour", "tariff_id", "price_per_kwh")
INTENSITIES = HourTable("tariffs_carbonhour", "series_id", "g_per_kwh")


@transaction.atomic(savepoint=False)
def tariff_import(
    *,
    caller: Caller,
    tariff: Tariff,
    csv: str,
    mode: Mode,
    now: datetime,
    value_column: str | None = None,
    timezone: str | None = None,
) -> Imported:
    if tariff.kind != Tariff.Kind.HOURLY:
        detail = f"This tariff is {tariff.kind}; only an hourly one takes hours."
        raise Conflict(detail, code="not_hourly")
    parsed = _parsed(csv, value_column, timezone, PRICE)
    imported = _store(PRICES, tariff, parsed, mode, now)
    audit.record(caller, "tariff.import", tariff, {"mode": mode, "hours": imported.hours})
    return imported


@transaction.atomic(savepoint=False)
def carbon_import(
    *,
    caller: Caller,
    series: CarbonSeries,
    csv: str,
    mode: Mode,
    now: datetime,
    value_column: str | None = None,
    timezone: str | None = None,
) -> Imported:
    """Grams are kept to three places."""
    parsed = _parsed(csv, value_column, timezone, CARBON)
    imported = _store(INTENSITIES, series, parsed, mode, now)
    audit.record(caller, "carbon_series.import", series, {"mode": mode, "hours": imported.hours})
    return imported


def _parsed(csv: str, value_column: str | None, timezone: str | None, quantity: Quantity) -> Parsed:
    parsed = parse_hourly_csv(csv, value_column=value_column, timezone=timezone, quantity=quantity)
    if not isinstance(parsed, Parsed):
        refuse(parsed)
        raise TypeError("a series that was not read has problems")
    return parsed


def _store(
    table: HourTable, owner: Tariff | CarbonSeries, parsed: Parsed, mode: Mode, now: datetime
) -> Imported:
    # Locks the owner's row until the commit: of two imports, the second sees the first's hours.
    itself = type(owner)._default_manager.filter(pk=owner.pk)
    if not itself.update(version=F("version") + 1, updated_at=now):
        raise NotFound
    first, last = _at(parsed.starts_s[0]), _at(parsed.starts_s[-1])
    with connection.cursor() as cursor:
        if mode == Mode.REPLACE:
            cursor.execute(table.clear, [owner.pk])
        cursor.execute(table.span, [owner.pk])
        span = cursor.fetchone()
        if span[0] is not None:
            _refuse_hole(span, (first, last))
            first, last = min(first, span[0]), max(last, span[1])
        cursor.execute(table.upsert, [owner.pk, parsed.starts_s.tolist(), list(parsed.values)])
    return Imported(len(parsed.values), parsed.column, first, last + HOUR)


def _refuse_hole(stored: Span, given: Span) -> None:
    early, late = sorted((stored, given))
    if late[0] > early[1] + HOUR:
        detail = (
            f"Hours from {early[1] + HOUR:%Y-%m-%dT%H:%MZ} to {late[0]:%Y-%m-%dT%H:%MZ} would be "
            "missing; import those too, or replace the series."
        )
        raise Conflict.at("/csv", "leaves_hole", detail)


def _at(start_s: float) -> datetime:
    return datetime.fromtimestamp(int(start_s), UTC)
