"""`python -m lab reproduce NAME`: run a published experiment and check its claims."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from lab.experiments.catalogue import EXPERIMENTS, experiment
from lab.experiments.frame import reproduce
from simulator.progress import say
from simulator.scenario.load import ScenarioError
from simulator.study import cores
from simulator.traces.rows import TraceError

RESULTS = Path("var/experiments")
WRONG_INPUT = 2


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m lab reproduce",
        description="Run a published experiment and check its claims.",
    )
    parser.add_argument("name", metavar="NAME", help=f"one of {', '.join(EXPERIMENTS)}")
    add_run_options(parser)
    given = parser.parse_args(arguments)
    if given.name not in EXPERIMENTS:
        say(f"error: no experiment {given.name!r}; there are {', '.join(EXPERIMENTS)}")
        return WRONG_INPUT
    try:
        chosen = experiment(given.name)
        reproduce(chosen, RESULTS / given.name, processes=given.processes, fresh=given.fresh)
    except (ScenarioError, TraceError) as error:
        say(f"error: {error}")
        return WRONG_INPUT
    return 0


def add_run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--processes", type=int, default=cores())
    parser.add_argument("--fresh", action="store_true", help="forget runs that are done already")
