"""Workloads drawn from a fitted model, and traces cut and scaled."""

from typing import get_args

import numpy as np
import pytest

from simulator.generate import scale
from simulator.generate.draw import Arrivals, draw_trace
from simulator.generate.fit import fit, fit_mixture
from simulator.generate.model import load_model, model_names
from simulator.workload import Trace, Workload


@pytest.mark.parametrize("arrivals", get_args(Arrivals))
def test_a_drawn_workload_asks_for_its_load(arrivals: Arrivals) -> None:
    model = load_model("philly")
    trace = draw_trace(model, jobs=4000, gpus=512, load=0.8, arrivals=arrivals, seed=3)
    jobs = trace.jobs
    span_s = jobs.submitted_s[-1] - jobs.submitted_s[0]
    assert len(jobs) == 4000
    assert (jobs.gpus * jobs.work).sum() / span_s / 512 == pytest.approx(0.8, rel=0.05)
    assert (np.diff(jobs.submitted_s) >= 0).all()


def test_seeds_differ_and_repeat() -> None:
    model = load_model("philly")
    one, same, other = (
        draw_trace(model, jobs=50, gpus=64, load=0.8, arrivals="poisson", seed=seed).jobs
        for seed in (1, 1, 2)
    )
    assert one.submitted_s.tolist() == same.submitted_s.tolist()
    assert one.submitted_s.tolist() != other.submitted_s.tolist()


def test_bursty_arrivals_vary_more_than_poisson() -> None:
    def variation(arrivals: Arrivals) -> float:
        trace = draw_trace(
            load_model("philly"), jobs=4000, gpus=512, load=0.8, arrivals=arrivals, seed=1
        )
        gaps = np.diff(trace.jobs.submitted_s)
        return float(gaps.var() / gaps.mean() ** 2)

    assert variation("bursty") > 3 * variation("poisson")


def test_diurnal_arrivals_follow_the_hours() -> None:
    model = load_model("philly")
    trace = draw_trace(model, jobs=20_000, gpus=256, load=0.9, arrivals="diurnal", seed=1)
    hours = (trace.jobs.submitted_s % 86_400 // 3600).astype(int)
    counted = np.bincount(hours, minlength=24)
    assert np.corrcoef(counted, model.by_hour)[0, 1] > 0.8


def test_the_fitted_model_has_the_shape_of_philly() -> None:
    """Medians of the fitted mixture lie near the trace's, for one GPU and for eight and more."""
    model = load_model("philly")
    assert "philly" in model_names()
    assert model.rows == 82_247
    assert sum(model.gpu_shares) == pytest.approx(1, abs=1e-4)
    trace = draw_trace(model, jobs=40_000, gpus=4096, load=1, arrivals="poisson", seed=0)
    single = trace.jobs.work[trace.jobs.gpus == 1]
    assert np.median(single) == pytest.approx(1_150, rel=0.25)


def test_a_mixture_is_found_again() -> None:
    random = np.random.default_rng(1)
    values = np.concatenate([random.normal(0, 0.5, 4000), random.normal(6, 1.0, 2000)])
    weights, means, sigmas = fit_mixture(values, 2)
    assert weights == pytest.approx([2 / 3, 1 / 3], abs=0.03)
    assert means == pytest.approx([0, 6], abs=0.1)
    assert sigmas == pytest.approx([0.5, 1.0], abs=0.1)


def test_fitting_counts_gangs() -> None:
    jobs = Workload.sorted(
        submitted_s=np.arange(400) * 60.0,
        work=np.exp(np.random.default_rng(0).normal(5, 1, 400)),
        gpus=np.tile([1, 1, 2, 8], 100),
    )
    model = fit(jobs, "made up")
    assert model.gpus == (1, 2, 8)
    assert model.gpu_shares == (0.5, 0.25, 0.25)
    assert [durations.from_gpus for durations in model.durations] == [1, 2, 8]


def made_up(count: int = 200) -> Trace:
    random = np.random.default_rng(0)
    jobs = Workload.sorted(
        submitted_s=np.sort(random.uniform(0, 86_400, count)),
        work=random.uniform(100, 5000, count),
        gpus=random.choice([1, 2, 8], count),
        partition=random.choice([0, 1, 2], count, p=[0.1, 0.6, 0.3]),
    )
    return Trace(jobs, ("all",), ("small", "large", "middle"))


@pytest.mark.parametrize("load", [0.3, 0.9, 2.0])
def test_scaling_meets_the_load(load: float) -> None:
    trace = made_up()
    scaled = scale.at_load(trace, 16, 86_400.0, load, seed=4)
    assert scale.offered_gpu_s(scaled) / (16 * 86_400) == pytest.approx(load, rel=0.1)
    assert (np.diff(scaled.jobs.submitted_s) >= 0).all()
    assert scaled.jobs.submitted_s[0] >= trace.jobs.submitted_s[0] - 1


def test_copies_arrive_as_far_from_their_original_as_is_allowed() -> None:
    jobs = Workload.sorted(submitted_s=[0, 50_000, 100_000], work=[100] * 3, gpus=[1] * 3)
    trace = Trace(jobs, ("all",))
    for most_s in (1800.0, 20_000.0):
        drawn = scale.at_load(trace, 1, 30_000.0, 1.0, seed=2, most_shift_s=most_s).jobs
        from_s = np.abs(drawn.submitted_s[:, None] - jobs.submitted_s).min(axis=1)
        assert 0.9 * most_s < from_s.max() <= most_s + 1


def test_the_busiest_partitions_are_numbered_anew() -> None:
    kept = scale.busiest_partitions(made_up(), 2)
    assert kept.partitions == ("large", "middle")
    assert set(kept.jobs.partition.tolist()) == {0, 1}


def test_a_window_has_its_first_and_not_its_last_moment() -> None:
    jobs = Workload.sorted(submitted_s=[0, 10, 20, 30], work=[1] * 4, gpus=[1] * 4)
    cut = scale.window(Trace(jobs, ("all",)), 10, 30)
    assert cut.jobs.submitted_s.tolist() == [10, 20]
