"""Tariffs, carbon series and their hours: shape and rights here, decisions in the services."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.decorators import action
from rest_framework.request import Request

from clusters import selectors, services
from clusters.api import energy_serializers as serializers
from clusters.api import examples, filters
from clusters.models import CarbonHour, CarbonSeries, Tariff, TariffHour
from clusters.prices import tariff_prices
from rest.filters import InstantFilter
from rest.problems import NotFound
from rest.serializers import represented
from rest.views import (
    Answer,
    CreateMixin,
    DestroyMixin,
    ListMixin,
    RetrieveMixin,
    UpdateMixin,
    crud_rights,
    respond,
)


class TariffViewSet(ListMixin, RetrieveMixin, CreateMixin, UpdateMixin, DestroyMixin):
    """What energy costs over time: flat, by time of use, or hour by hour."""

    resource = "tariffs"
    rights = {**crud_rights("tariffs"), "prices": "tariffs.read"}
    output = serializers.TariffOut
    outputs = {"prices": serializers.PricesOut}
    inputs = {"create": serializers.TariffCreate, "partial_update": serializers.TariffPatch}
    query_parameters = {
        "prices": {
            "from": InstantFilter(help_text="Now, if it is left out."),
            "to": InstantFilter(help_text="48 hours after `from`, if it is left out."),
        }
    }
    examples = examples.TARIFFS
    filterset_class = filters.TariffFilters
    ordering_fields = ("id", "name")
    etag_prefix = "tariff"

    def rows(self) -> QuerySet[Tariff]:
        return selectors.tariffs()

    def input(self, *, partial: bool = False) -> Any:
        # DRF would hand `partial` down to each period, whose members are not optional.
        return super().input(partial=False)

    def perform_create(self, values: dict[str, Any]) -> Tariff:
        return services.tariff_create(caller=self.caller, values=values)

    def perform_update(self, row: Tariff, changes: dict[str, Any]) -> Tariff:
        now = timezone.now()
        return services.tariff_update(caller=self.caller, tariff=row, changes=changes, now=now)

    def perform_destroy(self, row: Tariff) -> None:
        services.tariff_delete(caller=self.caller, tariff=row)

    @action(detail=True, methods=["get"])
    def prices(self, request: Request, **kwargs: Any) -> HttpResponse:
        """The prices as a round sees them, for at most 366 days within the years 1970 to 2199."""
        asked = self.query()
        prices = tariff_prices(
            self.row(), now=timezone.now(), from_at=asked.get("from"), until_at=asked.get("to")
        )
        return respond(Answer(represented(serializers.PricesOut, prices)))


class TariffHourViewSet(ListMixin):
    """The hours of an hourly tariff."""

    resource = "tariff_hours"
    rights = {"list": "tariffs.read", "create": "tariffs.write"}
    output = serializers.TariffHourOut
    outputs = {"create": serializers.ImportedOut}
    inputs = {"create": serializers.HoursImport}
    statuses = {"create": 200}
    examples = examples.TARIFF_HOURS
    filterset_class = filters.HourFilters
    ordering_fields = ("starts_at",)

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
        values = self.input()

        def effect() -> Answer:
            imported = services.tariff_import(
                caller=self.caller, tariff=self.tariff(), now=timezone.now(), **values
            )
            return Answer(self.shown(imported))

        return self.write(effect)


class CarbonSeriesViewSet(ListMixin, RetrieveMixin, CreateMixin, UpdateMixin, DestroyMixin):
    """Grams of CO₂ equivalent per kWh, hour by hour."""

    resource = "carbon_series"
    rights = crud_rights("carbon_series")
    output = serializers.CarbonSeriesOut
    inputs = {
        "create": serializers.CarbonSeriesCreate,
        "partial_update": serializers.CarbonSeriesPatch,
    }
    examples = examples.CARBON_SERIES
    filterset_class = filters.CarbonSeriesFilters
    ordering_fields = ("id", "name")
    etag_prefix = "carbon_series"

    def rows(self) -> QuerySet[CarbonSeries]:
        return selectors.carbon_series()

    def perform_create(self, values: dict[str, Any]) -> CarbonSeries:
        return services.carbon_series_create(caller=self.caller, **values)

    def perform_update(self, row: CarbonSeries, changes: dict[str, Any]) -> CarbonSeries:
        now = timezone.now()
        return services.carbon_series_update(
            caller=self.caller, series=row, changes=changes, now=now
        )

    def perform_destroy(self, row: CarbonSeries) -> None:
        services.carbon_series_delete(caller=self.caller, series=row)


class CarbonHourViewSet(ListMixin):
    """The hours of a carbon series."""

    resource = "carbon_hours"
    rights = {"list": "carbon_series.read", "create": "carbon_series.write"}
    output = serializers.CarbonHourOut
    outputs = {"create": serializers.ImportedOut}
    inputs = {"create": serializers.HoursImport}
    statuses = {"create": 200}
    examples = examples.CARBON_HOURS
    filterset_class = filters.HourFilters
    ordering_fields = ("starts_at",)

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
        values = self.input()

        def effect() -> Answer:
            imported = services.carbon_import(
                caller=self.caller, series=self.series(), now=timezone.now(), **values
            )
            return Answer(self.shown(imported))

        return self.write(effect)
