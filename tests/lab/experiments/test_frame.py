"""What an experiment declares becomes results, a page, plots and printed tables."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from lab.experiments.bars import at_least, at_most
from lab.experiments.frame import (
    Experiment,
    ExperimentFindings,
    Plot,
    Records,
    Table,
    curves_of,
    named,
    reproduce,
    without_series,
)


@dataclass(frozen=True)
class Square:
    side: float

    def name(self) -> str:
        return f"side {self.side:g}"


def area(square: Square) -> dict[str, Any]:
    return {"area": square.side**2}


def findings(records: Records) -> ExperimentFindings:
    areas = {name: record["area"] for name, record in records.items()}
    figure = Figure()
    figure.subplots().plot(list(areas.values()))
    rows = [["square", "area"], *([name, f"{value:g}"] for name, value in areas.items())]
    return ExperimentFindings(
        results={"rows": areas},
        bars=[at_least("the largest area", max(areas.values()), 9), at_most("their sum", 13, 12)],
        tables=[Table("Areas", rows), Table("Once more", rows, printed=False)],
        summaries=[({"square": name}, {"area": value}) for name, value in areas.items()],
        plots=[Plot("areas", "Areas by side", figure), Plot(None, "On the page only", figure)],
    )


SQUARES = Experiment(
    title="Squares & areas",
    notes=["Sides are in metres."],
    settings=lambda: {"unit": "m"},
    seeds=[0],
    cases=lambda: named([Square(2.0), Square(3.0)]),
    run=area,
    findings=findings,
)


def test_an_experiment_leaves_results_a_page_and_plots(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = reproduce(SQUARES, tmp_path, processes=1)
    assert records["side 3"]["area"] == 9
    results = json.loads((tmp_path / "results.json").read_text())
    assert list(results) == ["settings", "seeds", "cpu_s", "rows", "bars"]
    assert results["settings"] == {"unit": "m"}
    assert results["rows"] == {"side 2": 4.0, "side 3": 9.0}
    assert [bar["holds"] for bar in results["bars"]] == [True, False]
    assert (tmp_path / "summary.csv").read_text().splitlines() == [
        "square,area", "side 2,4.0", "side 3,9.0",
    ]  # fmt: skip
    assert [path.name for path in tmp_path.glob("*.png")] == ["areas.png"]
    page = (tmp_path / "report.html").read_text()
    assert "Squares &amp; areas" in page
    assert "13, at most 12 (does not hold)" in page
    assert page.count("<svg") == 2
    printed = capsys.readouterr().out
    assert "their sum: 13, at most 12: does not hold" in printed
    assert "Areas" in printed
    assert "Once more" not in printed


def test_runs_are_kept_until_somebody_wants_them_fresh(tmp_path: Path) -> None:
    (tmp_path / "runs.jsonl").write_text('["side 2", {"area": 100.0, "cpu_s": 0.0}]\n')
    assert reproduce(SQUARES, tmp_path, processes=1)["side 2"]["area"] == 100
    assert reproduce(SQUARES, tmp_path, processes=1, fresh=True)["side 2"]["area"] == 4


def test_records_without_series_have_no_curve() -> None:
    assert curves_of({"one": {"area": 1.0, "series": None}, "other": {}}) == []
    assert without_series({"area": 1.0, "series": []}) == {"area": 1.0}
