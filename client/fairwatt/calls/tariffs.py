"""What energy costs."""

from datetime import datetime
from decimal import Decimal

from fairwatt.call import Call, Flow, Stream, get, post
from fairwatt.operation import Asker, operation, procedure, stream
from fairwatt.pages import Page, all_pages, named
from fairwatt.structs.tariffs import Imported, Prices, Tariff


class TariffCalls(Asker):
    @stream
    def tariffs(self) -> Stream[Tariff]:
        """All tariffs.

        >>> "day-night" in {tariff.name for tariff in client.tariffs()}
        True
        """
        return all_pages(self.rules, "tariffs/", Page[Tariff], {})

    @procedure
    def tariff_named(self, name: str) -> Flow[Tariff]:
        """A tariff by its name.

        >>> client.tariff_named("day-night").kind
        'time_of_use'
        """
        return (yield from named(self.rules, "tariffs/", Page[Tariff], name))

    @operation
    def make_tariff(
        self,
        name: str,
        kind: str,
        *,
        currency: str | None = None,
        price_per_kwh: Decimal | None = None,
        key: str | None = None,
    ) -> Call[Tariff]:
        """Make a tariff: `flat` with a price, or `hourly` to be filled by an import (operators).

        >>> operator.make_tariff(name, "hourly", currency="EUR").kind
        'hourly'
        """
        optional = {"currency": currency, "price_per_kwh": price_per_kwh}
        body = {"name": name, "kind": kind} | {k: v for k, v in optional.items() if v is not None}
        return post("tariffs/", Tariff, body, key=key)

    @operation
    def import_hours(
        self,
        tariff_id: int,
        csv: str,
        *,
        mode: str | None = None,
        value_column: str | None = None,
        timezone: str | None = None,
        key: str | None = None,
    ) -> Call[Imported]:
        """Import hourly prices from CSV, all or none; `mode` is extend or replace (operators).

        >>> csv = "starts_at,price_per_kwh\\n2026-01-01T00:00:00Z,0.21\\n2026-01-01T01:00:00Z,0.19"
        >>> operator.import_hours(operator.tariff_named(name).id, csv).hours
        2
        """
        optional = {"mode": mode, "value_column": value_column, "timezone": timezone}
        body = {"csv": csv} | {k: v for k, v in optional.items() if v is not None}
        return post(f"tariffs/{tariff_id}/hours/", Imported, body, key=key)

    @operation
    def prices(self, tariff_id: int, *, from_at: datetime, until_at: datetime) -> Call[Prices]:
        """Prices of a span of time.

        >>> tariff, day = client.tariff_named("day-night"), timedelta(days=1)
        >>> client.prices(tariff.id, from_at=now, until_at=now + day).currency
        'EUR'
        """
        query = {"from": from_at, "to": until_at}
        return get(f"tariffs/{tariff_id}/prices/", Prices, **query)
