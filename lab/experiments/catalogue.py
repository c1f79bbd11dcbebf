"""The experiments there are: one row each, from a name to the module that declares it."""

import importlib
from typing import Any

from lab.experiments.frame import Experiment

EXPERIMENTS = {
    "analysim": "lab.experiments.analysim.experiment",
    "andreas": "lab.experiments.andreas.experiment",
    "frontier": "lab.experiments.frontier.experiment",
    "frontier-windows": "lab.experiments.frontier.two_windows",
    "powerflow": "lab.experiments.powerflow.experiment",
    "powerflow-wrong-profiles": "lab.experiments.powerflow.wrong_profiles",
    "synergy": "lab.experiments.synergy.experiment",
}


def experiment(name: str) -> Experiment[Any]:
    """Its module is imported only now: others need not have their data or take their time."""
    found: Experiment[Any] = importlib.import_module(EXPERIMENTS[name]).EXPERIMENT
    return found
