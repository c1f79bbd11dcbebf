"""`top`: nodes, GPUs, watts, the price now, and the queue, again and again."""

import sys
import time
from collections import Counter
from datetime import datetime, timedelta
from typing import Annotated, Any

import typer
from msgspec import Struct
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from fairwatt.cli.jobs import gpus_of, ran
from fairwatt.cli.session import connected
from fairwatt.cli.show import COLOURS, Json, as_json
from fairwatt.cli.units import ago, now
from fairwatt.errors import Forbidden
from fairwatt.structs.clusters import Cluster, Node
from fairwatt.structs.energy import PowerState
from fairwatt.structs.jobs import Job
from fairwatt.structs.words import JobState
from fairwatt.synchronous import Client

app = typer.Typer(rich_markup_mode=None)
RICH = {"32": "green", "31": "red", "33": "yellow", "2": "dim"}
MOST_JOBS = 15


class View(Struct, frozen=True):
    """What stands on the screen."""

    cluster: str
    policy: str
    nodes: list[Node]
    running: list[Job]
    queued: list[Job]
    power: list[PowerState]
    price_per_kwh: str | None


@app.command()
def top(
    cluster: Annotated[str | None, typer.Option()] = None,
    every: Annotated[float, typer.Option(help="Seconds between two looks.")] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Look once and end.")] = False,
    json: Json = False,
) -> None:
    """Watch nodes, GPUs, watts, the price now, and the queue; Ctrl-C ends it."""
    console = Console(width=None if sys.stdout.isatty() else 120)
    with connected() as client:
        home = client.cluster_named(cluster)
        if once or json or not sys.stdout.isatty():
            view = looked(client, home)
            as_json(view) if json else console.print(drawn(view, now()))
            return
        _live(client, home, console, every)


def _live(client: Client, home: Cluster, console: Console, every: float) -> None:
    try:
        with Live(console=console, screen=True, auto_refresh=False) as live:
            while True:
                live.update(drawn(looked(client, home), now()), refresh=True)
                time.sleep(every)
    except KeyboardInterrupt:
        return


def looked(client: Client, cluster: Cluster) -> View:
    def in_state(state: JobState) -> list[Job]:
        found = client.jobs(state=state, cluster=cluster.name, ordering="-id")
        return [job for job, _ in zip(found, range(MOST_JOBS), strict=False)]

    return View(
        cluster=cluster.name,
        policy=cluster.policy,
        nodes=list(client.nodes(cluster=cluster.name)),
        running=in_state(JobState.RUNNING),
        queued=in_state(JobState.QUEUED),
        power=_power(client, cluster),
        price_per_kwh=_price(client, cluster, now()),
    )


def _power(client: Client, cluster: Cluster) -> list[PowerState]:
    """Operators see watts; to others the screen is the same without them."""
    try:
        return client.power(cluster=cluster.name).states
    except Forbidden:
        return []


def _price(client: Client, cluster: Cluster, at: datetime) -> str | None:
    if cluster.tariff is None:
        return None
    tariff = client.tariff_named(cluster.tariff)
    hour = timedelta(hours=1)
    prices = client.prices(tariff.id, from_at=at, until_at=at + hour).prices
    if not prices or prices[0].price_per_kwh is None:
        return None
    return f"{prices[0].price_per_kwh.normalize():f} {tariff.currency}/kWh"


def drawn(view: View, at: datetime) -> Group:
    return Group(_headline(view), _nodes(view, at), _jobs(view, at))


def _headline(view: View) -> Text:
    states = Counter(str(node.state) for node in view.nodes)
    gpus = sum(len(node.gpus) for node in view.nodes)
    parts = [
        f"{view.cluster} by {view.policy}",
        f"{len(view.nodes)} nodes ({', '.join(f'{n} {state}' for state, n in states.items())})",
        f"{gpus} GPUs",
        _watts(view.power),
        f"price now {view.price_per_kwh}" if view.price_per_kwh else "",
    ]
    return Text("   ".join(part for part in parts if part), style="bold")


def _watts(power: list[PowerState]) -> str:
    whole = next((each for each in power if each.partition is None), None)
    if whole is None or whole.measured_w is None:
        return ""
    of = f" of {whole.budget_w:.0f}" if whole.budget_w else ""
    return f"{whole.measured_w:.0f}{of} W"


def _nodes(view: View, at: datetime) -> Table:
    table = _table("NODE", "STATE", "GPUS", "CPUS", "MEMORY, GiB", "HEARD")
    for node in view.nodes:
        table.add_row(
            node.name,
            _word(node.state),
            f"{sum(gpu.healthy for gpu in node.gpus)} {node.gpu_type}",
            f"{node.cpus_used}/{node.cpus}",
            f"{node.memory_used_mib >> 10}/{node.memory_mib >> 10}",
            ago(node.last_sync_at, at),
        )
    return table


def _jobs(view: View, at: datetime) -> Table:
    table = _table("JOB", "NAME", "STATE", "GPUS", "TENANT", "SUBMITTED", "RAN")
    for job in [*view.running, *view.queued]:
        table.add_row(
            str(job.id),
            job.name,
            _word(job.state),
            gpus_of(job),
            job.tenant,
            ago(job.submitted_at, at),
            ran(job, at),
        )
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for column in columns:
        table.add_column(column, no_wrap=True)
    return table


def _word(state: Any) -> Text:
    return Text(str(state), style=RICH.get(COLOURS.get(str(state), ""), ""))
