"""Switches nodes off and on, as a plan asks: off only with leave and empty, on what is off.

A node that is off is `off` in the record; whoever carries it out learns it from there: an emulated
node from its next sync, a real one from the site's own tool (clusters/services/site_power.py).
"""

from collections.abc import Sequence
from datetime import datetime

from django.db import connection, transaction
from django.db.models import QuerySet

from clusters.models import Node
from clusters.node_states import State, advance
from clusters.services.site_power import SWITCHED_OFF, SWITCHED_ON
from policies.contract.plan import PowerNode

_LOCK = "SELECT id FROM clusters_node WHERE id = ANY(%s) AND cluster_id = %s ORDER BY id FOR UPDATE"
_AWAITED = """
SELECT (piece->>'node')::int8
FROM jobs_attempt attempt, jsonb_array_elements(attempt.relocation->'pieces') piece
WHERE attempt.cluster_id = %s AND attempt.state NOT IN ('ended', 'lost')
  AND attempt.relocation_until_at > %s
"""


@transaction.atomic
def nodes_switch(entries: Sequence[PowerNode], *, cluster_id: int, now: datetime) -> list[int]:
    """The ids of those that were switched; the others are no longer as the plan saw them."""
    if not entries:
        return []
    with connection.cursor() as cursor:
        # A round locks a node before it places anything there, so what is empty stays so.
        cursor.execute(_LOCK, [[entry.node for entry in entries], cluster_id])
        here = {row[0] for row in cursor.fetchall()}
        cursor.execute(_AWAITED, [cluster_id, now])
        awaited = {row[0] for row in cursor.fetchall()}
    off = {entry.node for entry in entries if not entry.on} & here - awaited
    on = {entry.node for entry in entries if entry.on} & here
    ready = Node.objects.filter(pk__in=off, cluster__power_off=True, state=State.READY)
    idle = ready.filter(gpus_in_use=0)
    going = list(idle.values_list("pk", flat=True))
    coming = list(Node.objects.filter(pk__in=on, state=State.OFF).values_list("pk", flat=True))
    advance(_rows(going), sources=[State.READY], to=State.OFF, reason=SWITCHED_OFF, now=now)
    advance(_rows(coming), sources=[State.OFF], to=State.JOINING, reason=SWITCHED_ON, now=now)
    return sorted(going + coming)


def _rows(ids: list[int]) -> QuerySet[Node]:
    return Node.objects.filter(pk__in=ids)
