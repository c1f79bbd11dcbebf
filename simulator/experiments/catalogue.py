"""The experiments there are: one row each, from a name to what runs it."""

import argparse
from collections.abc import Callable
from pathlib import Path

from simulator.experiments import analysim, andreas, frontier, powerflow, synergy

EXPERIMENTS: dict[str, Callable[[Path, argparse.Namespace], int]] = {
    "analysim": analysim.reproduce,
    "andreas": andreas.reproduce,
    "frontier": frontier.reproduce,
    "powerflow": powerflow.reproduce,
    "synergy": synergy.reproduce,
}
