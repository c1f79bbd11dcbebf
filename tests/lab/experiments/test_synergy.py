"""The Synergy experiment: its jobs, its servers, and what its figures are made of."""

import json
import math
from typing import Any

import numpy as np
import pytest

from lab.experiments.synergy.experiment import bars_of, gain_of
from lab.experiments.synergy.grid import SEEDS, grid
from lab.experiments.synergy.settings import (
    MIB_PER_GB,
    MODELS,
    SERVER_MEM_MIB,
    SIZES,
    SynergyCase,
    profiles_of,
    setting_of,
    workload,
)
from policies.bench.shares.needs import ProfileSpeeds, Share
from simulator.scenario.files import data_directory

pytestmark = pytest.mark.slow

MATRICES = data_directory() / "synergy" / "synergy_sensitivity.json"
needs_data = pytest.mark.skipif(not MATRICES.exists(), reason=f"no data at {MATRICES}")
needs_philly = pytest.mark.skipif(
    not (data_directory() / "philly" / "philly.csv.gz").exists(), reason="no Philly trace"
)
PER_GPU = Share(3, SERVER_MEM_MIB // 8)
WHOLE = Share(24, SERVER_MEM_MIB)


def test_every_cell_has_a_name_of_its_own_and_primary_ones_all_seeds() -> None:
    cases = grid()
    assert len({case.name() for case in cases}) == len(cases)
    assert {SynergyCase("las", "tune", seed=seed) for seed in SEEDS} <= set(cases)
    for case in cases:
        if case.packing == "tune":
            fair = {"packing": "proportional", "migration": True, "by_money": False}
            assert SynergyCase(**{**_facts(case), **fair}) in cases
        if case.by_money:
            assert SynergyCase(**{**_facts(case), "by_money": False}) in cases


def _facts(case: SynergyCase) -> dict[str, Any]:
    return {name: getattr(case, name) for name in SynergyCase.__dataclass_fields__}


def test_jobs_are_drawn_once_for_all_that_are_compared() -> None:
    ours, theirs = (
        workload(SynergyCase("fifo", "tune")),
        workload(SynergyCase("srtf", "proportional")),
    )
    assert np.array_equal(ours.work, theirs.work)
    assert np.array_equal(ours.submitted_s, theirs.submitted_s)
    slower = workload(SynergyCase("fifo", "tune", load=4.5))
    assert np.allclose(slower.submitted_s, 2 * ours.submitted_s)
    assert not np.array_equal(workload(SynergyCase("fifo", "tune", seed=1)).work, ours.work)


def test_durations_and_classes_are_those_of_the_spec() -> None:
    jobs = workload(SynergyCase("fifo", "tune"))
    minutes = jobs.work / 60
    assert minutes.min() >= 10**1.5
    assert minutes.max() <= 10**4
    assert (minutes > 1000).mean() == pytest.approx(0.2, abs=0.02)
    # The mean of 10^U(a, b) is (10^b - 10^a) / ((b - a) ln 10).
    mean = 0.8 * (1000 - 10**1.5) / (1.5 * math.log(10)) + 0.2 * 9000 / math.log(10)
    assert minutes.mean() == pytest.approx(mean, rel=0.06)
    image = (jobs.profile // len(SIZES) < 5).mean()
    assert image == pytest.approx(0.2, abs=0.02)


@needs_philly
def test_gangs_are_powers_of_two_up_to_sixteen() -> None:
    gpus = workload(SynergyCase("fifo", "tune", "multi", 6.0)).gpus
    assert set(np.unique(gpus).tolist()) <= set(SIZES)
    assert (gpus == 1).mean() > 0.5


@needs_data
def test_demands_are_those_that_the_authors_give() -> None:
    measured = json.loads(MATRICES.read_text())["sets"]["models"]
    profiles = profiles_of(3)
    for row, model in enumerate(MODELS):
        needs = ProfileSpeeds(profiles, row * len(SIZES)).needs(PER_GPU, WHOLE, Share(0, 0))
        theirs = measured[f"{model}_1gpu"]
        assert needs.demand.cpus == theirs["cpus"]
        assert needs.demand.mem_mib / MIB_PER_GB == pytest.approx(theirs["mem"], abs=0.01)
        assert needs.speed(needs.demand) == pytest.approx(theirs["speedup"])
        assert needs.speed(needs.proportional) == 1.0


@needs_data
@pytest.mark.parametrize("ratio", [3, 4, 5, 6])
def test_speed_is_one_at_the_proportional_share_of_every_server(ratio: int) -> None:
    profiles = profiles_of(ratio)
    for row in range(len(profiles.id)):
        assert ProfileSpeeds(profiles, row).at(Share(ratio, PER_GPU.mem_mib)) == 1.0


@needs_data
def test_a_pool_has_what_its_servers_have() -> None:
    apart = setting_of(SynergyCase("fifo", "opt")).machines.nodes
    pooled = setting_of(SynergyCase("fifo", "opt", pooled=True)).machines.nodes
    assert len(pooled) == 2
    for column in ("gpus", "cpus", "mem_mib"):
        assert getattr(apart, column).sum() == getattr(pooled, column).sum()


def test_gains_are_paired_by_seed_and_bars_take_the_best_cell() -> None:
    cells = [SynergyCase("fifo", p) for p in ("proportional", "tune")]
    cells += [SynergyCase("fifo", "opt", pooled=True)]
    hours = {"proportional": (80.0, 90.0), "tune": (20.0, 30.0), "opt": (19.0, 30.0)}
    records = {}
    for cell in cells:
        for seed, mean in enumerate(hours[cell.packing]):
            name = SynergyCase(**{**_facts(cell), "seed": seed}).name()
            records[name] = {"jct_mean_s": mean * 3600, "of_bound": 0.98}
    assert gain_of(records, cells[1]) == (3.5, 3.0, 4.0)
    money = SynergyCase("fifo", "tune", by_money=True)
    for seed, mean in enumerate((19.0, 30.3)):
        records[SynergyCase(**{**_facts(money), "seed": seed}).name()] = {"jct_mean_s": mean * 3600}
    gain, near, speed, cheap = bars_of(records, [*cells, money])
    assert (gain.value.mean, gain.holds) == (3.5, True)
    assert (near.value.mean, near.holds) == (0.95, True)
    assert (speed.value.mean, speed.holds) == (0.98, True)
    assert (cheap.value.low, cheap.value.high) == pytest.approx((0.95, 1.01))
    assert cheap.holds
