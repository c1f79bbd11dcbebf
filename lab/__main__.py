"""`python -m lab COMMAND`."""

import argparse
import importlib
import sys
from collections.abc import Sequence

COMMANDS = {
    "calibrate": "lab.calibration.cli",
    "data": "lab.data.cli",
    "reproduce": "lab.experiments.cli",
    "screenshots": "lab.screenshots.cli",
}
"""Modules whose `main` takes the arguments after the name and returns the exit code."""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m lab", description="Programs of the lab.")
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="of the command")
    given = parser.parse_args(arguments)
    # Only now: a command need not wait for what others import.
    code: int = importlib.import_module(COMMANDS[given.command]).main(given.arguments)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
