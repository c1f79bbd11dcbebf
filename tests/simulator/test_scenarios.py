"""Scenario files: what they may say, and how a wrong one is answered."""

import json
from pathlib import Path

import numpy as np
import pytest

from simulator.scenario.build import build
from simulator.scenario.load import ScenarioError, line_of, load_scenario
from simulator.scenario.schema import Scenario

GOOD = """\
name = "small"
seeds = [0, 1]

[trace]
generate = { jobs = 30, load = 0.8 }

[[cluster.nodes]]
count = 2
gpus = 8

[costs]
spread_slowdown = 0.2

[[policies]]
name = "fifo"

[[policies]]
name = "las"
label = "LAS"
[policies.parameters]
queue_gpu_s = [100, 1000]
"""


def scenario(tmp_path: Path, text: str = GOOD) -> Scenario:
    path = tmp_path / "scenario.toml"
    path.write_text(text)
    return load_scenario(path)


def test_a_good_scenario_builds(tmp_path: Path) -> None:
    loaded = scenario(tmp_path)
    built = build(loaded, 1, tmp_path)
    assert [policy.title() for policy in loaded.policies] == ["fifo", "LAS"]
    assert len(built.setting.jobs) == 30
    assert built.setting.machines.gpus == 16
    assert built.setting.costs.slowdown_in_rack == 0.2
    assert built.pace.on_events


@pytest.mark.parametrize(
    ("change", "line", "field", "expected"),
    [
        (("load = 0.8", "load = -1"), 5, "trace.generate.load", "Expected `float` > 0"),
        (("count = 2", 'count = "two"'), 8, "cluster.nodes.0.count", "Expected `int`"),
        (("gpus = 8", "gpu = 8"), 9, "cluster.nodes.0.gpu", "unknown field"),
        (("gpus = 8", "gpus = 99"), 9, "cluster.nodes.0.gpus", "<= 64"),
        (("spread_slowdown = 0.2", "spread_slowdown = 1"), 12, "costs.spread_slowdown", "< 1.0"),
        (('name = "fifo"', 'name = "fiffo"'), 15, "policies.0.name", "no policy is called"),
        (("[100, 1000]", "[100, 10]"), 21, "policies.1.parameters.queue_gpu_s", "rising"),
        (("generate =", "format ="), 5, "trace.format", "Expected `str`"),
        (('name = "small"', "name = small"), 1, "", "not TOML"),
    ],
)
def test_a_wrong_field_is_named_with_its_line(
    tmp_path: Path, change: tuple[str, str], line: int, field: str, expected: str
) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario(tmp_path, GOOD.replace(*change, 1))
    assert (caught.value.line, caught.value.field) == (line, field)
    assert expected in caught.value.expected
    assert str(caught.value).startswith(f"{tmp_path / 'scenario.toml'}:{line}:")


@pytest.mark.parametrize(
    ("extra", "field"),
    [
        ("[rounds]\non_events = false\n", "rounds.on_events"),
        ('[energy]\nflat_price = 0.1\nprice_csv = "x.csv"\n', "energy"),
    ],
)
def test_fields_that_contradict_each_other(tmp_path: Path, extra: str, field: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario(tmp_path, GOOD.replace("[[policies]]", extra + "[[policies]]", 1))
    assert caught.value.field == field


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="readable file"):
        load_scenario(tmp_path / "nowhere.toml")


def test_changes_reach_into_lists_and_tables(tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(GOOD)
    changed = load_scenario(path, {"cluster.nodes.0.count": 5, "rounds.interval_s": 60})
    assert changed.cluster.nodes[0].count == 5
    assert changed.rounds.interval_s == 60


def test_line_of_finds_the_longest_known_part() -> None:
    assert line_of(GOOD, ["cluster", "nodes", "0", "cpus"]) == 7
    assert line_of(GOOD, ["nothing"]) == 1


def test_estimates_err_as_asked(tmp_path: Path) -> None:
    wrong = GOOD + '\n[estimates]\nkind = "lognormal"\nsigma = 0.5\n'
    setting = build(scenario(tmp_path, wrong), 0, tmp_path).setting
    assert np.std(np.log(setting.believed_work / setting.jobs.work)) == pytest.approx(0.5, rel=0.4)
    blind = GOOD + '\n[estimates]\nkind = "none"\n'
    assert np.isnan(build(scenario(tmp_path, blind), 0, tmp_path).setting.believed_work).all()


def test_failures_are_the_same_for_every_policy_of_a_seed(tmp_path: Path) -> None:
    text = GOOD + "\n[failures]\nmtbf_hours = 20\nrepair_hours = 1\n"
    one, two, other = (
        build(scenario(tmp_path, text), seed, tmp_path).setting.outages for seed in (0, 0, 1)
    )
    assert one == two != other
    assert all(up_s > down_s for down_s, _, up_s in one)


def test_partitions_of_the_trace_share_the_nodes(tmp_path: Path) -> None:
    lines = [
        json.dumps({"submitted_s": 0, "duration_s": 100, "gpus": gpus, "partition": name})
        for gpus, name in ((1, "p"), (3, "q"), (8, "q"))
    ]
    (tmp_path / "jobs.jsonl").write_text("\n".join(lines))
    text = GOOD.replace(
        "generate = { jobs = 30, load = 0.8 }", 'format = "own"\npath = "jobs.jsonl"'
    )
    text = text.replace("count = 2", "count = 12")
    text = text.replace("[[cluster.nodes]]", '[cluster]\npartitions = "lending"\n[[cluster.nodes]]')
    setting = build(scenario(tmp_path, text), 0, tmp_path).setting
    assert setting.machines.partitions.name == ("p", "q")
    assert setting.machines.partitions.lends.all()
    assert np.bincount(setting.machines.nodes.partition).tolist() == [2, 10]


def test_a_trace_meets_the_prices_of_another_year(tmp_path: Path) -> None:
    rows = "\n".join(f"2022-01-03T{hour:02}:00:00Z,0.{hour:02}" for hour in range(24))
    (tmp_path / "prices.csv").write_text(f"starts_at,price_per_kwh\n{rows}\n")
    text = GOOD.replace(
        "generate = { jobs = 30, load = 0.8 }",
        "generate = { jobs = 30, load = 0.8 }\nstarts_at = 2022-01-03T00:00:00Z",
    )
    setting = build(
        scenario(tmp_path, text + '\n[energy]\nprice_csv = "prices.csv"\n'), 0, tmp_path
    )
    price = setting.setting.price
    assert price is not None
    assert price.price_at(setting.setting.origin_s // 3600 * 3600 + 3600) > 0
