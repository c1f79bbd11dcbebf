"""A site's tariff, in any of the forms in which the project has them."""

import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from policies.pricing.curve import PriceCurve
from policies.pricing.tariff import HOUR_S, Tariff
from simulator.advice.faults import AdviceError
from simulator.scenario.files import data_path
from simulator.scenario.prices import curves, market_timezone, tariff_of
from simulator.scenario.schema import EnergySection


class SiteTariff(NamedTuple):
    tariff: Tariff
    energy: EnergySection
    beside: Path
    currency: str
    name: str


class _Document(msgspec.Struct):
    """A tariff as the API answers it."""

    kind: str
    name: str = ""
    currency: str = ""
    price_per_kwh: Any = None
    timezone: str = "UTC"
    periods: list[dict[str, Any]] = []
    demand_charge_per_kw: Any = None


def read_tariff(text: str, timezone: str) -> SiteTariff:
    """A flat price, or a file: hourly CSV, `[energy]` of a scenario, or JSON from `/tariffs/`."""
    try:
        return _tariff(text, timezone)
    except (ValueError, OSError, msgspec.MsgspecError) as error:
        raise AdviceError(f"--tariff {text}: {error}") from None


def _tariff(text: str, timezone: str) -> SiteTariff:
    path, name, currency = data_path(text, Path()), text, ""
    if _number(text) is not None:
        energy = EnergySection(flat_price=_number(text))
    elif not path.is_file():
        raise ValueError("expected a price per kWh, or a file here or in FAIRWATT_DATA")
    elif path.suffix == ".toml":
        content = tomllib.loads(path.read_text())
        energy = msgspec.convert(content.get("energy", content), EnergySection)
    elif path.suffix == ".json":
        document = msgspec.json.decode(path.read_bytes(), type=_Document)
        energy, currency = _energy(document), document.currency
        name = document.name or text
    else:
        energy = EnergySection(price_csv=path.name, timezone=timezone)
    tariff = tariff_of(energy, path.parent)
    if tariff is None:
        raise ValueError("it names no price: expected flat_price, price_csv or periods")
    return SiteTariff(tariff, energy, path.parent, currency, name)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _energy(document: _Document) -> EnergySection:
    if document.kind == "hourly":
        raise ValueError("the hours of an hourly tariff are not in its document: give their CSV")
    fields: dict[str, Any] = {
        "timezone": document.timezone,
        "periods": document.periods,
        "demand_charge_per_kw": document.demand_charge_per_kw,
    }
    if document.kind == "flat":
        fields["flat_price"] = document.price_per_kwh
    # Money is text in the API's documents, so that no decimal place is lost.
    return msgspec.convert(fields, EnergySection, strict=False)


def priced(site: SiteTariff, from_s: float, to_s: float) -> tuple[PriceCurve, list[str]]:
    """Every price of the period must be known; of what ran later than it did, the mean will do."""
    curve, _ = curves(site.energy, site.tariff, from_s, to_s, site.beside)
    if curve is None:
        raise AdviceError(f"--tariff {site.name}: it has no prices")
    inside = list(curve.windows(from_s, to_s))
    unknown_s = sum(each.end_s - each.start_s for each in inside if each.price is None)
    if unknown_s:
        raise AdviceError(
            f"--tariff {site.name}: it has no price for {unknown_s / HOUR_S:.0f} of the "
            f"{(to_s - from_s) / HOUR_S:.0f} hours of the accounting"
        )
    if None not in curve.exact_prices:
        return curve, []
    mean = Decimal(float(curve.integral(from_s, to_s)) / (to_s - from_s))
    filled = [mean if price is None else price for price in curve.exact_prices]
    said = "Hours outside those of the tariff's file cost the mean of the period."
    return PriceCurve.piecewise(curve.edges_s, filled), [said]


def market_of(site: SiteTariff) -> str | None:
    return market_timezone(site.energy)
