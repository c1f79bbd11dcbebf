"""The commands, from a scenario file to the files they leave behind."""

import csv
import json
from pathlib import Path

import pytest

from simulator.cli import main
from tests.simulator.test_scenarios import GOOD

pytestmark = pytest.mark.slow


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "scenario.toml"
    path.write_text(GOOD)
    return path


def test_run_writes_results_tables_plots_and_a_page(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["run", str(scenario), "--out", str(out), "--set", "seeds=[3]"]) == 0
    results = json.loads((out / "results.json").read_text())
    assert [(row["policy"], row["seed"]) for row in results["rows"]] == [("fifo", 3), ("LAS", 3)]
    assert results["rows"][0]["finished"] == 30
    with (out / "jobs-fifo-3.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 30
    printed = capsys.readouterr().out
    first, _, *table = printed.splitlines()
    assert first.startswith("LAS: ")
    assert first.endswith(("than fifo.", "as fifo."))
    assert table[0].split() == ["fifo", "LAS"]
    assert table[1].startswith("mean completion time, ")
    assert (out / "jct_cdf.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_stands_alone(scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    main(["run", str(scenario), "--out", str(out), "--set", "seeds=[0]", "--set", "name=a<b"])
    page = (out / "report.html").read_text()
    assert "a&lt;b" in page
    assert page.index(" than fifo.") < page.index("Policies side by side") < page.index("uPlot")
    assert "<script src" not in page
    assert "<link" not in page
    data = page.split('id="runs">')[1].split("</script>")[0]
    runs = json.loads(data)
    assert [run["label"] for run in runs] == ["fifo", "LAS"]
    assert len(runs[0]["hours"]) == len(runs[0]["allocated"])
    assert runs[0]["gantt"]


def test_compare_gives_intervals_against_the_first(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["compare", str(scenario), "--out", str(out), "--processes", "1"]) == 0
    printed = capsys.readouterr().out
    assert "against fifo" in printed
    results = json.loads((out / "results.json").read_text())
    assert set(results["intervals"]["LAS"]["jct_mean_s"]) == {"mean", "low", "high"}


def test_sweep_runs_every_combination(scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ["--vary", "trace.generate.load=0.5,0.9", "--set", "seeds=[0]"]
    assert main(["sweep", str(scenario), "--out", str(out), "--processes", "1", *arguments]) == 0
    rows = json.loads((out / "sweep.json").read_text())
    loads = [(row["trace.generate.load"], row["policy"]) for row in rows]
    assert loads == [(0.5, "fifo"), (0.5, "LAS"), (0.9, "fifo"), (0.9, "LAS")]


def test_wrong_input_is_one_line_and_a_code(
    scenario: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(scenario), "--set", "trace.generate.load=0"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
