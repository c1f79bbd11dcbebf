"""Shapes of tariffs, carbon series, their hours and evaluated prices."""

from clusters.api.fields import Currency, DemandCharge, Name, Price
from policies.pricing.periods import MAX_PERIODS
from rest import fields
from rest.serializers import StrictSerializer
from tariffs.models import Tariff
from tariffs.services import Mode

# A year of hours is 0.7 MB as published, and 100,000 rows are read at most.
CSV_MAX = 8_000_000


class Period(StrictSerializer):
    """Local minutes of the day `[from_minute, to_minute)`; weekday 0 is Monday."""

    name = fields.Text(max_length=64, allow_blank=True, required=False, default="")
    months = fields.Items(
        child=fields.Integer(min_value=1, max_value=12), min_length=1, max_length=12
    )
    weekdays = fields.Items(
        child=fields.Integer(min_value=0, max_value=6), min_length=1, max_length=7
    )
    from_minute = fields.Integer(min_value=0, max_value=1439)
    to_minute = fields.Integer(min_value=1, max_value=1440)
    price_per_kwh = Price()
    demand_charge_per_kw = DemandCharge(required=False, allow_null=True, default=None)


class TariffOut(StrictSerializer):
    id = fields.Integer()
    name = fields.Text()
    kind = fields.Choice(Tariff.Kind.choices)
    currency = fields.Text()
    price_per_kwh = Price(allow_null=True)
    timezone = fields.Text()
    periods = Period(many=True)
    demand_charge_per_kw = DemandCharge()
    covers_from_at = fields.Instant(allow_null=True, help_text="Where its hours begin.")
    covers_until_at = fields.Instant(allow_null=True, help_text="Where its hours end.")
    version = fields.Integer()
    created_at = fields.Instant()
    updated_at = fields.Instant()


class TariffPatch(StrictSerializer):
    name = Name(required=False)
    currency = Currency(required=False)
    price_per_kwh = Price(required=False, allow_null=True)
    timezone = fields.Text(max_length=64, required=False, help_text="An IANA time zone.")
    periods = fields.Items(child=Period(), max_length=MAX_PERIODS, required=False)
    demand_charge_per_kw = DemandCharge(required=False)


class TariffCreate(TariffPatch):
    """A flat tariff has a price, a time-of-use one has periods, an hourly one imports its hours."""

    name = Name()
    kind = fields.Choice(Tariff.Kind.choices)


class TariffHourOut(StrictSerializer):
    starts_at = fields.Instant()
    price_per_kwh = Price()


class PriceOut(StrictSerializer):
    """A price that holds from one moment until another; null where none is known."""

    from_at = fields.Instant()
    until_at = fields.Instant()
    price_per_kwh = Price(allow_null=True)


class PricesOut(StrictSerializer):
    """The span that was answered, which is at most 366 days, cut at every change of price."""

    currency = fields.Text()
    from_at = fields.Instant()
    until_at = fields.Instant()
    prices = PriceOut(many=True)


class CarbonSeriesOut(StrictSerializer):
    id = fields.Integer()
    name = fields.Text()
    covers_from_at = fields.Instant(allow_null=True, help_text="Where its hours begin.")
    covers_until_at = fields.Instant(allow_null=True, help_text="Where its hours end.")
    version = fields.Integer()
    created_at = fields.Instant()
    updated_at = fields.Instant()


class CarbonSeriesCreate(StrictSerializer):
    name = Name()


class CarbonSeriesPatch(StrictSerializer):
    name = Name(required=False)


class CarbonHourOut(StrictSerializer):
    starts_at = fields.Instant()
    g_per_kwh = fields.Amount(max_digits=9, decimal_places=3)


class HoursImport(StrictSerializer):
    """CSV with a header; `mode` says what becomes of the hours that are stored already."""

    csv = fields.Text(max_length=CSV_MAX)
    mode = fields.Choice(
        [mode.value for mode in Mode],
        required=False,
        default=Mode.EXTEND.value,
        help_text="extend: add, and overwrite hours given again. replace: forget the old ones.",
    )
    value_column = fields.Text(
        max_length=64,
        required=False,
        allow_null=True,
        help_text="The column with the values, if it is not one of the usual names.",
    )
    timezone = fields.Text(
        max_length=64,
        required=False,
        allow_null=True,
        help_text="Where times without an offset are to be read.",
    )


class ImportedOut(StrictSerializer):
    """How many hours came in from which column, and what the whole series covers now."""

    hours = fields.Integer()
    column = fields.Text()
    covers_from_at = fields.Instant()
    covers_until_at = fields.Instant()
