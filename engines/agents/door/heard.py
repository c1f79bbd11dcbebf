"""Many syncs in one statement: who speaks, that they were heard, and what each node holds."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import AsyncConnection
from rest_framework.exceptions import AuthenticationFailed

from agent.wire import Sync
from engines.agents.leases import Leases, leases
from engines.agents.node_state import HELD, KnownNode, known_node
from engines.agents.sync import COUNT_EVERY_S
from rest.problems import Forbidden
from tenancy.async_pool import AsyncPool
from tenancy.rls import ALL
from tenancy.roles import Role

# Nodes that somebody else holds (a round that places on them) are passed over, so that nobody
# waits behind them; they are asked again at once. Locks are taken by ascending id, as everywhere.
# Only GPUs with a fault are named.
_HEAR = f"""
WITH said AS MATERIALIZED (
    SELECT said.*, token.id AS token_id, token.role, node.id AS node_id, node.epoch AS node_epoch,
           node.sync_sequence AS known_sequence,
           token.last_used_at IS NULL
           OR token.last_used_at < clock_timestamp() - interval '1 minute' AS long_unused
    FROM unnest(%(hashes)s::bytea[], %(epochs)s::int8[], %(sequences)s::int8[], %(boots)s::text[],
                %(powers)s::text[]) WITH ORDINALITY
         AS said (hash, epoch, sequence, boot_id, power, row)
    LEFT JOIN tenancy_apitoken token ON token.hash = said.hash AND token.revoked_at IS NULL
         AND (token.expires_at IS NULL OR token.expires_at > clock_timestamp())
    LEFT JOIN clusters_node node ON node.token_id = token.id AND token.role = 'node'
), used AS (
    UPDATE tenancy_apitoken SET last_used_at = clock_timestamp() WHERE id IN (
        SELECT id FROM tenancy_apitoken
        WHERE id IN (SELECT token_id FROM said WHERE long_unused) FOR UPDATE SKIP LOCKED)
), free AS MATERIALIZED (
    SELECT id FROM clusters_node WHERE id IN (SELECT node_id FROM said)
    ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
), node AS (
    UPDATE clusters_node node SET last_sync_at = %(now)s, sync_sequence = said.sequence,
        boot_id = said.boot_id, power_said = said.power,
        power_told = CASE WHEN node.state = 'off' THEN 'off' ELSE 'on' END
    FROM said JOIN free ON free.id = said.node_id
    WHERE node.id = said.node_id AND node.epoch = said.epoch
      AND node.sync_sequence < said.sequence
    RETURNING node.id, node.state, node.cluster_id
)
SELECT said.token_id, said.role, said.node_id, said.node_epoch, said.known_sequence,
       node.id, node.state, node.cluster_id,
       (SELECT json_object_agg(gpu.uuid, gpu.fault) FROM clusters_gpu gpu
        WHERE gpu.node_id = node.id AND gpu.fault <> ''),
       {HELD}
FROM said LEFT JOIN node ON node.id = said.node_id
ORDER BY said.row
"""  # noqa: S608 - put together from constants
_COUNT = "SELECT count(*) FROM clusters_node WHERE last_sync_at IS NOT NULL"


@dataclass(frozen=True, slots=True)
class Said:
    secret_hash: bytes
    sync: Sync
    at: datetime


@dataclass(frozen=True, slots=True)
class Heard:
    """`node` is there if the sync was noted; if not, it is late, or the node is `held_up`."""

    token_id: int
    node: KnownNode | None
    held_up: bool


class Hearing:
    """Reads and marks many nodes at once, and keeps count of how many there are."""

    def __init__(self, pool: AsyncPool) -> None:
        self._pool, self._counted_s, self._nodes = pool, float("-inf"), 0

    @property
    def granted(self) -> Leases:
        return leases(self._nodes)

    async def hear(self, said: Sequence[Said]) -> list[Heard | Exception]:
        async with self._pool.transaction(ALL, durable=False) as link:
            await self._count(link)
            cursor = await link.execute(_HEAR, _columns(said), prepare=True)
            rows = await cursor.fetchall()
        return [_heard(each, row) for each, row in zip(said, rows, strict=True)]

    async def _count(self, link: AsyncConnection[Any]) -> None:
        if time.monotonic() - self._counted_s > COUNT_EVERY_S:
            (self._nodes,) = await (await link.execute(_COUNT)).fetchone() or (0,)
            self._counted_s = time.monotonic()


def _columns(said: Sequence[Said]) -> dict[str, Any]:
    return {
        "hashes": [each.secret_hash for each in said],
        "epochs": [each.sync.epoch for each in said],
        # The record's sequence is the next one that it would take: 0 is nothing heard yet.
        "sequences": [each.sync.sequence + 1 for each in said],
        "boots": [each.sync.boot_id for each in said],
        "powers": [str(each.sync.power) for each in said],
        "now": max(each.at for each in said),
    }


def _heard(said: Said, row: Sequence[Any]) -> Heard | Exception:
    token_id, role, known_id, epoch, sequence, node_id, state, cluster_id, faults, held = row
    if refusal := refused(token_id, role, known_id):
        return refusal
    if node_id is not None:
        return Heard(token_id, known_node(node_id, state, cluster_id, faults, held), held_up=False)
    current = epoch == said.sync.epoch and sequence < said.sync.sequence + 1
    return Heard(token_id, None, held_up=current)


def refused(token_id: int | None, role: str | None, node_id: int | None) -> Exception | None:
    """What is wrong with who speaks."""
    if token_id is None:
        return AuthenticationFailed()
    if role != Role.NODE:
        return Forbidden("Only node tokens may call this.", code="missing_right")
    if node_id is None:
        detail = "No node has this token; register with a new join token."
        return Forbidden(detail, code="no_node")
    return None
