"""Tariffs, carbon series and their hours: shape and rights here, decisions in the services."""

from collections.abc import Callable
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.decorators import action
from rest_framework.request import Request

from rest.filters import ChoiceFilter, InstantFilter, TextFilter
from rest.problems import NotFound
from rest.resources import NamedResource
from rest.services import Values
from rest.structs import given, show
from rest.views import Answer, ListMixin, respond
from tariffs import selectors, services
from tariffs.api import structs
from tariffs.models import CarbonHour, CarbonSeries, Tariff, TariffHour
from tariffs.prices import tariff_prices


class TariffViewSet(NamedResource):
    """What energy costs over time: flat, by time of use, or hour by hour."""

    resource = "tariffs"
    rights = {"prices": "tariffs.read"}
    output = structs.TariffOut
    outputs = {"prices": structs.PricesOut}
    inputs = {"create": structs.TariffCreate, "partial_update": structs.TariffPatch}
    query_parameters = {
        "prices": {
            "from": InstantFilter(help_text="Now, if it is left out."),
            "to": InstantFilter(help_text="48 hours after `from`, if it is left out."),
        }
    }
    filters = {"name": TextFilter(), "kind": ChoiceFilter(Tariff.Kind)}
    ordering_fields = ("id", "name")
    etag_prefix = "tariff"
    services = services.TARIFFS

    def perform_create(self, values: structs.TariffCreate) -> Tariff:
        facts = structs.with_plain_periods(given(values))
        return services.tariff_create(self.caller, facts)

    def perform_update(self, row: Tariff, changes: Values) -> Tariff:
        facts = structs.with_plain_periods(changes)
        return services.tariff_update(self.caller, row, facts, timezone.now())

    @action(detail=True, methods=["get"])
    def prices(self, request: Request, **kwargs: Any) -> HttpResponse:
        """The prices as a round sees them, for at most 366 days within the years 1970 to 2199."""
        asked = self.query()
        prices = tariff_prices(
            self.row(), now=timezone.now(), from_at=asked.get("from"), until_at=asked.get("to")
        )
        return respond(Answer(show(structs.PricesOut, prices)))


class CarbonSeriesViewSet(NamedResource):
    """Grams of CO₂ equivalent per kWh, hour by hour."""

    resource = "carbon_series"
    output = structs.CarbonSeriesOut
    inputs = {"create": structs.CarbonSeriesCreate, "partial_update": structs.CarbonSeriesPatch}
    filters = {"name": TextFilter()}
    ordering_fields = ("id", "name")
    etag_prefix = "carbon_series"
    services = services.CARBON_SERIES


class HourViewSet(ListMixin):
    """Hours that hang on a tariff or a series."""

    outputs = {"create": structs.ImportedOut}
    inputs = {"create": structs.HoursImport}
    statuses = {"create": 200}
    filters = {
        "since": InstantFilter("starts_at", "gte"),
        "until": InstantFilter("starts_at", "lt"),
    }
    ordering_fields = ("starts_at",)

    def imported(self, store: Callable[..., services.Imported]) -> HttpResponse:
        values = given(self.input())

        def effect() -> Answer:
            return Answer(self.shown(store(caller=self.caller, now=timezone.now(), **values)))

        return self.write(effect)


class TariffHourViewSet(HourViewSet):
    """The hours of an hourly tariff."""

    resource = "tariff_hours"
    rights = {"list": "tariffs.read", "create": "tariffs.write"}
    output = structs.TariffHourOut

    def rows(self) -> QuerySet[TariffHour]:
        return selectors.tariff_hours(self.tariff().pk)

    def tariff(self) -> Tariff:
        found = Tariff.objects.filter(pk=int(self.kwargs["tariff_id"])).first()
        if found is None:
            raise NotFound
        return found

    def create(self, request: Request, **kwargs: Any) -> HttpResponse:
        """Import hours from CSV, all or none.

        The time column is `starts_at` or `Datetime (UTC)`, the value column `price_per_kwh` or
        `Price (USD/MWh)`, unless `value_column` names another. Every hour stands once, in order.
        """
        return self.imported(lambda **facts: services.tariff_import(tariff=self.tariff(), **facts))


class CarbonHourViewSet(HourViewSet):
    """The hours of a carbon series."""

    resource = "carbon_hours"
    rights = {"list": "carbon_series.read", "create": "carbon_series.write"}
    output = structs.CarbonHourOut

    def rows(self) -> QuerySet[CarbonHour]:
        return selectors.carbon_hours(self.series().pk)

    def series(self) -> CarbonSeries:
        found = CarbonSeries.objects.filter(pk=int(self.kwargs["series_id"])).first()
        if found is None:
            raise NotFound
        return found

    def create(self, request: Request, **kwargs: Any) -> HttpResponse:
        """Import hours from CSV, all or none.

        The time column is `starts_at` or `Datetime (UTC)`, the value column `g_per_kwh` or
        `Carbon Intensity gCO₂eq/kWh (LCA)`, unless `value_column` names another.
        """
        return self.imported(lambda **facts: services.carbon_import(series=self.series(), **facts))
