"""The scenarios that are shipped show what they are named after."""

from pathlib import Path

import pytest

from simulator.report.conclusion import conclusion
from simulator.scenario.load import load_scenario
from simulator.study import CellResult, cells, intervals, run_cell

pytestmark = pytest.mark.slow
SCENARIOS = Path(__file__).parents[2] / "scenarios"
# Without files that only the lab fetches.
NO_DATA: dict[str, object] = {"energy.price_csv": "", "energy.carbon_csv": "", "seeds": [0]}


def results(name: str, changes: dict[str, object]) -> dict[str, CellResult]:
    scenario = load_scenario(SCENARIOS / f"{name}.toml", changes)
    found = [run_cell(scenario, cell, SCENARIOS)[0] for cell in cells(scenario)]
    return {result.label: result for result in found}


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.toml")), ids=lambda path: path.stem)
def test_every_one_is_read_and_compares(path: Path) -> None:
    assert len(load_scenario(path, {}).policies) > 1


def test_time_of_use_pays_for_waiting_for_the_night() -> None:
    found = results("time_of_use", {})
    cost = {label: result.summary["energy_cost"] for label, result in found.items()}
    patient = cost["fairwatt waiting for the night"]
    assert patient < 0.8 * cost["fairwatt starting at once"]
    assert patient < 0.8 * cost["fifo-backfill"]
    said = conclusion(intervals(list(found.values())))
    assert said.startswith("Cheapest of the others is fairwatt waiting for the night: ")


def test_generated_jobs_wait_for_one_another() -> None:
    found = results("generated", NO_DATA)
    waits = {label: result.summary["wait_mean_s"] for label, result in found.items()}
    assert waits["fifo"] > 3600
    assert waits["srtf"] < waits["fifo-backfill"] < waits["fifo"]
