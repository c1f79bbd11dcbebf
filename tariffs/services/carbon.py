"""Writes of carbon series."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from rest.etag import delete_versioned, update_versioned
from tariffs.models import CarbonSeries
from tenancy import audit
from tenancy.callers import Caller


@transaction.atomic(savepoint=False)
def carbon_series_create(*, caller: Caller, name: str) -> CarbonSeries:
    series = CarbonSeries.objects.create(name=name)
    audit.record(caller, "carbon_series.create", series, {"name": name})
    return series


@transaction.atomic(savepoint=False)
def carbon_series_update(
    *, caller: Caller, series: CarbonSeries, changes: Mapping[str, Any], now: datetime
) -> CarbonSeries:
    update_versioned(series, {**changes, "updated_at": now})
    audit.record(caller, "carbon_series.update", series, changes)
    return series


@transaction.atomic(savepoint=False)
def carbon_series_delete(*, caller: Caller, series: CarbonSeries) -> None:
    """Takes its hours along; refused while a cluster has it."""
    audit.record(caller, "carbon_series.delete", series, {"name": series.name})
    delete_versioned(series)
