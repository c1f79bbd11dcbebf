"""Moves among all else that happens: whatever the order, books balance and nobody is lost."""

import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest

from agent.wire import DesiredAttempt, End
from clusters.models import Cluster, Node
from jobs.lifecycle import TERMINAL
from jobs.models import Allocation, Attempt, Job, JobEvent
from jobs.services.cancel import job_cancel
from policies.bench.bits import lowest_bits
from policies.contract.invariants import check_plan
from policies.contract.plan import Move, Piece, Plan, Resize
from policies.contract.snapshot import JobState
from scheduler_service.factories import NOW, make_cluster, make_jobs, make_tenant
from scheduling.apply.apply import apply_plan
from scheduling.round import run_round
from scheduling.snapshot.load import load_snapshot
from tenancy.callers import SYSTEM
from tenancy.models import Tenant
from tests.engines.agents.nodes import Agent, join

pytestmark = [pytest.mark.slow, pytest.mark.django_db]

SPAN_JOBS = {"min_gpus": 2, "max_gpus": 4, "span": "node", "cpus_per_gpu": 1}


@dataclass
class Walk:
    cluster: Cluster
    agents: list[Agent]
    chance: random.Random
    now: datetime = NOW
    wanted: dict[int, DesiredAttempt] = field(default_factory=dict)
    moved: int = 0

    def step(self) -> None:
        """Something happens, time passes, and everything still adds up."""
        act = self.chance.choice(
            [self.round, self.relocate, self.relocate, self.talk, self.talk, self.cancel, self.fail]
        )
        act()
        self.now += timedelta(seconds=self.chance.choice([1, 5, 5, 40]))
        check_books()

    def round(self) -> None:
        entry = run_round(self.cluster.pk, now=self.now)
        assert entry is None or entry.status == "done", entry.error

    def relocate(self) -> None:
        """A move or resize that the snapshot allows, if there is one."""
        snapshot = load_snapshot(self.cluster, now=self.now, seed=0)
        running = [
            int(job)
            for job, state, free in zip(
                snapshot.jobs.id, snapshot.jobs.state, snapshot.jobs.preemptible, strict=True
            )
            if state == JobState.RUNNING and free
        ]
        if not running:
            return
        node = self.chance.randrange(len(snapshot.nodes))
        size = self.chance.choice([2, 3, 4])
        free = int(snapshot.nodes.free_gpus[node])
        piece = Piece(int(snapshot.nodes.id[node]), lowest_bits(free, size), size, 64)
        job = self.chance.choice(running)
        moves, resizes = Plan(moves=(Move(job, (piece,)),)), Plan(resizes=(Resize(job, (piece,)),))
        plan = self.chance.choice([moves, resizes])
        waits_aside = {v.code for v in check_plan(snapshot, plan)} - {"no_entry"}
        if piece.gpus.bit_count() == size and not waits_aside:
            latest = self.cluster.round_set.latest("pk").pk
            applied = apply_plan(plan, cluster_id=self.cluster.pk, round_id=latest, now=self.now)
            assert applied.stale == [], "the snapshot allowed it and nobody else was there"
            self.moved += 1

    def talk(self) -> None:
        """One agent syncs: it runs what is new and stops what it is asked to, mostly."""
        agent = self.chance.choice(self.agents)
        answer = agent.sync(now=self.now)
        for attempt in answer.attempts:
            self.wanted[attempt.attempt_id] = attempt
            agent.running(attempt)
        for cancel in answer.cancels:
            stopped = self.wanted.get(cancel.attempt_id)
            if stopped is not None and self.chance.random() < 0.7:
                agent.ended(stopped, exit_code=None, signal=15, end=End.STOPPED)
        agent.sync(now=self.now)

    def fail(self) -> None:
        """A process ends by itself."""
        agent = self.chance.choice(self.agents)
        if agent.reports and self.chance.random() < 0.3:
            attempt = self.wanted[self.chance.choice(list(agent.reports))]
            agent.ended(attempt, exit_code=self.chance.choice([0, 1]))
            agent.sync(now=self.now)

    def cancel(self) -> None:
        live = Job.objects.exclude(state__in=TERMINAL)
        if self.chance.random() < 0.2 and live.exists():
            job_cancel(caller=SYSTEM, job_id=self.chance.choice(list(live)).pk, now=self.now)

    def finish(self) -> None:
        """Everything that is asked to stop stops, and everything that runs is done."""
        for _ in range(200):
            if not Job.objects.exclude(state__in=TERMINAL).exists():
                return
            self.round()
            for agent in self.agents:
                answer = agent.sync(now=self.now)
                for attempt in answer.attempts:
                    agent.ended(attempt)
                for cancel in answer.cancels:
                    agent.ended(cancel, exit_code=None, signal=15, end=End.STOPPED)
                agent.sync(now=self.now)
            self.now += timedelta(seconds=5)


def check_books() -> None:
    held = Allocation.objects.filter(released_at=None)
    cpus, gpus = Counter[int](), Counter[int]()
    for row in held:
        cpus[row.node_id] += row.cpus
        gpus[row.tenant_id] += 1
    assert {n.pk: n.cpus_used for n in Node.objects.all()} == {
        n.pk: cpus[n.pk] for n in Node.objects.all()
    }
    assert {t.pk: t.gpus_in_use for t in Tenant.objects.all()} == {
        t.pk: gpus[t.pk] for t in Tenant.objects.all()
    }
    live = Counter(
        Attempt.objects.exclude(state__in=("ended", "lost")).values_list("job_id", flat=True)
    )
    for job in Job.objects.all():
        holding = job.state in ("placed", "running", "preempting")
        assert live[job.pk] == holding, f"job {job.pk} is {job.state} with {live[job.pk]} attempts"
    assert set(held.values_list("attempt__job_id", flat=True)) == set(live)


@pytest.mark.parametrize("seed", range(4))
def test_whatever_happens_books_balance(seed: int) -> None:
    cluster = make_cluster()
    agents = [join(cluster, name, gpus=8) for name in ("n1", "n2", "n3")]
    make_jobs(cluster, [make_tenant("a", gpu_quota=9), make_tenant("b")], 8, **SPAN_JOBS)
    walk = Walk(cluster, agents, random.Random(seed))
    walk.round()

    for _ in range(90):
        walk.step()
    assert walk.moved > 3, "the walk never moved anybody, so the test showed nothing"
    walk.finish()

    check_books()
    assert not Job.objects.exclude(state__in=TERMINAL).exists()
    assert not Allocation.objects.filter(released_at=None).exists()
    assert JobEvent.objects.filter(to_state="placed", reason__in=("moved", "resized")).exists()
