"""`python -m lab COMMAND`."""

import argparse
import sys
from collections.abc import Callable, Sequence

from lab.data.cli import main as data

COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {
    "data": data,
}
"""Each takes the arguments after its name and returns the exit code."""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m lab", description="Programs of the lab.")
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="of the command")
    given = parser.parse_args(arguments)
    return COMMANDS[given.command](given.arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
