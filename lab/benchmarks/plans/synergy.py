"""How long Synergy takes for one plan of a full cluster with a long queue."""

from dataclasses import replace

from lab.benchmarks.plans.measure import Parameters, figures_of_plan, fresh_plan, sound_plan
from lab.benchmarks.plans.snapshots import SNAPSHOTS
from policies.contract.snapshot import Snapshot

PLAN_BAR_MS = 250.0
PACKINGS = (
    ("fifo", "proportional"), ("fifo", "greedy"), ("fifo", "tune"), ("srtf", "tune"),
    ("las", "tune"), ("ftf", "tune"), ("fifo", "opt"),
)  # fmt: skip


def measure(case: str, snapshot: Snapshot, parameters: Parameters) -> None:
    sound_plan("synergy", parameters, snapshot)

    def plan() -> object:
        """Nothing is kept from an earlier round: the snapshot is another one as well."""
        return fresh_plan("synergy", parameters, replace(snapshot))

    # OPT solves a linear program: nobody promises how long that takes.
    bar_ms = None if parameters["packing"] == "opt" else PLAN_BAR_MS
    figures_of_plan("synergy", case, plan, wall_bar_ms=bar_ms)


def main() -> None:
    for case, made in SNAPSHOTS["synergy"].items():
        snapshot = made()
        for ordering, packing in PACKINGS:
            parameters = {"ordering": ordering, "packing": packing}
            measure(f"{case} {ordering} {packing}", snapshot, parameters)
