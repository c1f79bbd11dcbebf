"""The service with played agents and the simulator, from the same start, do the same."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest

from clusters.models import Cluster
from jobs.models import Allocation, Attempt, Job
from policies.contract.snapshot import Snapshot
from policies.registry import build
from scheduler_service.factories import NOW, make_cluster, make_jobs, make_tenant
from scheduling.round import run_round
from scheduling.snapshot.load import load_snapshot
from simulator.engine import Pace
from simulator.live import Guess, engine_from
from tests.engines.agents.nodes import Agent, join
from whatif.history import latency_of

pytestmark = [pytest.mark.slow, pytest.mark.django_db]
YEAR_S = 365 * 86400.0
Done = dict[int, tuple[tuple[tuple[int, int], ...], float, float]]
"""By job: (node, GPU mask) pairs, start and finish in seconds from NOW."""


@dataclass
class Stage:
    """Agents that run every attempt for exactly as long as its job's estimate says.

    An attempt runs `start_s` after its round, and its end is reported after `end_s`.
    """

    cluster: Cluster
    agents: list[Agent]
    attempts: dict[int, Any] = field(default_factory=dict)
    start_s: float = 0.0
    end_s: float = 0.0

    def play(self, now: datetime = NOW) -> datetime:
        """Until no job is left; returns when that is."""
        while Job.objects.exclude(state__in=("succeeded", "failed")).exists():
            while (entry := run_round(self.cluster.pk, now=now)) and entry.started:
                assert entry.status == "done", entry.error
                self._begin(now)
            now = self._end_next()
        return now

    def _begin(self, now: datetime) -> None:
        now += timedelta(seconds=self.start_s)
        for agent in self.agents:
            fresh = [a for a in agent.sync(now=now).attempts if a.attempt_id not in agent.reports]
            for wanted in fresh:
                agent.running(wanted)
                self.attempts[wanted.attempt_id] = wanted
            if fresh:
                agent.sync(now=now)

    def _end_next(self) -> datetime:
        """The moment at which the next attempts end, once they have."""
        running = Attempt.objects.filter(state=Attempt.State.RUNNING).select_related("job")
        way_back = timedelta(seconds=self.end_s)
        ends = {attempt: _ends_at(attempt) + way_back for attempt in running}
        now = min(ends.values())
        for agent in self.agents:
            here = {row["attempt_id"] for row in _open_on(agent)}
            over = [a.pk for a, ends_at in ends.items() if ends_at == now and a.pk in here]
            for attempt_id in over:
                agent.ended(self.attempts[attempt_id], ended_age_s=self.end_s)
            if over:
                agent.sync(now=now)
        return now


def _ends_at(attempt: Attempt) -> datetime:
    assert attempt.started_at is not None
    return attempt.started_at + timedelta(seconds=attempt.job.estimated_run_s or 0)


def _open_on(agent: Agent) -> Any:
    held = Allocation.objects.filter(node=agent.node, released_at=None)
    return held.values("attempt_id").distinct()


def lived() -> Done:
    """What became of every job on the service."""
    found: Done = {}
    for attempt in Attempt.objects.order_by("pk"):
        masks: dict[int, int] = {}
        for held in Allocation.objects.filter(attempt=attempt).select_related("gpu"):
            masks[held.node_id] = masks.get(held.node_id, 0) | 1 << held.gpu.index
        assert attempt.started_at is not None
        assert attempt.ended_at is not None
        times = ((at - NOW).total_seconds() for at in (attempt.started_at, attempt.ended_at))
        start_s, end_s = times
        found[attempt.job_id] = (tuple(sorted(masks.items())), start_s, end_s)
    return found


def simulated(
    snapshot: Snapshot, policy: str, guess: Guess | None = None, *, patience_s: float = 600.0
) -> Done:
    chosen = build(policy, {"patience_s": patience_s})
    live = engine_from(snapshot, chosen, Pace(check_plans=True), guess)
    outcome = live.engine.run()
    nodes, origin_s = snapshot.nodes.id, snapshot.now_s
    found: Done = {}
    for stretch, pieces in zip(outcome.log.stretches, outcome.log.pieces, strict=True):
        where = tuple(sorted((int(nodes[node]), mask) for node, mask, _, _ in pieces))
        job = int(live.job_ids[stretch[0]])
        found[job] = (where, stretch[1] - origin_s, stretch[2] - origin_s)
    return found


def workload(cluster: Cluster, count: int, now: datetime = NOW, names: str = "acme globex") -> None:
    """Gangs of all sizes and lengths, of two tenants, submitted over the minutes before."""
    random = np.random.default_rng(7)
    tenants = [make_tenant(name) for name in names.split()]
    for number in range(count):
        gpus = int(random.choice([1, 1, 1, 2, 2, 4, 6, 8]))
        make_jobs(
            cluster,
            tenants[number % 2],
            1,
            min_gpus=gpus,
            max_gpus=gpus,
            cpus_per_gpu=int(random.integers(1, 12)),
            priority=int(random.integers(0, 101)),
            estimated_run_s=int(random.integers(5, 2000)),
            submitted_at=now - timedelta(seconds=int(random.integers(1, 600))),
            deadline_at=now + timedelta(seconds=int(random.integers(60, 9000))),
        )


@pytest.mark.parametrize("policy", ["fifo", "fifo-backfill", "priority", "sjf"])
def test_placements_and_completion_times_agree(policy: str) -> None:
    # Where nodes are kept for somebody, what it leaves of them starts in the round after: the
    # service holds one at once, the simulator at the next event.
    cluster = make_cluster(policy=policy, policy_parameters={"patience_s": YEAR_S})
    stage = Stage(cluster, [join(cluster, f"n{number}", gpus=4) for number in range(3)])
    workload(cluster, 24)
    snapshot = load_snapshot(cluster, now=NOW, seed=0)
    stage.play()
    here, there = lived(), simulated(snapshot, policy, patience_s=YEAR_S)
    assert len(here) == 24
    assert {job: done[0] for job, done in here.items()} == {j: d[0] for j, d in there.items()}
    for job, (_, start_s, end_s) in here.items():
        assert there[job][1:] == pytest.approx((start_s, end_s), abs=1e-6)
    assert max(start_s for _, start_s, _ in here.values()) > 600


def test_from_the_middle_of_the_work_they_agree_as_well() -> None:
    cluster = make_cluster(policy="fifo-backfill")
    stage = Stage(cluster, [join(cluster, f"n{number}", gpus=4) for number in range(2)])
    workload(cluster, 12)
    run_round(cluster.pk, now=NOW)
    stage._begin(NOW)
    now = NOW + timedelta(seconds=1)
    snapshot = load_snapshot(cluster, now=now, seed=0)
    later = simulated(snapshot, "fifo-backfill")
    stage.play()
    for job, (where, _, end_s) in lived().items():
        assert later[job][0] == where
        assert later[job][2] + 1 == pytest.approx(end_s, abs=1e-6)


def test_the_way_to_a_node_and_back_is_learnt_and_foretold() -> None:
    cluster = make_cluster(policy="fifo")
    agents = [join(cluster, f"n{number}", gpus=4) for number in range(2)]
    stage = Stage(cluster, agents, start_s=1.5, end_s=0.5)
    assert latency_of(cluster.pk) == (0.0, 0.0)
    workload(cluster, 8)
    now = stage.play()
    start_s, end_s = latency_of(cluster.pk)
    assert (start_s, end_s) == (1.5, 0.5)
    workload(cluster, 16, now, "hooli initech")
    snapshot = load_snapshot(cluster, now=now, seed=0)
    foretold = simulated(snapshot, "fifo", Guess(start_s=start_s, end_s=end_s))
    stage.play(now)
    here = {job: done for job, done in lived().items() if job in foretold}
    assert len(here) == 16
    began_s = (now - NOW).total_seconds()
    for job, (where, started_s, ended_s) in here.items():
        there, offered_s, over_s = foretold[job]
        assert there == where
        assert began_s + offered_s + start_s == pytest.approx(started_s, abs=1e-6)
        assert began_s + over_s == pytest.approx(ended_s, abs=1e-6)
    # Without the way, the last of a long row of jobs would be foretold too early.
    hasty = simulated(snapshot, "fifo")
    assert max(d[2] for d in hasty.values()) < max(d[2] for d in foretold.values()) - 3
