"""What is left of nodes and quotas, read under lock while a chunk of placements is applied."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.db import connection

from policies.contract.plan import Piece

_LOCK_NODES = """
SELECT id, gpu_type_id, cpus - cpus_used, memory_mib - memory_used_mib FROM clusters_node
WHERE id = ANY(%s) AND cluster_id = %s AND state = 'ready' ORDER BY id FOR NO KEY UPDATE
"""
# After the lock: whoever came before has committed. Null: nobody is there.
_HOLDERS = """
SELECT node.id, (SELECT min(held.tenant_id) FROM jobs_allocation held
                 WHERE held.node_id = node.id AND held.released_at IS NULL)
FROM clusters_node node JOIN clusters_cluster cluster ON cluster.id = node.cluster_id
WHERE node.id = ANY(%s) AND (node.wall = 'none' OR cluster.exclusive)
"""
_LOCK_TENANTS = """
SELECT id, gpu_quota - gpus_in_use FROM tenancy_tenant
WHERE id = ANY(%s) AND NOT suspended ORDER BY id FOR NO KEY UPDATE
"""
_LOCK_QUOTAS = """
SELECT tenant_id, gpu_type_id, gpus - gpus_in_use FROM jobs_gpuquota
WHERE tenant_id = ANY(%s) ORDER BY id FOR NO KEY UPDATE
"""
_SAVE_NODES = """
UPDATE clusters_node node SET gpus_in_use = gpus_in_use + taken.gpus,
       cpus_used = cpus_used + taken.cpus, memory_used_mib = memory_used_mib + taken.memory_mib
FROM unnest(%s::int8[], %s::int8[], %s::int8[], %s::int8[]) AS taken (id, gpus, cpus, memory_mib)
WHERE node.id = taken.id
"""
_SAVE_TENANTS = """
UPDATE tenancy_tenant tenant SET gpus_in_use = gpus_in_use + taken.gpus
FROM unnest(%s::int8[], %s::int8[]) AS taken (id, gpus) WHERE tenant.id = taken.id
"""
_SAVE_QUOTAS = """
UPDATE jobs_gpuquota quota SET gpus_in_use = gpus_in_use + taken.gpus
FROM unnest(%s::int8[], %s::int8[], %s::int8[]) AS taken (tenant_id, gpu_type_id, gpus)
WHERE quota.tenant_id = taken.tenant_id AND quota.gpu_type_id = taken.gpu_type_id
"""


@dataclass
class FreeCapacity:
    """`take` and `give_back` keep the books in memory; `save` writes the differences once."""

    gpu_type: dict[int, int]
    cpus: dict[int, int]
    memory_mib: dict[int, int]
    # None is a tenant without a quota; a tenant that is not here may not start anything.
    tenants: dict[int, int | None]
    quotas: dict[tuple[int, int], int]
    # Of nodes that are one tenant's at a time: whose, or None.
    holders: dict[int, int | None] = field(default_factory=dict)
    taken: Counter[tuple[str, int, int]] = field(default_factory=Counter)

    def take(self, tenant: int, pieces: Sequence[Piece]) -> bool:
        if not self._fits(tenant, pieces):
            return False
        self._book(tenant, pieces, 1)
        self.holders |= {piece.node: tenant for piece in pieces if piece.node in self.holders}
        return True

    def give_back(self, tenant: int, pieces: Sequence[Piece]) -> None:
        self._book(tenant, pieces, -1)

    def save(self) -> None:
        nodes = sorted(node for kind, node, _ in self.taken if kind == "cpus")
        tenants = sorted(tenant for kind, tenant, _ in self.taken if kind == "gpus")
        quotas = sorted(self.quotas)
        with connection.cursor() as cursor:
            cursor.execute(
                _SAVE_NODES,
                [
                    nodes,
                    [self.taken["node", node, 0] for node in nodes],
                    [self.taken["cpus", node, 0] for node in nodes],
                    [self.taken["memory", node, 0] for node in nodes],
                ],
            )
            cursor.execute(
                _SAVE_TENANTS, [tenants, [self.taken["gpus", tenant, 0] for tenant in tenants]]
            )
            cursor.execute(
                _SAVE_QUOTAS,
                [
                    [tenant for tenant, _ in quotas],
                    [kind for _, kind in quotas],
                    [self.taken["quota", tenant, kind] for tenant, kind in quotas],
                ],
            )

    def _fits(self, tenant: int, pieces: Sequence[Piece]) -> bool:
        if tenant not in self.tenants or any(piece.node not in self.cpus for piece in pieces):
            return False
        if any(self.holders.get(piece.node) not in (None, tenant) for piece in pieces):
            return False
        by_type = self._by_type(pieces)
        left = self.tenants[tenant]
        return (
            (left is None or by_type.total() <= left)
            and all(n <= self.quotas.get((tenant, kind), n) for kind, n in by_type.items())
            and all(piece.cpus <= self.cpus[piece.node] for piece in pieces)
            and all(piece.mem_mib <= self.memory_mib[piece.node] for piece in pieces)
        )

    def _book(self, tenant: int, pieces: Sequence[Piece], sign: int) -> None:
        for piece in pieces:
            self.cpus[piece.node] -= sign * piece.cpus
            self.memory_mib[piece.node] -= sign * piece.mem_mib
            self.taken["node", piece.node, 0] += sign * piece.gpus.bit_count()
            self.taken["cpus", piece.node, 0] += sign * piece.cpus
            self.taken["memory", piece.node, 0] += sign * piece.mem_mib
        by_type = self._by_type(pieces)
        left = self.tenants[tenant]
        if left is not None:
            self.tenants[tenant] = left - sign * by_type.total()
        self.taken["gpus", tenant, 0] += sign * by_type.total()
        for kind, gpus in by_type.items():
            if (tenant, kind) in self.quotas:
                self.quotas[tenant, kind] -= sign * gpus
                self.taken["quota", tenant, kind] += sign * gpus

    def _by_type(self, pieces: Iterable[Piece]) -> Counter[int]:
        count: Counter[int] = Counter()
        for piece in pieces:
            count[self.gpu_type[piece.node]] += piece.gpus.bit_count()
        return count


def lock_room(*, nodes: set[int], tenants: set[int], cluster_id: int) -> FreeCapacity:
    with connection.cursor() as cursor:
        cursor.execute(_LOCK_NODES, [sorted(nodes), cluster_id])
        node_rows = cursor.fetchall()
        cursor.execute(_HOLDERS, [sorted(nodes)])
        holders = dict(cursor.fetchall())
        cursor.execute(_LOCK_TENANTS, [sorted(tenants)])
        tenant_rows = cursor.fetchall()
        cursor.execute(_LOCK_QUOTAS, [sorted(tenants)])
        quota_rows = cursor.fetchall()
    return FreeCapacity(
        gpu_type={node: kind for node, kind, _, _ in node_rows},
        cpus={node: cpus for node, _, cpus, _ in node_rows},
        memory_mib={node: memory for node, _, _, memory in node_rows},
        tenants=dict(tenant_rows),
        quotas={(tenant, kind): left for tenant, kind, left in quota_rows},
        holders=holders,
    )
