"""`tariff`."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from fairwatt.cli.commands import COMMANDS
from fairwatt.cli.ends import say
from fairwatt.cli.progress import working
from fairwatt.cli.session import connected
from fairwatt.cli.show import Column, Json, as_json, facts, rows
from fairwatt.cli.units import clock, now, seconds_of
from fairwatt.errors import FairwattError
from fairwatt.structs.tariffs import Price, Tariff
from fairwatt.synchronous import Client

app = typer.Typer(rich_markup_mode=None)
tariff = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help=COMMANDS["tariff"].help)
app.add_typer(tariff, name="tariff")

TARIFFS: list[Column[Tariff]] = [
    ("TARIFF", lambda each: each.name),
    ("KIND", lambda each: each.kind),
    ("CURRENCY", lambda each: each.currency),
    ("PRICE PER KWH", lambda each: each.price_per_kwh),
    ("COVERS UNTIL", lambda each: clock(each.covers_until_at)),
]
PRICES: list[Column[Price]] = [
    ("FROM", lambda each: clock(each.from_at)),
    ("UNTIL", lambda each: clock(each.until_at)),
    ("PRICE PER KWH", lambda each: each.price_per_kwh),
]


@tariff.command("ls")
def ls(json: Json = False) -> None:
    """Which tariffs there are."""
    with connected() as client:
        if not rows(client.tariffs(), TARIFFS, json=json) and not json:
            say("No tariffs. `fairwatt tariff import NAME FILE --create` makes one.")


@tariff.command("prices")
def prices(
    name: str,
    ahead: Annotated[str, typer.Option(help="How far from now: 12h, 1d.")] = "1d",
    json: Json = False,
) -> None:
    """What a kilowatt-hour costs in the hours ahead."""
    with connected() as client:
        until = now() + timedelta(seconds=seconds_of(ahead))
        found = client.prices(client.tariff_named(name).id, from_at=now(), until_at=until)
    as_json(found) if json else rows(found.prices, PRICES, json=False)


@tariff.command("import")
def import_(
    name: str,
    file: Annotated[Path, typer.Argument(help="CSV: the hour's beginning, and its price.")],
    create: Annotated[bool, typer.Option("--create", help="Make the tariff first.")] = False,
    currency: Annotated[str, typer.Option(help="Of a tariff that is made.")] = "EUR",
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite hours there are.")] = False,
    column: Annotated[str | None, typer.Option(help="The column with the price.")] = None,
    timezone: Annotated[str | None, typer.Option(help="Of times without an offset.")] = None,
    json: Json = False,
) -> None:
    """Import hourly prices from a CSV file, all of them or none."""
    text = _text(file)
    with connected() as client, working(f"importing {file}"):
        found = _hourly(client, name, currency) if create else client.tariff_named(name)
        mode = "replace" if replace else None
        done = client.import_hours(
            found.id, text, mode=mode, value_column=column, timezone=timezone
        )
    if json:
        as_json(done)
        return
    facts(
        [
            ("hours", done.hours),
            ("column", done.column),
            ("covers", f"{clock(done.covers_from_at)} to {clock(done.covers_until_at)}"),
        ]
    )


def _hourly(client: Client, name: str, currency: str) -> Tariff:
    return client.make_tariff(name, "hourly", currency=currency)


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise FairwattError(f"{file} cannot be read: {error}.", "Give a CSV file.") from error
