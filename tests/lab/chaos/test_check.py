"""The checker finds each broken promise, and nothing where all are kept."""

from typing import Any

import pytest

from lab.chaos.check import CampaignEvidence, violations
from lab.chaos.journals import JournalProcess
from lab.chaos.story import story

GPU, OTHER = "GPU-1", "GPU-2"


def ran(
    job: int, attempt: int, start_s: float, last_s: float, *, ended: bool = True, **more: Any
) -> JournalProcess:
    facts: dict[str, Any] = {"rank": 0, "world": 1, "node": "node-1", "gpus": (GPU,)} | more
    return JournalProcess(
        job=job, attempt=attempt, start_s=start_s, last_s=last_s, ended=ended, **facts
    )


def asked(job: int, at_s: float = 0.0) -> dict[str, Any]:
    return {"event": "answer", "at_s": at_s, "path": "jobs/", "key": f"k{job}", "status": 201,
            "job": job, "code": None}  # fmt: skip


def seen(job: int, at_s: float, state: str = "succeeded") -> dict[str, Any]:
    return {"event": "ended", "at_s": at_s, "job": job, "state": state}


def shown(job: int, state: str = "succeeded", key: str | None = None) -> dict[str, Any]:
    return {"id": job, "state": state, "reason": "why", "labels": {"key": key or f"k{job}"}}


def balance(**changes: int) -> dict[str, Any]:
    gpu = {"uuid": GPU, "counter_mj": 10, "billed_mj": 4, "open_mj": 0, "idle_mj": 5, "gap_mj": 1}
    return {"node": "node-1", "gpus": [gpu | changes]}


def found(
    *history: dict[str, Any],
    runs: tuple[JournalProcess, ...] = (),
    jobs: tuple[dict[str, Any], ...] = (),
    energy: tuple[dict[str, Any], ...] = (),
) -> list[str]:
    return [each.kind for each in violations(CampaignEvidence(history, runs, jobs, energy))]


def test_what_went_well_is_not_reported() -> None:
    """A first attempt was stopped, the second came to its end, and another job followed on it."""
    runs = (ran(1, 1, 0, 1, ended=False), ran(1, 2, 2, 3), ran(2, 3, 3.5, 4))
    history = (asked(1), asked(2), seen(1, 3.2), seen(2, 4.2))
    assert found(*history, runs=runs, jobs=(shown(1), shown(2)), energy=(balance(),)) == []


def test_an_acknowledged_job_that_is_gone_is_lost() -> None:
    assert found(asked(1)) == ["lost"]


def test_two_jobs_of_one_key_are_doubled() -> None:
    runs = (ran(1, 1, 0, 1), ran(2, 2, 2, 3))
    jobs = (shown(1), shown(2, key="k1"))
    assert found(asked(1), runs=runs, jobs=jobs) == ["doubled"]


def test_a_good_submit_that_is_refused_is_lost() -> None:
    assert found(asked(1) | {"status": 422, "job": None}) == ["lost"]


@pytest.mark.parametrize(
    ("state", "kind"),
    [("running", "stuck"), ("failed", "lost"), ("cancelled", "lost"), ("succeeded", "lost")],
)
def test_a_job_that_did_not_come_to_a_good_end(state: str, kind: str) -> None:
    """It succeeded without having run, was cancelled by nobody, or fails though it exits with 0."""
    assert found(asked(1), jobs=(shown(1, state),)) == [kind]


def test_who_asked_for_it_is_cancelled() -> None:
    ask = {"event": "ask", "at_s": 0.5, "path": "jobs/1/cancel/", "key": "c"}
    assert found(asked(1), ask, jobs=(shown(1, "cancelled"),)) == []


def test_an_end_that_was_shown_stays() -> None:
    assert found(asked(1), seen(1, 2, "cancelled"), runs=(ran(1, 1, 0, 1),), jobs=(shown(1),)) == [
        "lost"
    ]


