"""The commands: run, compare, sweep, fit and advise."""

import argparse
import itertools
import os
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from policies import registry
from policies.contract.parameters import ParameterError
from simulator.advice.command import add_to as add_advise
from simulator.advice.faults import AdviceError
from simulator.generate.fit import fit
from simulator.generate.model import FITTED
from simulator.metrics.summary import Summary
from simulator.progress import counting, say, showing, tell
from simulator.report.conclusion import conclusion
from simulator.report.figures import figure_text, heading, unit_of
from simulator.report.files import write_jobs, write_json, write_summaries
from simulator.report.table import aligned, comparison_table
from simulator.report.write import write_study
from simulator.scenario.build import build
from simulator.scenario.files import data_directory
from simulator.scenario.load import ScenarioError, load_scenario
from simulator.scenario.schema import PolicySection, Scenario
from simulator.study import (
    CellResult,
    cells,
    cores,
    differences,
    intervals,
    run_cell,
    run_cells,
)
from simulator.traces.formats import READERS
from simulator.traces.rows import TraceError

RESULTS = Path("var/simulations")
WRONG_INPUT = 2
SWEPT = ("jct_mean_s", "wait_mean_s", "gpu_utilisation", "fragmentation")
COMPARED = ("jct_mean_s", "wait_mean_s", "gpu_utilisation", "fragmentation", "energy_cost")


def main(arguments: Sequence[str]) -> int:
    registry.add(os.environ.get("FAIRWATT_POLICIES", "").replace(",", " ").split())
    given = _parser().parse_args(arguments)
    try:
        code: int = given.command(given)
    except (AdviceError, ScenarioError, TraceError, ParameterError) as error:
        say(f"error: {error}")
        return WRONG_INPUT
    return code


def run(given: argparse.Namespace) -> int:
    """Every policy and seed of a scenario, one after the other, with per-job tables."""
    scenario, beside = _scenario(given), given.scenario.parent
    directory = _directory(given, scenario)
    results = []
    for cell in cells(scenario):
        title = f"{cell.policy.title()}, seed {cell.seed}"
        setting = build(scenario, cell.seed, beside).setting
        with showing(title, len(setting.jobs), setting.origin_s) as on_progress:
            result, measured = run_cell(scenario, cell, beside, on_progress)
        results.append(result)
        directory.mkdir(parents=True, exist_ok=True)
        write_jobs(directory / f"jobs-{_slug(cell.policy)}-{cell.seed}.csv", measured.jobs)
    return _finish(directory, scenario, results)


def compare(given: argparse.Namespace) -> int:
    """Every policy and seed in parallel, and how each policy differs from the first."""
    scenario = _scenario(given)
    if given.policy:
        chosen = tuple(PolicySection(name=name) for name in given.policy)
        scenario = msgspec.structs.replace(scenario, policies=chosen)
    results = _in_parallel(scenario, given)
    _finish(_directory(given, scenario), scenario, results)
    first = scenario.policies[0].title()
    means = intervals(results)
    units = {f: unit_of(f, (given[f].mean for given in means.values())) for f in COMPARED}
    rows = [["against " + first, *(heading(name, unit) for name, unit in units.items())]]
    for policy in scenario.policies[1:]:
        row = [policy.title()]
        for figure, unit in units.items():
            found = differences(results, figure, policy.title(), first)
            mean, low, high = (figure_text(value / unit.size) for value in found)
            row.append(f"{mean} [{low}, {high}]")
        rows.append(row)
    if len(rows) > 1:
        tell("\n" + aligned(rows))
    return 0


