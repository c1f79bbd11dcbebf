"""`whatif` and `simulate`: the wind tunnel, through the service's simulations."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from fairwatt.cli.ends import INTERRUPTED, say
from fairwatt.cli.policy import parameters_of
from fairwatt.cli.progress import measured, working
from fairwatt.cli.session import connected
from fairwatt.cli.show import Column, Json, as_json, facts, rows
from fairwatt.cli.units import clock, duration, energy, now, seconds_of
from fairwatt.errors import FairwattError, Invalid
from fairwatt.structs.whatif import (
    Generate,
    GpuModel,
    Machines,
    Nodes,
    PolicyChoice,
    PowerBudgetSpec,
    Results,
    SimulationSpec,
    Trace,
)
from fairwatt.synchronous import Client

app = typer.Typer(rich_markup_mode=None)
Policies = Annotated[
    list[str] | None,
    typer.Option("--policy", "-p", help="NAME, or NAME:PARAMETER=VALUE,…; repeat it to compare."),
]
FIGURES: list[tuple[str, str]] = [
    ("JOBS", "jobs"),
    ("FINISHED", "finished"),
    ("MEAN JCT, s", "jct_mean_s"),
    ("MEAN WAIT, s", "wait_mean_s"),
    ("ENERGY, kWh", "energy_kwh"),
    ("ENERGY COST", "energy_cost"),
]


@app.command()
def whatif(
    watts: Annotated[int | None, typer.Option(help="A power budget for the cluster.")] = None,
    lasting: Annotated[str, typer.Option("--for", help="How long: 2h.")] = "1h",
    policy: Policies = None,
    cluster: Annotated[str | None, typer.Option()] = None,
    json: Json = False,
) -> None:
    """What a power budget, or other policies, would do to the queue as it is. Nothing is ordered.

    fairwatt whatif --watts 6000 --for 2h
    fairwatt whatif -p srtf -p fifo-backfill
    """
    if (watts is None) == (policy is None):
        raise FairwattError(
            "Ask about a power budget or about policies.",
            "Such as --watts 6000 --for 2h, or -p srtf -p fifo.",
        )
    with connected() as client:
        if watts is not None:
            _budget(client, watts, lasting, cluster, json)
            return
        home = client.cluster_named(cluster)
        names = list(dict.fromkeys([home.policy, *(policy or [])]))
        spec = SimulationSpec(policies=_choices(names), live=True, cluster=home.name)
        _simulated(client, spec, None, json)


@app.command()
def simulate(
    trace: Annotated[Path | None, typer.Argument(help="JSON lines: submitted_s, gpus …")] = None,
    policy: Policies = None,
    cluster: Annotated[str | None, typer.Option(help="On the machines of this cluster.")] = None,
    nodes: Annotated[int | None, typer.Option(help="On so many nodes instead.")] = None,
    gpus: Annotated[int, typer.Option(help="GPUs of each of these nodes.")] = 8,
    gpu_type: Annotated[str | None, typer.Option(help="Theirs: it says what they draw.")] = None,
    tariff: Annotated[str | None, typer.Option(help="What energy costs; else a cluster's.")] = None,
    jobs: Annotated[int, typer.Option(help="Without a trace: draw so many jobs.")] = 200,
    load: Annotated[float, typer.Option(help="GPU time asked for, over what there is.")] = 0.8,
    seeds: Annotated[int, typer.Option(help="How often each policy runs.")] = 1,
    report: Annotated[Path | None, typer.Option(help="Write the HTML report here.")] = None,
    json: Json = False,
) -> None:
    """Try policies on a trace in the wind tunnel, on a cluster's machines or on others.

    fairwatt simulate trace.jsonl -p fairwatt -p fifo --nodes 16 --gpu-type A100 --tariff spot
    """
    with connected() as client:
        machines = _machines(client, nodes, gpus, gpu_type) if nodes else None
        spec = SimulationSpec(
            policies=_choices(policy or ["fairwatt", "fifo-backfill"]),
            trace=Trace(_lines(trace)) if trace else None,
            generate=None if trace else Generate(jobs=jobs, load=load),
            cluster=None if machines else client.cluster_named(cluster).name,
            machines=machines,
            tariff=tariff,
            seeds=list(range(seeds)),
        )
        simulation_id = _simulated(client, spec, trace, json)
        if report is not None:
            report.write_bytes(client.simulation_report(simulation_id))
            say(f"Report: {report}")


def _machines(client: Client, nodes: int, gpus: int, gpu_type: str | None) -> Machines:
    if gpu_type is None:
        return Machines(nodes=[Nodes(count=nodes, gpus=gpus)])
    known = {each.name: each for each in client.gpu_types()}
    if gpu_type not in known:
        there = ", ".join(sorted(known)) or "none"
        raise FairwattError(f"There is no GPU type {gpu_type!r}.", f"There are: {there}.")
    found = known[gpu_type]
    model = GpuModel(
        name=gpu_type, idle_w=found.idle_w, max_w=found.max_w, mem_mib=found.memory_mib
    )
    return Machines(nodes=[Nodes(count=nodes, gpus=gpus, gpu_type=gpu_type)], gpus=[model])


def _budget(client: Client, watts: int, lasting: str, cluster: str | None, json: bool) -> None:
    until = now() + timedelta(seconds=seconds_of(lasting))
    spec = PowerBudgetSpec(watts=watts, ends_at=until, dry_run=True)
    with working("asking what it would do"):
        found = client.power_budget(spec, cluster=cluster)
    if json:
        as_json(found)
        return
    estimate = found.estimate
    if estimate is None:
        say("The service gave no estimate.")
        return
    facts(
        [
            ("budget", f"{watts} W until {clock(until)}"),
            ("without it", f"{estimate.baseline_w:.0f} W"),
            ("with it", f"{estimate.expected_w:.0f} W, at most {estimate.highest_w:.0f} W"),
            ("kept", "yes" if estimate.feasible else "no"),
            ("not drawn", energy(int(estimate.energy_not_drawn_j * 1000))),
            ("delayed", f"{estimate.jobs_delayed} of {estimate.jobs} jobs"),
            ("on average", duration(estimate.mean_delay_s) if estimate.mean_delay_s else None),
            ("at worst", duration(estimate.worst_delay_s) if estimate.worst_delay_s else None),
        ]
    )


def _simulated(client: Client, spec: SimulationSpec, trace: Path | None, json: bool) -> int:
    try:
        made = client.simulate(spec)
    except Invalid as error:
        raise _in_file(error, trace) from error
    try:
        with measured(f"simulation {made.id}") as advance:
            for state in client.simulation_progress(made.id):
                advance(state.progress.jobs_done, state.progress.jobs_total or None)
    except KeyboardInterrupt:
        client.cancel_simulation(made.id)
        say(f"\nSimulation {made.id} is cancelled.")
        raise typer.Exit(INTERRUPTED) from None
    if state.state != "succeeded":
        raise FairwattError(
            f"Simulation {made.id} {state.state}: {_why(state.error, state.runs)}.",
            "Use fewer jobs, nodes or policies, or another trace.",
        )
    found = client.simulation_results(made.id)
    as_json(found) if json else _compared(found)
    return made.id


def _in_file(error: Invalid, trace: Path | None) -> FairwattError:
    """What is wrong in the trace is said at its line."""
    prefix = "/trace/lines/"
    found = [fault for fault in error.faults if fault.pointer.startswith(prefix)]
    if trace is None or not found:
        return error
    line, detail = found[0].pointer.removeprefix(prefix), found[0].detail
    return FairwattError(
        f"{trace}:{line}: {detail.removeprefix(f'Line {line}: ')}",
        'A line is such as {"submitted_s": 0, "duration_s": 60, "gpus": 1}.',
    )


def _compared(found: Results) -> None:
    shown = [(title, name) for title, name in FIGURES if any(name in r.figures for r in found.rows)]
    columns: list[Column[Any]] = [("POLICY", lambda row: row.label), ("SEED", lambda row: row.seed)]
    columns += [(title, _figure(name)) for title, name in shown]
    rows(found.rows, columns, json=False)


def _figure(name: str) -> Any:
    return lambda row: f"{row.figures[name]:.5g}" if row.figures.get(name) is not None else None


def _why(error: str, runs: list[Any]) -> str:
    return error or "; ".join(run.error for run in runs if run.error) or "no reason given"


def _choices(names: list[str]) -> list[PolicyChoice]:
    return [_choice(text) for text in names]


def _choice(text: str) -> PolicyChoice:
    """Two of one policy are told apart by their parameters."""
    name, colon, given = text.partition(":")
    parameters = parameters_of(given.split(",")) if colon else {}
    return PolicyChoice(name=name, label=text if colon else "", parameters=parameters)


def _lines(trace: Path) -> str:
    try:
        return trace.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise FairwattError(f"{trace} cannot be read: {error}.", "Give JSON lines.") from error
