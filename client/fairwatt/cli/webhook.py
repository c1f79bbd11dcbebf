"""`webhook`: who is told of events, what they were told, and telling it again."""

from itertools import islice
from typing import Annotated

import typer

from fairwatt.cli.commands import COMMANDS
from fairwatt.cli.ends import say
from fairwatt.cli.session import connected
from fairwatt.cli.show import Column, Json, as_json, facts, put, rows
from fairwatt.cli.units import clock, seconds_of
from fairwatt.structs.webhooks import Webhook, WebhookDelivery, WebhookWithSecret

app = typer.Typer(rich_markup_mode=None)
webhook = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help=COMMANDS["webhook"].help)
app.add_typer(webhook, name="webhook")
Number = Annotated[int, typer.Argument(metavar="WEBHOOK", help="Its number.")]


def _state(each: Webhook) -> str:
    if not each.enabled:
        return "disabled"
    return "failing" if each.failing_since else "enabled"


WEBHOOKS: list[Column[Webhook]] = [
    ("WEBHOOK", lambda each: each.id),
    ("STATE", _state),
    ("EVENTS", lambda each: ", ".join(each.events) or "all"),
    ("URL", lambda each: each.url),
    ("REMARK", lambda each: each.disabled_reason),
]
DELIVERIES: list[Column[WebhookDelivery]] = [
    ("DELIVERY", lambda each: each.id),
    ("AT", lambda each: clock(each.created_at)),
    ("WEBHOOK", lambda each: each.webhook_id),
    ("EVENT", lambda each: each.event),
    ("STATE", lambda each: each.state),
    ("TRIES", lambda each: each.tries),
    ("STATUS", lambda each: each.status),
    ("ERROR", lambda each: each.error),
]


@webhook.command("ls")
def ls(json: Json = False) -> None:
    """Which webhooks there are."""
    with connected() as client:
        if not rows(client.webhooks(), WEBHOOKS, json=json) and not json:
            say("No webhooks. `fairwatt webhook add URL` makes one.")


@webhook.command("add")
def add(
    url: Annotated[str, typer.Argument(help="Such as https://ci.example.org/hooks.")],
    event: Annotated[
        list[str] | None, typer.Option("--event", "-e", help="job.failed …; repeat it; else all.")
    ] = None,
    tenant: Annotated[int | None, typer.Option(help="A tenant's number; operators only.")] = None,
    json: Json = False,
) -> None:
    """Have an address told of events; the secret that signs them is shown this once."""
    with connected() as client:
        _shown(client.make_webhook(url, event or [], tenant_id=tenant), json)


@webhook.command("enable")
def enable(number: Number, json: Json = False) -> None:
    """Tell one again that was disabled after it had failed for days."""
    with connected() as client:
        found = client.change_webhook(number, enabled=True)
    as_json(found) if json else rows([found], WEBHOOKS, json=False)


@webhook.command("rotate")
def rotate(
    number: Number,
    overlap: Annotated[str, typer.Option(help="How long the old one signs too: 1h, 1d.")] = "1d",
    json: Json = False,
) -> None:
    """Make a new secret, which is shown this once."""
    with connected() as client:
        _shown(client.rotate_webhook(number, overlap_s=seconds_of(overlap)), json)


@webhook.command("rm")
def rm(number: Number, json: Json = False) -> None:
    """Tell it nothing more, and forget what it was told."""
    with connected() as client:
        client.delete_webhook(number)
    as_json({"id": number, "deleted": True}) if json else put(f"webhook {number}  deleted")


@webhook.command("deliveries")
def deliveries(
    number: Annotated[int | None, typer.Argument(metavar="[WEBHOOK]", help="Of one.")] = None,
    state: Annotated[
        str | None, typer.Option("--state", "-s", help="pending, delivered or failed.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="The newest so many.")] = 25,
    json: Json = False,
) -> None:
    """What webhooks were told, the newest first, and how that went."""
    with connected() as client:
        found = islice(client.deliveries(webhook_id=number, state=state), limit)
        if not rows(found, DELIVERIES, json=json) and not json:
            say("Nothing was told. `fairwatt webhook ls` says who is told what.")


@webhook.command("resend")
def resend(
    delivery_ids: Annotated[list[int], typer.Argument(metavar="DELIVERY...")], json: Json = False
) -> None:
    """Tell it again, under the same id."""
    with connected() as client:
        sent = (client.resend(delivery_id) for delivery_id in delivery_ids)
        rows(sent, DELIVERIES, json=json)


def _shown(made: WebhookWithSecret, json: bool) -> None:
    if json:
        as_json(made)
        return
    facts([("webhook", made.id), ("url", made.url), ("secret", made.secret)])
    say("The secret is not shown again; fairwatt.verify_webhook checks messages with it.")
