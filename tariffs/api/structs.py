"""Shapes of tariffs, carbon series, their hours and evaluated prices."""

from decimal import Decimal
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from policies.pricing.periods import MAX_PERIODS
from rest.names import SLUG
from rest.services import Values
from rest.structs import (
    Id,
    Input,
    Instant,
    Output,
    Sign,
    Version,
    amount,
    given,
    matching,
    node_of,
    patch_of,
    text,
)
from tariffs.models import Tariff
from tariffs.services import Mode

# A year of hours is 0.7 MB as published, and 100,000 rows are read at most.
CSV_MAX = 8_000_000
_CSV = "starts_at,value\n2026-01-31T08:00Z,0.08725\n2026-01-31T09:00Z,0.08725\n"

# A name that fits in an address, as the tables' CHECK has it.
Name = Annotated[str, matching(SLUG, max_length=63)]
# ISO 4217.
Currency = Annotated[str, matching("^[A-Z]{3}$", max_length=3, example="EUR")]
# Per kWh, exact to twelve places, below a thousand either way.
Price = Annotated[Decimal, amount(15, 12, plain=True, example="0.25")]
# Money per kW of a month's highest draw.
DemandCharge = Annotated[Decimal, amount(11, 6, sign=Sign.NOT_NEGATIVE, plain=True, example="8.5")]
ZoneName = Annotated[str, text(64, example="Europe/Berlin", description="An IANA time zone.")]
TariffName = Annotated[Name, Meta(examples=["de-2026"])]
SeriesName = Annotated[Name, Meta(examples=["de-lu"])]

_Kind = Annotated[Tariff.Kind, Meta(examples=["time_of_use"])]
# Only a flat tariff has one, and the example is of another kind.
_OnePrice = Annotated[Price | None, Meta(examples=[None])]
_Month = Annotated[int, Meta(ge=1, le=12)]
_Weekday = Annotated[int, Meta(ge=0, le=6)]
_Months = Annotated[list[_Month], Meta(min_length=1, max_length=12, examples=[[*range(1, 13)]])]
_Weekdays = Annotated[list[_Weekday], Meta(min_length=1, max_length=7, examples=[[*range(7)]])]
_FromMinute = Annotated[int, Meta(ge=0, le=1439, examples=[0])]
_ToMinute = Annotated[int, Meta(ge=1, le=1440, examples=[1440])]
_Begin = Annotated[Instant | None, Meta(description="Where its hours begin.", examples=[None])]
_End = Annotated[Instant | None, Meta(description="Where its hours end.", examples=[None])]


class Period(Input, frozen=True):
    """Local minutes of the day `[from_minute, to_minute)`; weekday 0 is Monday."""

    months: _Months
    weekdays: _Weekdays
    from_minute: _FromMinute
    to_minute: _ToMinute
    price_per_kwh: Price
    name: Annotated[str, text(64, blank=True, example="day")] = ""
    demand_charge_per_kw: Annotated[DemandCharge | None, Meta(examples=[None])] = None


class PeriodOut(Output, frozen=True):
    """Local minutes of the day `[from_minute, to_minute)`; weekday 0 is Monday."""

    name: Annotated[str, Meta(examples=["day"])]
    months: _Months
    weekdays: _Weekdays
    from_minute: _FromMinute
    to_minute: _ToMinute
    price_per_kwh: Price
    demand_charge_per_kw: Annotated[DemandCharge | None, Meta(examples=[None])]


class TariffOut(Output, frozen=True):
    id: Id
    name: TariffName
    kind: _Kind
    currency: Currency
    price_per_kwh: _OnePrice
    timezone: ZoneName
    periods: list[PeriodOut]
    demand_charge_per_kw: DemandCharge
    covers_from_at: _Begin
    covers_until_at: _End
    version: Version
    created_at: Instant
    updated_at: Instant


class TariffCreate(Input, frozen=True):
    """A flat tariff has a price, a time-of-use one has periods, an hourly one imports its hours."""

    name: TariffName
    kind: _Kind
    currency: Currency | UnsetType = UNSET
    price_per_kwh: Annotated[Price | UnsetType | None, Meta(examples=[None])] = UNSET
    timezone: ZoneName | UnsetType = UNSET
    periods: (
        Annotated[
            list[Period], Meta(max_length=MAX_PERIODS, examples=[[node_of(Period).example()]])
        ]
        | UnsetType
    ) = UNSET
    demand_charge_per_kw: DemandCharge | UnsetType = UNSET


TariffPatch = patch_of(TariffCreate, "TariffPatch", omit={"kind"})


def with_plain_periods(values: Values) -> Values:
    """What was sent for a tariff, with each period as the services take it."""
    if "periods" not in values:
        return values
    return {**values, "periods": [given(period) for period in values["periods"]]}


class TariffHourOut(Output, frozen=True):
    starts_at: Instant
    price_per_kwh: Price


class PriceOut(Output, frozen=True):
    """A price that holds from one moment until another; null where none is known."""

    from_at: Instant
    until_at: Annotated[Instant, Meta(examples=["2026-01-31T12:00:00Z"])]
    price_per_kwh: Price | None


class PricesOut(Output, frozen=True):
    """The span that was answered, which is at most 366 days, cut at every change of price."""

    currency: Currency
    from_at: Instant
    until_at: Annotated[Instant, Meta(examples=["2026-01-31T12:00:00Z"])]
    prices: list[PriceOut]


class CarbonSeriesOut(Output, frozen=True):
    id: Id
    name: SeriesName
    covers_from_at: Annotated[_Begin, Meta(examples=["2026-01-01T00:00:00Z"])]
    covers_until_at: Annotated[_End, Meta(examples=["2026-01-31T10:00:00Z"])]
    version: Version
    created_at: Instant
    updated_at: Instant


class CarbonSeriesCreate(Input, frozen=True):
    name: SeriesName


CarbonSeriesPatch = patch_of(CarbonSeriesCreate, "CarbonSeriesPatch")


class CarbonHourOut(Output, frozen=True):
    starts_at: Instant
    g_per_kwh: Annotated[Decimal, amount(9, 3, example="213.790")]


class HoursImport(Input, frozen=True):
    """CSV with a header; `mode` says what becomes of the hours that are stored already."""

    csv: Annotated[str, text(CSV_MAX, example=_CSV)]
    mode: Annotated[
        Mode,
        Meta(
            description="extend: add, and overwrite hours given again. "
            "replace: forget the old ones."
        ),
    ] = Mode.EXTEND
    value_column: Annotated[
        Annotated[str, text(64)] | UnsetType | None,
        Meta(
            description="The column with the values, if it is not one of the usual names.",
            examples=["value"],
        ),
    ] = UNSET
    timezone: Annotated[
        Annotated[str, text(64)] | UnsetType | None,
        Meta(description="Where times without an offset are to be read."),
    ] = UNSET


class ImportedOut(Output, frozen=True):
    """How many hours came in from which column, and what the whole series covers now."""

    hours: Annotated[int, Meta(examples=[2])]
    column: Annotated[str, Meta(examples=["value"])]
    covers_from_at: Annotated[Instant, Meta(examples=["2026-01-01T00:00:00Z"])]
    covers_until_at: Annotated[Instant, Meta(examples=["2026-01-31T10:00:00Z"])]
