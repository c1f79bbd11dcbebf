"""A report says first what it comes to, then figures side by side in units that can be read."""

import math

import pytest

from simulator.metrics.intervals import Interval
from simulator.report.conclusion import conclusion
from simulator.report.page import page
from simulator.report.table import COMPARED, comparison_table

NAN = math.nan


def figures(
    jct_s: float, cost: float = 0.0, kwh: float = 0.0, left: int = 0
) -> dict[str, Interval]:
    given = dict.fromkeys(COMPARED, 0.0)
    given |= {"jct_mean_s": jct_s, "energy_cost": cost, "energy_kwh": kwh}
    given |= {"jobs": 10.0, "finished": 10.0 - left}
    return {name: Interval(value, NAN, NAN) for name, value in given.items()}


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (figures(110, 82, 1), "las: 18 % cheaper, 10 % slower than fifo."),
        (figures(50, 125, 1), "las: 25 % dearer, 50 % faster than fifo."),
        (figures(100.1, 82, 1), "las: 18 % cheaper, no faster than fifo."),
        (figures(90, 250, 1), "las: 2.5 times as dear, 10 % faster than fifo."),
        (figures(500, 82, 1), "las: 18 % cheaper, 5.0 times as slow as fifo."),
        (figures(NAN, 82, 1), "las: 18 % cheaper than fifo."),
    ],
)  # fmt: skip
def test_two_policies_in_a_sentence(other: dict[str, Interval], said: str) -> None:
    assert conclusion({"fifo": figures(100, 100, 1), "las": other}) == said


def test_without_a_price_energy_counts_and_without_watts_time_alone() -> None:
    by_energy = {"fifo": figures(100, 0, 10), "las": figures(100, 0, 5)}
    assert conclusion(by_energy) == "las: 50 % less energy, no faster than fifo."
    assert conclusion({"fifo": figures(100), "las": figures(80)}) == "las: 20 % faster than fifo."


def test_of_many_the_cheapest_and_the_fastest() -> None:
    given = {
        "fifo": figures(100, 100, 1),
        "night": figures(150, 60, 1),
        "srtf": figures(40, 105, 1),
        "edf": figures(90, 100, 1),
    }
    assert conclusion(given) == (
        "Cheapest of the others is night: 40 % cheaper, 50 % slower than fifo. "
        "Fastest of the others is srtf: 5 % dearer, 60 % faster than fifo."
    )


def test_who_leaves_jobs_unfinished_is_not_called_fast() -> None:
    given = {"fifo": figures(100, 100, 1), "las": figures(9, 8, 1, left=7)}
    left = "las leaves 7 of 10 jobs unfinished."
    assert conclusion(given) == f"Nothing can be compared with fifo. {left}"
    given["edf"] = figures(50, 100, 1)
    assert conclusion(given) == f"edf: no cheaper, 50 % faster than fifo. {left}"


def test_a_demand_charge_is_part_of_the_bill() -> None:
    peaky = {**figures(100, 50, 1), "demand_cost": Interval(150.0, NAN, NAN)}
    assert conclusion({"fifo": figures(100, 100, 1), "night": peaky}) == (
        "night: 2.0 times as dear, no faster than fifo."
    )


def test_one_policy_alone() -> None:
    said = conclusion({"fifo": figures(7200, 12.5, 2000)})
    assert said == "fifo: mean completion time 2 h, energy 2 MWh, energy cost 12.5."


def test_figures_stand_side_by_side_in_one_unit() -> None:
    rows = comparison_table({"fifo": figures(90, 4, 3), "las": figures(7200, 2, 1500)}, "EUR")
    found = {row[0]: row[1:] for row in rows}
    assert rows[0] == ["", "fifo", "las"]
    assert found["mean completion time, h"] == ["0.025", "2 (+7900 %)"]
    assert found["energy, MWh"][1] == "1.5 (+49900 %)"
    assert found["energy cost, EUR"] == ["4", "2 (-50 %)"]
    assert "carbon, kg CO₂" not in found


def test_the_conclusion_stands_first_and_escaped() -> None:
    text = page(title="t", conclusion="a<b", facts={}, tables=[], curves=[])
    assert text.index("a&lt;b") < text.index("<dl>")
