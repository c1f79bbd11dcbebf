"""Advice from a site's accounting: what it cost, what it would have cost, and what is refused."""

import json
import re
import shlex
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from policies.registry import build as build_policy
from simulator.cli import main
from simulator.engine import Engine, Outcome, Pace
from simulator.generate.draw import draw_trace
from simulator.generate.model import load_model
from simulator.machines import GpuKind, NodeKind, build
from simulator.measure import RunFigures, measure
from simulator.scenario.load import load_scenario
from simulator.scenario.prices import curves, tariff_of
from simulator.setting import plain_setting
from simulator.workload import Trace
from tests.test_house import ROOT

HEADER = "JobID|User|Account|Partition|State|Submit|Start|End|ElapsedRaw|AllocTRES"
BEGINS_S = datetime(2024, 3, 4, 6, tzinfo=UTC).timestamp()
TARIFF = {
    "kind": "time_of_use",
    "currency": "EUR",
    "periods": [
        {
            "months": [*range(1, 13)],
            "weekdays": [*range(7)],
            "from_minute": from_minute,
            "to_minute": to_minute,
            "price_per_kwh": price,
            "demand_charge_per_kw": None,
        }
        for from_minute, to_minute, price in ((0, 1200, "40"), (1200, 1440, "10"))
    ],
    "demand_charge_per_kw": "0",
}


def line(
    name: str, at_s: float, start_s: float, run_s: float, tres: str, *, who: str = "lab"
) -> str:
    times = [f"{datetime.fromtimestamp(t, UTC):%FT%T}" for t in (at_s, start_s, start_s + run_s)]
    return "|".join([name, "ann", who, "gpu", "COMPLETED", *times, f"{run_s:.0f}", tres])


def written(path: Path, *lines: str) -> Path:
    path.write_text("\n".join([HEADER, *lines]) + "\n")
    return path


@pytest.fixture
def sacct(tmp_path: Path) -> Path:
    """Two jobs of an hour on one V100, the second after the first, beginning at 06:00."""
    tres = "gres/gpu:v100=1,gres/gpu=1"
    return written(
        tmp_path / "sacct.txt",
        line("1", BEGINS_S, BEGINS_S, 3600, tres),
        line("2", BEGINS_S, BEGINS_S + 3600, 3600, tres, who="other"),
    )


@pytest.fixture
def tariff(tmp_path: Path) -> Path:
    path = tmp_path / "tariff.json"
    path.write_text(json.dumps(TARIFF))
    return path