def sweep(given: argparse.Namespace) -> int:
    """The scenario once for every combination of the varied fields."""
    varied = [_varied(text) for text in given.vary]
    rows: list[tuple[dict[str, object], Summary]] = []
    first = _scenario(given)
    for values in itertools.product(*(choices for _, choices in varied)):
        changes = dict(zip((name for name, _ in varied), values, strict=True))
        scenario = load_scenario(given.scenario, {**_sets(given), **changes})
        rows += [
            ({**changes, "policy": r.label, "seed": r.seed}, r.summary)
            for r in _in_parallel(scenario, given)
        ]
    directory = _directory(given, first)
    directory.mkdir(parents=True, exist_ok=True)
    write_summaries(directory / "sweep.csv", rows)
    write_json(directory / "sweep.json", [{**names, **figures} for names, figures in rows])
    units = {f: unit_of(f, (figures[f] for _, figures in rows)) for f in SWEPT}
    shown = [[*rows[0][0], *(heading(name, unit) for name, unit in units.items())]]
    for names, figures in rows:
        texts = [figure_text(figures[name] / unit.size) for name, unit in units.items()]
        shown.append([*map(str, names.values()), *texts])
    tell(aligned(shown))
    say(f"written to {directory}")
    return 0


def fit_trace(given: argparse.Namespace) -> int:
    """Fit the job model of a trace and store it where `generate` finds it."""
    path = given.path or data_directory() / "philly" / "philly.csv.gz"
    trace, report = READERS[given.format](path)
    model = fit(trace.jobs, given.source)
    target = FITTED / f"{given.format}.json"
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(msgspec.json.format(msgspec.json.encode(model), indent=1) + b"\n")
    tell("\n".join([*report.lines(), f"written to {target}"]))
    return 0


def _finish(directory: Path, scenario: Scenario, results: Sequence[CellResult]) -> int:
    write_study(directory, scenario, results)
    for line in dict.fromkeys(line for r in results for line in r.read):
        say(line)
    by_label = intervals(results)
    tell(f"{conclusion(by_label)}\n\n{aligned(comparison_table(by_label))}")
    say(f"written to {directory}")
    return 0


def _in_parallel(scenario: Scenario, given: argparse.Namespace) -> list[CellResult]:
    planned, results = cells(scenario), []
    with counting(scenario.name or "runs", len(planned)) as counter:
        for result in run_cells(scenario, planned, given.scenario.parent, given.processes):
            results.append(result)
            counter.add(f"{result.label}, seed {result.seed}")
    place = {(cell.policy.title(), cell.seed): at for at, cell in enumerate(planned)}
    return sorted(results, key=lambda r: place[r.label, r.seed])


def _scenario(given: argparse.Namespace) -> Scenario:
    return load_scenario(given.scenario, _sets(given))


def _sets(given: argparse.Namespace) -> dict[str, Any]:
    return dict(_set(text) for text in given.set)


def _set(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    return name, _value(value)


def _varied(text: str) -> tuple[str, list[Any]]:
    name, _, values = text.partition("=")
    return name, [_value(value) for value in values.split(",")]


def _value(text: str) -> Any:
    """A TOML value; a bare word is a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _directory(given: argparse.Namespace, scenario: Scenario) -> Path:
    return given.out or RESULTS / (scenario.name or given.scenario.stem)


def _slug(policy: PolicySection) -> str:
    return "".join(c if c.isalnum() else "-" for c in policy.title())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m simulator", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, command in (("run", run), ("compare", compare), ("sweep", sweep)):
        sub = commands.add_parser(name, help=command.__doc__)
        sub.add_argument("scenario", type=Path, metavar="SCENARIO")
        sub.add_argument("--out", type=Path, help="directory of the results")
        sub.add_argument(
            "--set", action="append", default=[], metavar="FIELD=VALUE", help="change a field"
        )
        sub.add_argument("--processes", type=int, default=cores())
        sub.set_defaults(command=command)
        if name == "compare":
            sub.add_argument("--policy", action="append", choices=registry.policy_names())
        if name == "sweep":
            sub.add_argument("--vary", action="append", required=True, metavar="FIELD=V1,V2")
    sub = commands.add_parser("fit", help=fit_trace.__doc__)
    sub.add_argument("format", choices=sorted(READERS))
    sub.add_argument("path", type=Path, nargs="?")
    sub.add_argument("--source", default="Microsoft Philly, 2017 (Jeon et al., ATC 19, CC-BY-4.0)")
    sub.set_defaults(command=fit_trace)
    add_advise(commands)
    return parser
