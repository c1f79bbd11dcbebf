"""Which node speaks: found in one round trip, for there are hundreds of them a second."""

from dataclasses import dataclass

from django.db import connection
from django.http import HttpRequest
from rest_framework.exceptions import AuthenticationFailed

from rest.problems import Forbidden
from tenancy.authentication import hash_in, scope_opens
from tenancy.roles import Role

# Agents act for no tenant and see all rows; what they may touch is their own node's.
_LOGIN = """
SELECT login.token_id, login.token_role, node.id, node.epoch, node.samples_shed,
       CASE WHEN login.token_role = 'node' THEN set_config('fairwatt.scope', 'all', false) END
FROM fairwatt_login(%s) login LEFT JOIN clusters_node node ON node.token_id = login.token_id
"""


@dataclass(frozen=True, slots=True)
class Sender:
    token_id: int
    node_id: int
    epoch: int
    samples_shed: int = 0


def sender_of(request: HttpRequest) -> Sender:
    """Opens the connection's scope, like every login."""
    secret_hash = hash_in(request)
    scope_opens(request)
    # Whether the connection still lives is not asked first: if not, the agent comes again.
    connection.health_check_done = True  # type: ignore[attr-defined]
    with connection.cursor() as cursor:
        cursor.execute(_LOGIN, [secret_hash])
        row = cursor.fetchone()
    if row is None:
        raise AuthenticationFailed
    token_id, role, node_id, epoch, shed, _ = row
    if role != Role.NODE:
        raise Forbidden("Only node tokens may call this.", code="missing_right")
    if node_id is None:
        raise Forbidden("No node has this token; register with a new join token.", code="no_node")
    return Sender(token_id, node_id, epoch, shed)
