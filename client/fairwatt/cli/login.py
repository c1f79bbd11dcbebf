"""`fairwatt login`: remember a service and a token, once both are known to work."""

import os
import sys
from dataclasses import replace
from getpass import getpass
from typing import Annotated

import typer

from fairwatt.cli.session import client_of
from fairwatt.cli.show import Json, as_json, facts
from fairwatt.errors import FairwattError
from fairwatt.profiles import DEFAULT, ServiceProfile, config_path, load, remember
from fairwatt.synchronous import Client
from fairwatt.wire import address_of

app = typer.Typer(rich_markup_mode=None)


@app.command()
def login(
    url: Annotated[str | None, typer.Argument(help="Such as https://fairwatt.example.")] = None,
    token: Annotated[
        str | None, typer.Option(help="`-` reads it from standard input; asked for otherwise.")
    ] = None,
    name: Annotated[str, typer.Option(help="Of the profile.")] = DEFAULT,
    cluster: Annotated[str | None, typer.Option(help="Where jobs go that name none.")] = None,
    json: Json = False,
) -> None:
    """Remember a service and a token in config.toml, once both are known to work."""
    path = config_path()
    before = load(path).profiles.get(name, ServiceProfile())
    found = url or os.environ.get("FAIRWATT_URL") or before.url
    if not found:
        raise FairwattError("No service is named.", "Say where it is: `fairwatt login URL`.")
    profile = ServiceProfile(address_of(found), _token(token), cluster)
    with client_of(profile) as client:
        me = client.me()
        profile = replace(profile, cluster=cluster or _only_cluster(client))
    remember(path, name, profile)
    if json:
        as_json({"profile": name, "url": profile.url, "cluster": profile.cluster, "me": me})
        return
    facts(
        [
            ("service", profile.url),
            ("role", me.role),
            ("tenant", me.tenant_name),
            ("cluster", profile.cluster),
            ("profile", f"{name} in {path}"),
        ]
    )


def _token(given: str | None) -> str:
    if given == "-" or (given is None and not sys.stdin.isatty()):
        given = os.environ.get("FAIRWATT_TOKEN") if given is None else None
        return given or sys.stdin.readline().strip()
    return given or os.environ.get("FAIRWATT_TOKEN") or getpass("Token: ")


def _only_cluster(client: Client) -> str | None:
    names = [cluster.name for cluster in client.clusters()]
    return names[0] if len(names) == 1 else None
