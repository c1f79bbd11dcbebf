"""The database's side of two live jobs under Synergy: a cluster of one node, and its rounds."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
from django.utils import timezone

from agent.files import read_json
from benchmarks.synergy_live import CPUS, JOBS, steps_per_s
from clusters.models import Cluster, Node
from clusters.services.clusters import cluster_create
from clusters.services.join_tokens import join_token_create
from jobs.models import Attempt, Job, Round
from jobs.scheduling.apply import apply_plan
from jobs.scheduling.load import load_snapshot
from policies.invariants import check_plan
from policies.registry import build
from policies.snapshot import ProfileTable, Snapshot
from tenancy.callers import SYSTEM
from tenancy.models import Tenant
from tenancy.services import tenant_create

CLUSTER = "synergy"


def seed() -> str:
    """The join token of the node."""
    tenant_create(SYSTEM, {"name": "acme", "display_name": "Acme"})
    values = {"name": CLUSTER, "policy": "synergy", "round_interval_s": 3600}
    cluster_create(caller=SYSTEM, values=values)
    token = join_token_create(
        caller=SYSTEM, cluster=CLUSTER, lifetime_s=3600, now=timezone.now(), rack=None
    )
    return token.secret


def ready() -> bool:
    return Node.objects.filter(state=Node.State.READY).exists()


def submit(jobs: Mapping[str, list[str]]) -> None:
    cluster, tenant = Cluster.objects.get(), Tenant.objects.get(name="acme")
    Job.objects.bulk_create(
        Job(
            cluster=cluster,
            tenant=tenant,
            name=name,
            argv=argv,
            min_gpus=1,
            max_gpus=1,
            submitted_at=timezone.now(),
        )
        for name, argv in jobs.items()
    )


def hold_round(packing: str) -> None:
    """As run_round, with the sensitivity of the two jobs in the snapshot."""
    now, cluster = timezone.now(), Cluster.objects.get()
    snapshot = _profiled(load_snapshot(cluster, now=now, seed=0))
    plan = build("synergy", {"packing": packing}).plan(snapshot).settled()
    if violations := check_plan(snapshot, plan):
        raise RuntimeError(str(violations))
    entry = Round.objects.create(
        cluster=cluster,
        policy="synergy",
        parameters={"packing": packing},
        seed=0,
        status=Round.Status.DONE,
        started_at=now,
        load_ms=0,
        plan_ms=0,
        check_ms=0,
        queued=0,
        running=0,
        snapshot=b"",
        snapshot_digest="",
        waiting=0,
    )
    applied = apply_plan(plan, cluster_id=cluster.pk, round_id=entry.pk, now=now)
    if applied.stale:
        raise RuntimeError(f"stale: {applied.stale}")


def _profiled(snapshot: Snapshot) -> Snapshot:
    """Speed over CPUs per GPU relative to the proportional share; memory makes no difference."""
    names = dict(Job.objects.values_list("pk", "name"))
    rows = [list(JOBS).index(names[job]) for job in snapshot.jobs.id.tolist()]
    kinds, cpus = len(snapshot.gpu_types), range(1, CPUS + 1)
    ones = np.ones((len(JOBS), kinds, 1, 1))
    speed = np.array(
        [[[steps_per_s(name, c) / steps_per_s(name, CPUS // 2)] for c in cpus] for name in JOBS]
    )
    profiles = ProfileTable.of(
        id=np.arange(len(JOBS)) + 1,
        gpu_counts=[1],
        clocks_mhz=np.ones((kinds, 1)),
        throughput=ones,
        watts_per_gpu=np.full_like(ones, np.nan),
        cpus_per_gpu=list(cpus),
        mem_mib_per_gpu=[1024.0],
        relative_speed=speed,
    )
    columns = {**dict(snapshot.jobs.columns()), "profile": np.array(rows, np.int32)}
    return replace(snapshot, jobs=type(snapshot.jobs).of(**columns), profiles=profiles)


def runs(directory: Path) -> dict[str, Path]:
    """The agent's directory of every running job."""
    names = dict(Attempt.objects.values_list("pk", "job__name"))
    found = {int(path.name.split("-")[0]): path for path in (directory / "node-1/runs").glob("*-*")}
    return {names[attempt]: path for attempt, path in found.items() if attempt in names}


def pids(directory: Path) -> dict[str, set[int]]:
    """The processes that every job's shim watches over."""
    return {
        name: {
            child.pid
            for child in psutil.Process(read_json(run / "claim")["pid"]).children(recursive=True)
        }
        for name, run in runs(directory).items()
    }


def attempts() -> int:
    return Attempt.objects.count()
