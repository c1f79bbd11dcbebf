"""`policy`."""

from typing import Annotated, Any

import typer
from msgspec import DecodeError
from msgspec.json import decode

from fairwatt.cli.commands import COMMANDS
from fairwatt.cli.session import connected
from fairwatt.cli.show import Column, Json, as_json, facts, put, rows
from fairwatt.errors import FairwattError
from fairwatt.structs.clusters import Cluster, Policy

app = typer.Typer(rich_markup_mode=None)
policy = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help=COMMANDS["policy"].help)
app.add_typer(policy, name="policy")

POLICIES: list[Column[Policy]] = [
    ("POLICY", lambda each: each.name),
    ("WHAT IT DOES", lambda each: each.summary),
]
CLUSTERS: list[Column[Cluster]] = [
    ("CLUSTER", lambda each: each.name),
    ("POLICY", lambda each: each.policy),
    ("PARAMETERS", lambda each: _settings(each.policy_parameters)),
    ("SHADOW", lambda each: each.shadow_policy),
    ("TARIFF", lambda each: each.tariff),
]


@policy.command("ls")
def ls(json: Json = False) -> None:
    """Which policies there are, and which cluster has which."""
    with connected() as client:
        found, clusters = client.policies().items, list(client.clusters())
    if json:
        as_json({"policies": found, "clusters": clusters})
        return
    rows(found, POLICIES, json=False)
    put()
    rows(clusters, CLUSTERS, json=False)


@policy.command("show")
def show(name: str, json: Json = False) -> None:
    """What a policy promises, and its parameters."""
    with connected() as client:
        found = client.policy(name)
    if json:
        as_json(found)
        return
    facts([("policy", found.name), ("", found.summary), ("promises", "\n".join(found.promises))])
    properties: dict[str, dict[str, Any]] = found.parameters.get("properties", {})
    put()
    parameters: list[Column[tuple[str, dict[str, Any]]]] = [
        ("PARAMETER", lambda each: each[0]),
        ("DEFAULT", lambda each: each[1].get("default")),
        ("MEANING", lambda each: each[1].get("description")),
    ]
    rows(properties.items(), parameters, json=False)


@policy.command("set")
def set_(
    name: str,
    parameter: Annotated[
        list[str] | None, typer.Option("--parameter", "-p", help="NAME=VALUE; repeat it.")
    ] = None,
    cluster: Annotated[str | None, typer.Option()] = None,
    json: Json = False,
) -> None:
    """Have a cluster scheduled by another policy, from its next round on."""
    with connected() as client:
        found = client.set_policy(name, parameters_of(parameter or []), cluster=cluster)
    as_json(found) if json else rows([found], CLUSTERS, json=False)


def parameters_of(items: list[str]) -> dict[str, Any]:
    return dict(_pair(item) for item in items)


def _pair(item: str) -> tuple[str, Any]:
    name, equals, value = item.partition("=")
    if not equals:
        raise FairwattError(f"{item!r} has no value.", "Write NAME=VALUE.")
    try:
        return name, decode(value)
    except DecodeError:
        return name, value


def _settings(parameters: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in parameters.items())
