"""One of several processes that schedule the same cluster at once, without its lock.

Run as a module with the cluster's id and a policy. The first snapshot is loaded before anybody
applies anything, so that all begin from the same stale view.
"""

import sys

import django

django.setup()

from django.utils import timezone  # noqa: E402

from clusters.models import Cluster  # noqa: E402
from jobs.models import Job  # noqa: E402
from scheduling import record  # noqa: E402
from scheduling.apply.apply import apply_plan  # noqa: E402
from scheduling.round import load_and_plan  # noqa: E402


def main(cluster_id: int, policy: str, placement: str) -> None:
    cluster = Cluster.objects.get(pk=cluster_id)
    cluster.policy, cluster.policy_parameters = policy, {"placement": placement}
    planned = load_and_plan(cluster, now=timezone.now())
    sys.stdout.write("loaded\n")
    sys.stdout.flush()
    sys.stdin.readline()
    stale = 0
    while True:
        assert planned.plan is not None, planned.error
        entry = record.planned(cluster, planned, now=timezone.now())
        applied = apply_plan(
            planned.plan, cluster_id=cluster_id, round_id=entry.pk, now=timezone.now()
        )
        stale += len(applied.stale)
        if not Job.objects.filter(cluster=cluster_id, state="queued").exists():
            break
        planned = load_and_plan(cluster, now=timezone.now())
    sys.stdout.write(f"{stale}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3])
