"""Writes of tariffs and carbon series, each with its audit row in the transaction."""

from tariffs.services.carbon import (
    CARBON_SERIES,
    carbon_series_create,
    carbon_series_delete,
    carbon_series_update,
)
from tariffs.services.hours import Imported, Mode, carbon_import, tariff_import
from tariffs.services.tariffs import TARIFFS, tariff_create, tariff_delete, tariff_update

__all__ = [
    "CARBON_SERIES",
    "TARIFFS",
    "Imported",
    "Mode",
    "carbon_import",
    "carbon_series_create",
    "carbon_series_delete",
    "carbon_series_update",
    "tariff_create",
    "tariff_delete",
    "tariff_import",
    "tariff_update",
]
