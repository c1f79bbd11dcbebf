"""Asking for a forecast of a cluster's queue."""

from datetime import datetime, timedelta

from django.db import connection, transaction

from clusters.models import Cluster
from whatif import dispatch
from whatif.models import Forecast, WorkState

# Who asks again so soon gets the same forecast: nothing has changed, and workers are few.
FRESH = timedelta(seconds=5)

_ASK = """
INSERT INTO whatif_forecast
    (cluster_id, state, policy, parameters, snapshot_digest, error, created_at)
SELECT id, 'queued', policy, policy_parameters, '', '', %(now)s FROM clusters_cluster
WHERE id = %(cluster)s
ON CONFLICT (cluster_id) WHERE state IN ('queued', 'running') DO NOTHING
RETURNING id
"""


@transaction.atomic(savepoint=False)
def forecast_request(cluster: Cluster, *, now: datetime, fresh: timedelta = FRESH) -> int:
    """The id of a forecast that is fresh, under way, or asked for hereby."""
    newest = (
        Forecast.objects.filter(cluster=cluster.pk, made_at__gte=now - fresh)
        .filter(state=WorkState.SUCCEEDED)
        .order_by("-pk")
        .values_list("pk", flat=True)
        .first()
    )
    return newest or _under_way(cluster.pk, now)


def _under_way(cluster_id: int, now: datetime) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_ASK, {"cluster": cluster_id, "now": now})
        made = cursor.fetchone()
    if made:
        dispatch.send(dispatch.FORECAST, [made[0]])
        return int(made[0])
    # The index refused a second one; if the first has ended meanwhile, it is the newest.
    newest = Forecast.objects.filter(cluster=cluster_id).order_by("-pk")
    return newest.values_list("pk", flat=True)[0]
