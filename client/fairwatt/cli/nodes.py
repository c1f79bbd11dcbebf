"""`nodes`, `drain`, `resume` and `join`."""

import shlex
from datetime import datetime
from typing import Annotated

import typer

from fairwatt.cli.ends import say
from fairwatt.cli.session import connected
from fairwatt.cli.show import Column, Json, as_json, put, rows
from fairwatt.cli.units import ago, now, seconds_of
from fairwatt.structs.clusters import Node

app = typer.Typer(rich_markup_mode=None)


def node_columns(at: datetime) -> list[Column[Node]]:
    return [
        ("NODE", lambda node: node.name),
        ("STATE", lambda node: node.state),
        ("CLUSTER", lambda node: node.cluster + (f"/{node.partition}" if node.partition else "")),
        ("RACK", lambda node: node.rack),
        ("GPUS", lambda node: f"{sum(gpu.healthy for gpu in node.gpus)} {node.gpu_type}"),
        ("CPUS", lambda node: f"{node.cpus_used}/{node.cpus}"),
        ("MEMORY, GiB", lambda node: f"{node.memory_used_mib >> 10}/{node.memory_mib >> 10}"),
        ("HEARD", lambda node: ago(node.last_sync_at, at)),
        ("REMARK", lambda node: node.state_reason),
    ]


@app.command()
def nodes(
    cluster: Annotated[str | None, typer.Option()] = None,
    state: Annotated[str | None, typer.Option("--state", "-s", help="ready, lost …")] = None,
    json: Json = False,
) -> None:
    """List nodes, with their GPUs and what of their CPUs and memory is in use."""
    with connected() as client:
        found = client.nodes(cluster=cluster, state=state)
        if not rows(found, node_columns(now()), json=json) and not json:
            say("No nodes. `fairwatt join` prints the command that adds one.")


@app.command()
def drain(
    name: str,
    reason: Annotated[str | None, typer.Option(help="Shown beside the node.")] = None,
    json: Json = False,
) -> None:
    """Give a node nothing new; what runs there runs to its end."""
    with connected() as client:
        node = client.drain(client.node_named(name).id, reason=reason)
    as_json(node) if json else put(f"{node.name}  {node.state}")


@app.command()
def resume(name: str, json: Json = False) -> None:
    """Give a drained node work again."""
    with connected() as client:
        node = client.resume(client.node_named(name).id)
    as_json(node) if json else put(f"{node.name}  {node.state}")


@app.command()
def join(
    name: Annotated[str, typer.Argument(help="What the machine is to be called.")] = "$(hostname)",
    cluster: Annotated[str | None, typer.Option()] = None,
    partition: Annotated[str | None, typer.Option()] = None,
    rack: Annotated[str | None, typer.Option()] = None,
    lifetime: Annotated[str, typer.Option(help="Until when the token works.")] = "1h",
    json: Json = False,
) -> None:
    """Print the one command that adds a machine; it holds a token that works once."""
    with connected() as client:
        token = client.join_token(
            cluster=cluster, partition=partition, rack=rack, lifetime_s=seconds_of(lifetime)
        )
        url = client.url
    command = (
        f"FAIRWATT_JOIN_TOKEN={token.secret} fairwatt-agent --server {shlex.quote(url)}"
        f" --name {name} --state-dir /var/lib/fairwatt --tenant-uids 200000-299999"
    )
    if json:
        as_json({"command": command, "token": token})
        return
    say(f"Run this as root on the machine, within {lifetime}; install the agent's wheel first:")
    put(command)
