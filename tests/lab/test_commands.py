"""`python -m lab` and `python -m lab.benchmarks` start, and say what they do not know."""

import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from lab.__main__ import COMMANDS
from lab.__main__ import main as lab
from lab.benchmarks.__main__ import main as benchmarks
from lab.benchmarks.catalogue import BENCHMARKS, Benchmark
from lab.experiments.catalogue import EXPERIMENTS, experiment

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        lab([command, "--help"])
    assert ended.value.code == 0
    assert f"usage: python -m lab {command}" in capsys.readouterr().out


@pytest.mark.process
def test_the_lab_starts_as_a_program() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lab", "reproduce", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert all(name in done.stdout for name in EXPERIMENTS)


def test_an_unknown_experiment_is_named_with_those_that_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert lab(["reproduce", "gavel"]) == 2
    assert "no experiment 'gavel'; there are analysim, andreas," in capsys.readouterr().err


def test_an_unknown_benchmark_is_named_with_those_that_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert benchmarks(["warp"]) == 2
    assert "no benchmark 'warp'; there are agents, andreas," in capsys.readouterr().err


@pytest.mark.parametrize("benchmark", BENCHMARKS.values(), ids=BENCHMARKS)
def test_every_benchmark_can_be_called(benchmark: Benchmark) -> None:
    measure = importlib.import_module(benchmark.module).main
    given = ["postgres://here"] if benchmark.database else []
    inspect.signature(measure).bind(*given)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_tells_its_cases_apart(name: str) -> None:
    cases = experiment(name).cases()
    assert len(cases) > 1
    assert len(set(cases.values())) == len(cases)
