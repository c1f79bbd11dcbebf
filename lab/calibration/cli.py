"""`python -m lab calibrate`: refit GPU types and applications to public measurements."""

import argparse
from collections.abc import Sequence

from lab.calibration.program import calibrate
from lab.experiments.cli import RESULTS, WRONG_INPUT, add_run_options
from simulator.progress import say
from simulator.traces.rows import TraceError


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m lab calibrate",
        description="Refit GPU types and applications to public measurements; errors on what was "
        "left out.",
    )
    add_run_options(parser)
    parser.add_argument("--ship", action="store_true", help="store the parameters in the project")
    given = parser.parse_args(arguments)
    try:
        calibrate(
            RESULTS / "calibration", processes=given.processes, fresh=given.fresh, ship=given.ship
        )
    except TraceError as error:
        say(f"error: {error}")
        return WRONG_INPUT
    return 0
