"""Writes of carbon series."""

from datetime import datetime

from rest.services import Services, Values
from tariffs import selectors
from tariffs.models import CarbonSeries
from tenancy import audited
from tenancy.callers import Caller


def carbon_series_create(caller: Caller, values: Values) -> CarbonSeries:
    return audited.insert(caller, CarbonSeries(**values), values)


def carbon_series_update(
    caller: Caller, series: CarbonSeries, changes: Values, now: datetime
) -> CarbonSeries:
    return audited.update(caller, series, {**changes, "updated_at": now}, changes)


def carbon_series_delete(caller: Caller, series: CarbonSeries) -> None:
    """Takes its hours along; refused while a cluster has it."""
    audited.delete(caller, series, {"name": series.name})


CARBON_SERIES = Services(
    read=lambda _: selectors.carbon_series(),
    create=carbon_series_create,
    update=carbon_series_update,
    delete=carbon_series_delete,
)
