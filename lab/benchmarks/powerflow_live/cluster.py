"""The live power budget: cluster, mix of jobs, rounds, and what was measured."""

import random
import sys
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from django.db.models import Sum
from django.utils import timezone

from agent.devices.model import GpuModel
from clusters.models import Cluster
from energy.budgets.power import budgets_throughout
from energy.budgets.proof import proof
from energy.budgets.watch import power_watch
from energy.clocks import clocks_verify
from energy.measured import measure
from energy.models import PowerBreach, PowerBudget
from energy.telemetry.digest import samples_digest
from energy.telemetry.roll_up import roll_up
from engines.agents.loss import watch_nodes
from jobs.lifecycle import TERMINAL
from jobs.models import Job, Profile
from jobs.services.cancel import job_cancel
from jobs.services.profiles import profile_create
from jobs.specs import PointSpec, ProfileSpec
from lab.benchmarks.powerflow_live.elastic_job import SCALING
from lab.benchmarks.powerflow_live.nodes import KINDS
from scheduling.models import Round
from scheduling.round import run_round
from tenancy.callers import SYSTEM
from tenancy.models import Tenant

JOB = Path(__file__).with_name("elastic_job.py")
SEED = 8
# Steps per second on one GPU at its highest clock; the clock matters less than the GPUs.
STEPS_PER_S, CLOCK_EXPONENT = 10.0, 0.7
COUNTS = (1, 2, 4, 8)
# About what 32 GPUs can do, after a first crowd: jobs grow and shrink, and the budget binds.
CROWD, ARRIVALS_S = 16, 8.0
SHORTEST_S, LONGEST_S = 120.0, 600.0


class Arrival(NamedTuple):
    at_s: float
    steps: int


class PowerBin(NamedTuple):
    """Mean watts of some seconds, and the budget that was in force all through them."""

    at: datetime
    watts: float
    budget_w: float

    @property
    def over_pct(self) -> float:
        return 100 * (self.watts / self.budget_w - 1)


def prepare(*, watts: int) -> None:
    Cluster.objects.update(
        policy="powerflow",
        policy_parameters={},
        power_budget_w=watts,
        updated_at=timezone.now() - timedelta(minutes=2),
    )


def profile() -> None:
    """What the jobs are known to do; their GPU types are known once nodes have joined."""
    for tenant in Tenant.objects.all():
        spec = ProfileSpec(name="elastic", tenant=tenant.name, points=points())
        profile_create(caller=SYSTEM, spec=spec, now=now())


def points() -> list[PointSpec]:
    """What the emulated GPUs draw, at every count and clock."""
    found = []
    for kind in KINDS.values():
        model = GpuModel(kind["idle_w"], kind["max_w"], tuple(kind["clocks_mhz"]))
        for clock_mhz in model.clocks_mhz:
            slower = (clock_mhz / model.clocks_mhz[-1]) ** CLOCK_EXPONENT
            found += [
                PointSpec(
                    gpu_type=kind["name"],
                    gpus=gpus,
                    clock_mhz=clock_mhz,
                    steps_per_s=STEPS_PER_S * gpus**SCALING * slower,
                    watts_per_gpu=model.power_mw(clock_mhz, 1.0) / 1000,
                )
                for gpus in COUNTS
            ]
    return found


def mix(seconds: int) -> list[Arrival]:
    """A crowd at first, then jobs that come by chance."""
    draw = random.Random(SEED)
    at_s, found = 0.0, []
    while at_s < seconds:
        run_s = SHORTEST_S * (LONGEST_S / SHORTEST_S) ** draw.random()
        found.append(Arrival(at_s, int(run_s * STEPS_PER_S)))
        at_s += draw.expovariate(1 / ARRIVALS_S) if len(found) > CROWD else 0.0
    return found


def submit(arrival: Arrival) -> None:
    count = Job.objects.count()
    owner = Tenant.objects.order_by("pk")[count % 2]
    Job.objects.create(
        cluster=Cluster.objects.get(),
        tenant=owner,
        profile=Profile.objects.get(tenant=owner),
        name=f"elastic-{count}",
        argv=[sys.executable, "-S", str(JOB), str(arrival.steps), str(STEPS_PER_S)],
        min_gpus=1,
        max_gpus=8,
        span=Job.Span.NODE,
        work_total=arrival.steps,
        estimated_run_s=int(arrival.steps / STEPS_PER_S),
        restart_cost_s=5,
        submitted_at=now(),
    )


def now() -> datetime:
    return timezone.now()


def cluster_id() -> int:
    return int(Cluster.objects.get().pk)


def step() -> None:
    """What beat and nudges would do in a second."""
    samples_digest()
    watch_nodes(now=now())
    power_watch(now=now())
    run_round(cluster_id(), now=now())


def stop_jobs() -> None:
    for job in Job.objects.exclude(state__in=TERMINAL):
        job_cancel(caller=SYSTEM, job_id=job.pk, now=now())


def bins(begun_at: datetime, *, seconds: int, bin_s: int) -> list[PowerBin]:
    """Measured power against the budget that was in force all through each bin."""
    cluster, found = Cluster.objects.get(), []
    for start_s in range(0, seconds - bin_s + 1, bin_s):
        from_at = begun_at + timedelta(seconds=start_s)
        until_at = from_at + timedelta(seconds=bin_s)
        budgets = budgets_throughout(cluster, from_at=from_at, until_at=until_at)
        watts = measure(cluster.pk, from_at=from_at, until_at=until_at)[None].watts
        found.append(PowerBin(from_at, watts, budgets.cluster_w))
    return found


def counted() -> dict[str, int]:
    failed = Round.objects.filter(status="failed")
    if failed.exists():
        sys.stderr.write(f"# {failed.count()} rounds failed: {failed.latest('pk').error}\n")
    sums = Round.objects.aggregate(
        **{name: Sum(name) for name in ("started", "preempted", "moved", "resized", "switched")}
    )
    return {
        "rounds": Round.objects.count(),
        "rounds_failed": failed.count(),
        **{name: total or 0 for name, total in sums.items()},
        "jobs_succeeded": Job.objects.filter(state="succeeded").count(),
        "jobs_failed": Job.objects.filter(state="failed").count(),
        "breaches": PowerBreach.objects.count(),
        "clocks_ignored": clocks_verify(now=timezone.now()),
    }


def proven() -> dict[str, Any]:
    row = PowerBudget.objects.get()
    roll_up(row.starts_at - timedelta(minutes=1), timezone.now())
    return asdict(proof(row, now=timezone.now()))
