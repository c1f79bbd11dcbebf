"""The database's side of two live jobs under Synergy: a cluster of one node, and its rounds."""

from pathlib import Path

import psutil
from django.utils import timezone

from agent.remember.files import read_json
from clusters.models import Cluster, Node
from clusters.services.clusters import cluster_create
from clusters.services.join_tokens import join_token_create
from jobs.models import Attempt
from lab.benchmarks.synergy_live import CLUSTER
from scheduling.round import run_round
from tenancy.callers import SYSTEM
from tenancy.roles import Role
from tenancy.services import tenant_create
from tenancy.tokens import token_create


def seed() -> tuple[str, str]:
    """The join token of the node, and the token of a tenant's member."""
    tenant = tenant_create(SYSTEM, {"name": "acme", "display_name": "Acme"})
    values = {"name": CLUSTER, "policy": "synergy", "round_interval_s": 3600}
    cluster_create(caller=SYSTEM, values=values)
    join_token = join_token_create(
        caller=SYSTEM, cluster=CLUSTER, lifetime_s=3600, now=timezone.now(), rack=None
    )
    member = token_create(SYSTEM, name="member", role=Role.MEMBER, tenant_id=tenant.pk)
    return join_token.secret, member.secret


def ready() -> bool:
    return Node.objects.filter(state=Node.State.READY).exists()


def hold_round(packing: str) -> None:
    Cluster.objects.update(policy_parameters={"packing": packing})
    entry = run_round(Cluster.objects.get().pk, now=timezone.now())
    if entry is None or entry.error:
        raise RuntimeError("no round" if entry is None else entry.error)


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