def advised(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    assert main(["advise", "--json", *map(str, arguments)]) == 0
    return dict(json.loads(capsys.readouterr().out))


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main(["advise", *map(str, arguments)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    return said.err.splitlines()[-1]


def test_the_bill_as_it_ran_is_reckoned_by_hand(
    sacct: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A V100 draws 250 W in a job: half a kWh in two hours, off by 2.33 %."""
    found = advised(capsys, "--sacct", sacct, "--tariff", "2", "--policy", "fifo", "--pue", "1.5")
    ran = found["runs"][0]
    assert ran["cost"]["expected"] == pytest.approx(0.5 * 1.5 * 2)
    assert ran["cost"]["high"] == pytest.approx(0.5 * 1.5 * 2 * 1.0233)
    assert ran["idle_cost"] == pytest.approx(0.034 * 2 * 1.5 * 2)
    assert ran["wait_h"] == pytest.approx(1)
    assert ran["tenants"]["other"]["wait_h"] == pytest.approx(1)
    assert "1 nodes of 1 v100" in " ".join(found["assumptions"])


@pytest.mark.slow
def test_waiting_for_the_night_is_cheaper_and_said_first(
    sacct: Path, tariff: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "out" / "report.html"
    arguments = ["--sacct", sacct, "--tariff", tariff, "--policy", "fairwatt", "--round-s", 900]
    found = advised(capsys, *arguments, "--report", report)
    ran, fairwatt = found["runs"]
    # 216 W above idle for two hours, at 10 instead of 40.
    assert fairwatt["saved"]["expected"] == pytest.approx(0.216 * 2 * 30)
    assert fairwatt["saved"]["low"] == pytest.approx((0.216 - 0.25 * 0.0233) * 2 * 30)
    assert {job["job"] for job in fairwatt["mattered_most"]} == {"1", "2"}
    assert fairwatt["wait_h"] > ran["wait_h"]
    assert found["conclusion"].startswith("As it ran, 2024-03-04 06:00 to 2024-03-04 08:00")
    assert "Under fairwatt" in found["conclusion"]
    assert "EUR" in found["conclusion"]
    page = report.read_text()
    assert page.index("Under fairwatt") < page.index("Policies side by side")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "sacct.txt", "tariff.json"]


@pytest.mark.slow
def test_a_replay_agrees_with_the_simulator(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a simulated FIFO with backfilling did, written as accounting, is found again."""
    trace = drawn()
    outcome, direct = simulated(trace)
    path = written(tmp_path / "sacct.txt", *lines_of(trace, outcome))
    arguments = ["--tariff", ROOT / "scenarios" / "time_of_use.toml", "--nodes", "4x8"]
    arguments += ["--host-watts", "250:800", "--round-s", "120", "--policy", "fifo-backfill"]
    found = advised(capsys, "--sacct", path, *arguments)
    ran, replayed = found["runs"]
    assert direct.summary["wait_mean_s"] > 600
    for run in (ran, replayed):
        assert run["cost"]["expected"] == pytest.approx(direct.summary["energy_cost"], rel=0.01)
        assert run["energy_kwh"]["expected"] == pytest.approx(
            direct.summary["energy_kwh"], rel=0.01
        )
        waited_h = float(direct.jobs.wait_s.sum()) / 3600
        assert run["wait_h"] == pytest.approx(waited_h, rel=0.01)
        for name, tenant in direct.tenants.items():
            own = run["tenants"][name]["cost"]
            assert own == pytest.approx(tenant["energy_cost"], rel=0.01)


def drawn() -> Trace:
    """Whole seconds, as accounting has them."""
    model = load_model("philly")
    trace = draw_trace(
        model,
        jobs=100,
        gpus=32,
        load=12.0,
        arrivals="poisson",
        seed=3,
        starts_s=BEGINS_S,
        tenants=3,
    )
    jobs = trace.jobs.but(
        submitted_s=np.floor(trace.jobs.submitted_s), work=np.ceil(trace.jobs.work)
    )
    return Trace(jobs, trace.tenants)


def simulated(trace: Trace) -> tuple[Outcome, RunFigures]:
    energy = load_scenario(ROOT / "scenarios" / "time_of_use.toml").energy
    tariff = tariff_of(energy, ROOT)
    node = NodeKind(count=4, gpus=8, gpu_type="A100", host_idle_w=250, host_peak_w=800)
    machines = build([node], [GpuKind(name="A100", idle_w=50, max_w=400)])
    setting = plain_setting(trace.jobs, machines, tenant_names=trace.tenants)
    jobs = trace.jobs
    price, _ = curves(
        energy, tariff, setting.origin_s, float(jobs.submitted_s[-1] + jobs.work.sum()), ROOT
    )
    setting = replace(setting, price=price, pue=energy.pue)
    pace = Pace(interval_s=120, on_events=False)
    outcome = Engine(setting, build_policy("fifo-backfill", {}), pace).run()
    return outcome, measure(outcome, tariff)


def lines_of(trace: Trace, outcome: Outcome) -> list[str]:
    jobs = trace.jobs
    return [
        line(
            str(row),
            float(jobs.submitted_s[row]),
            float(outcome.first_start_s[row]),
            float(jobs.work[row]),
            f"cpu=8,gres/gpu:a100={jobs.gpus[row]},gres/gpu={jobs.gpus[row]}",
            who=trace.tenants[jobs.tenant[row]],
        )
        for row in range(len(jobs))
    ]


def test_a_file_without_gpu_jobs_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path / "cpu.txt", line("1", BEGINS_S, BEGINS_S, 60, "cpu=4"), "broken")
    assert main(["advise", "--sacct", str(path), "--tariff", "1"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "no job with GPUs can be used of cpu.txt: 0 rows used, 2 left out" in said
    assert f"{path}:3: line: expected as many fields as the header has" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--tariff", "nowhere.csv"], "--tariff nowhere.csv: expected a price per kWh, or a file"),
        (["--tariff", "1e9"], "--tariff 1e9: /price_per_kwh: The price must lie within"),
        (["--tariff", "1", "--nodes", "many"], "--nodes many: expected COUNTxGPUS"),
        (["--tariff", "1", "--nodes", "2x4:k80"], "no job of the accounting fits"),
        (["--tariff", "1", "--nodes", "2x4:mi300"], "draws: say it with --gpu-watts mi300="),
        (["--tariff", "1", "--gpu-watts", "v100=9"], "expected TYPE=IDLE:MAX"),
        (["--tariff", "1", "--gpu-watts", "v100=90:80"], "expected IDLE below MAX"),
        (["--tariff", "1", "--host-watts", "9"], "expected IDLE:PEAK"),
        (["--tariff", "1", "--policy", "best"], "no policy is called 'best'"),
        (["--tariff", "1", "--policy", "fairwatt:slack=0"], "/slack"),
        (["--tariff", "1", "--timezone", "Mars"], "--timezone Mars: expected an IANA name"),
    ],
)
def test_wrong_options_are_one_sentence(
    sacct: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert said in refused(capsys, "--sacct", sacct, *arguments)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("t.json", "{", "Input data was truncated"),
        ("t.json", '{"kind": "hourly"}', "give their CSV"),
        ("t.json", '{"kind": "flat"}', "it names no price"),
        ("t.toml", "flat_price = 1\nflat = 2", "unknown field `flat`"),
        ("t.toml", "flat_price", "--tariff"),
        ("t.csv", "starts_at,price_per_kwh\nnoon,1\n", "t.csv:2: starts_at"),
    ],
)
def test_a_wrong_tariff_is_one_sentence(
    sacct: Path, capsys: pytest.CaptureFixture[str], name: str, content: str, said: str
) -> None:
    path = sacct.with_name(name)
    path.write_text(content)
    assert said in refused(capsys, "--sacct", sacct, "--tariff", path)


@pytest.mark.slow
def test_a_policy_takes_parameters(
    sacct: Path, tariff: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    patient, hasty = "fairwatt", "fairwatt:max_shift_s=0"
    given = ["--policy", patient, "--policy", hasty, "--round-s", 900]
    found = advised(capsys, "--sacct", sacct, "--tariff", tariff, *given)
    saved = {run["name"]: run["saved"]["expected"] for run in found["runs"]}
    assert saved[patient] > 1
    assert saved[hasty] == pytest.approx(0, abs=1e-9)


def test_hours_without_a_price_are_refused_inside_and_the_mean_outside(
    sacct: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hours = tmp_path / "hours.csv"
    hours.write_text("starts_at,price_per_kwh\n2024-03-04T06:00Z,0.2\n")
    given = ["--sacct", sacct, "--tariff", hours, "--policy", "fifo"]
    assert "it has no price for 1 of the 2 hours" in refused(capsys, *given)
    hours.write_text(hours.read_text() + "2024-03-04T07:00Z,0.4\n")
    found = advised(capsys, *given)
    assert found["runs"][0]["cost"]["expected"] == pytest.approx(0.25 * 0.6)
    assert any("mean of the period" in said for said in found["assumptions"])


def test_untyped_gpus_need_a_type(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "sacct.txt", line("1", BEGINS_S, BEGINS_S, 3600, "gres/gpu=2"))
    given = ["--sacct", path, "--tariff", "1", "--policy", "fifo"]
    assert "1 jobs name no GPU type: say which they had" in refused(capsys, *given)
    found = advised(capsys, *given, "--gpu-type", "h100", "--gpu-watts", "h100=70:700:0.1")
    cost = found["runs"][0]["cost"]
    assert [cost[end] for end in ("low", "expected", "high")] == pytest.approx([1.26, 1.4, 1.54])


def test_machines_given_smaller_than_the_history_are_told(
    sacct: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tres = "gres/gpu:v100=4,node=1"
    both = [line(name, BEGINS_S, BEGINS_S, 3600, tres) for name in "12"]
    path = written(
        tmp_path / "two.txt", *both, line("3", BEGINS_S, BEGINS_S, 60, "gres/gpu:v100=9")
    )
    given = ["--sacct", path, "--tariff", "1", "--policy", "fifo", "--nodes", "1x4"]
    found = advised(capsys, *given)
    said = " ".join(found["assumptions"])
    assert "The history held 17 v100 at once, of which 4 are given." in said
    assert "1 jobs that fit on no machine given are left out everywhere." in said
    assert found["runs"][1]["wait_h"] == pytest.approx(1, abs=0.1)


@pytest.mark.slow
def test_the_example_of_the_docs_prints_what_they_say(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (ROOT / "docs" / "advisor.md").read_text()
    block = re.search(r"```\n\$ python -m simulator (.*?[^\\])\n(.*?)\n```", text, re.DOTALL)
    assert block is not None
    monkeypatch.chdir(ROOT)
    assert main(shlex.split(block[1].replace("\\\n", " "))) == 0
    assert capsys.readouterr().out == block[2] + "\n"
