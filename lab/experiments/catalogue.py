"""The experiments there are: one row each, from a name to what runs it."""

import argparse
from collections.abc import Callable
from pathlib import Path

from lab.experiments.analysim import experiment as analysim
from lab.experiments.andreas import experiment as andreas
from lab.experiments.frontier import experiment as frontier
from lab.experiments.powerflow import experiment as powerflow
from lab.experiments.synergy import experiment as synergy

EXPERIMENTS: dict[str, Callable[[Path, argparse.Namespace], int]] = {
    "analysim": analysim.reproduce,
    "andreas": andreas.reproduce,
    "frontier": frontier.reproduce,
    "powerflow": powerflow.reproduce,
    "synergy": synergy.reproduce,
}
