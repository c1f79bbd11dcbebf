"""The runs of an experiment are kept, and only the missing ones are run."""

import json
from pathlib import Path
from typing import Any

from lab.experiments.runs import cpu_s, run_all


def double(number: float) -> dict[str, Any]:
    return {"twice": 2 * number}


def test_runs_that_are_stored_are_not_run_again(tmp_path: Path) -> None:
    store = tmp_path / "runs.jsonl"
    store.write_text(json.dumps(["one", {"twice": 99, "cpu_s": 1.5}]) + '\n["two", {"tw')
    found = run_all(tmp_path, {"one": 1.0, "two": 2.0}, double, processes=1)
    assert found["one"]["twice"] == 99
    assert found["two"]["twice"] == 4
    assert cpu_s(found) >= 1.5
    assert json.loads(store.read_text().splitlines()[-1])[0] == "two"


def test_fresh_forgets_and_what_json_lacks_is_null(tmp_path: Path) -> None:
    (tmp_path / "runs.jsonl").write_text(json.dumps(["one", {"twice": 99, "cpu_s": 0}]) + "\n")
    found = run_all(tmp_path, {"one": float("nan")}, double, processes=1, fresh=True)
    assert found["one"]["twice"] is None