def test_two_attempts_of_a_job_at_once() -> None:
    runs = (ran(1, 1, 0, 2, ended=False), ran(1, 2, 1, 3, gpus=(OTHER,)))
    assert found(runs=runs, jobs=(shown(1),)) == ["doubled"]


def test_two_whole_runs_of_a_job() -> None:
    assert found(runs=(ran(1, 1, 0, 1), ran(1, 2, 2, 3)), jobs=(shown(1),)) == ["doubled"]


def test_of_a_killed_shim_nobody_can_know_that_its_job_had_ended() -> None:
    fault = {"event": "fault", "at_s": 1.0, "kind": "kill shim", "attempts": [1]}
    assert found(fault, runs=(ran(1, 1, 0, 1), ran(1, 2, 2, 3)), jobs=(shown(1),)) == []


@pytest.mark.parametrize(("at_s", "kinds"), [(1.5, []), (0.5, []), (3.0, ["doubled"])])
def test_an_agent_stopped_past_its_lease_has_told_no_end(at_s: float, kinds: list[str]) -> None:
    """The first attempt came to its end at 1: just before the stop, within it, or long before."""
    stopped = {"event": "fault", "at_s": at_s, "kind": "stop agent past its lease",
               "target": "node-1", "lasts_s": 38.0, "attempts": []}  # fmt: skip
    runs = (ran(1, 1, 0, 1), ran(1, 2, 40, 41, node="node-2"))
    assert found(asked(1), stopped, seen(1, 41.5), runs=runs, jobs=(shown(1),)) == kinds


def test_who_was_asked_to_stop_at_its_last_line_may_run_again() -> None:
    runs = (ran(1, 1, 0, 1), ran(1, 2, 2, 3))
    for stopped, kinds in ((frozenset({1}), []), (frozenset({7}), ["doubled"])):
        told = violations(CampaignEvidence((), runs, (shown(1),), (), stopped))
        assert [each.kind for each in told] == kinds


def test_a_run_after_its_client_saw_the_end() -> None:
    runs = (ran(1, 1, 0, 1), ran(1, 2, 5, 6, ended=False))
    assert found(asked(1), seen(1, 2), runs=runs, jobs=(shown(1),)) == ["doubled"]


def test_a_gang_is_whole_when_every_rank_is() -> None:
    half = ran(1, 1, 0, 1, world=2), ran(1, 1, 0, 0.5, world=2, rank=1, ended=False)
    both = ran(1, 2, 2, 3, world=2), ran(1, 2, 2, 3, world=2, rank=1)
    assert found(runs=(*half, *both), jobs=(shown(1),)) == []
    assert found(runs=half, jobs=(shown(1),)) == ["lost"]


def test_a_gpu_in_two_hands() -> None:
    runs = (ran(1, 1, 0, 2), ran(2, 2, 1.9, 3, gpus=(OTHER, GPU)))
    assert found(runs=runs, jobs=(shown(1), shown(2))) == ["overlap"]


@pytest.mark.parametrize("wrong", [{"billed_mj": 5}, {"open_mj": 1, "idle_mj": 4},
                                   {"billed_mj": 12, "idle_mj": -3}])  # fmt: skip
def test_a_ledger_that_does_not_add_up(wrong: dict[str, int]) -> None:
    assert found(energy=(balance(**wrong),)) == ["ledger"]


def test_a_violation_is_told_with_what_happened_around_it() -> None:
    fault = {"event": "fault", "at_s": 1.5, "attempts": [], "kind": "kill api"}
    far = fault | {"at_s": 100.0, "kind": "kill beat"}
    evidence = CampaignEvidence(
        (asked(1), fault, far), (ran(1, 1, 0, 1), ran(1, 2, 2, 3)), (shown(1),), ()
    )
    (violation,) = violations(evidence)
    told = story(violation, evidence, "make chaos SEED=9")
    assert "both came to their end" in told.splitlines()[0]
    assert "kill api" in told
    assert "kill beat" not in told
    assert told.count("job: ends") == 2
    assert told.endswith("make chaos SEED=9")
