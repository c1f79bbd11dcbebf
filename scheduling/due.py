"""When a cluster's next periodic round is due, and who may run it."""

from datetime import datetime

from django.db import connection

from clusters.models import Cluster

_CLAIM = """
UPDATE clusters_cluster SET next_round_at = %(now)s + round_interval_s * interval '1 second'
WHERE id = %(cluster)s AND next_round_at <= %(now)s
"""


def due_clusters(now: datetime) -> list[int]:
    return list(
        Cluster.objects.filter(next_round_at__lte=now).order_by("pk").values_list("pk", flat=True)
    )


def round_claim(cluster_id: int, *, now: datetime) -> bool:
    """Take the due round; of two that try, one gets it."""
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM, {"cluster": cluster_id, "now": now})
        return bool(cursor.rowcount)
