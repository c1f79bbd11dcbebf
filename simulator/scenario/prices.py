"""Tariffs and carbon of a scenario, by the service's own code."""

from decimal import Decimal
from pathlib import Path

from policies.pricing.curve import PriceCurve
from policies.pricing.hourly import Parsed, parse_hourly_csv
from policies.pricing.hourly_cells import CARBON, PRICE, Quantity
from policies.pricing.periods import PricePeriod
from policies.pricing.published import BEHIND_S
from policies.pricing.tariff import (
    CarbonIntensity,
    FlatTariff,
    HourlyTariff,
    Tariff,
    TimeOfUseTariff,
)
from simulator.scenario.files import data_path
from simulator.scenario.schema import EnergySection
from simulator.traces.rows import TraceError, opened

# Work goes on for a while after the last job has come; a year later nobody asks for the price.
AFTER_S = 366 * 86_400


def tariff_of(energy: EnergySection, beside: Path) -> Tariff | None:
    demand = _decimal(energy.demand_charge_per_kw)
    if energy.flat_price is not None:
        return FlatTariff(Decimal(str(energy.flat_price)), demand)
    if energy.price_csv:
        series = read_series(energy.price_csv, beside, PRICE)
        return HourlyTariff(series.starts_s, series.values)
    if energy.periods:
        periods = tuple(
            PricePeriod(
                months=frozenset(period.months),
                weekdays=frozenset(period.weekdays),
                from_minute=period.from_minute,
                to_minute=period.to_minute,
                price_per_kwh=Decimal(str(period.price_per_kwh)),
                name=period.name,
                demand_charge_per_kw=_decimal(period.demand_charge_per_kw),
            )
            for period in energy.periods
        )
        return TimeOfUseTariff(periods, energy.timezone, demand)
    return None


def market_timezone(energy: EnergySection) -> str | None:
    """Prices by the hour are those of a day-ahead market: nobody knows them before it has met."""
    return energy.timezone if energy.price_csv else None


def _decimal(value: float | None) -> Decimal | None:
    return None if value is None else Decimal(str(value))


def curves(
    energy: EnergySection, tariff: Tariff | None, origin_s: float, last_s: float, beside: Path
) -> tuple[PriceCurve | None, PriceCurve | None]:
    """Price and carbon over the run and a day before it; hours without a file are unknown."""
    start_s, end_s = int(origin_s) - BEHIND_S, int(last_s) + AFTER_S
    price = None if tariff is None else tariff.curve(start_s, end_s)
    if not energy.carbon_csv:
        return price, None
    series = read_series(energy.carbon_csv, beside, CARBON)
    return price, CarbonIntensity(series.starts_s, series.values).curve(start_s, end_s)


def read_series(name: str, beside: Path, quantity: Quantity) -> Parsed:
    path = data_path(name, beside)
    with opened(path) as file:
        parsed = parse_hourly_csv(file.read(), quantity=quantity)
    if isinstance(parsed, Parsed):
        return parsed
    # The first problem's pointer is /csv/LINE/COLUMN.
    _, _, *where = parsed[0].pointer.split("/")
    line = int(where[0]) if where and where[0].isdigit() else 0
    raise TraceError(path, line, "/".join(where[1:]) or "file", parsed[0].message)
