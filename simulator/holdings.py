"""Who holds which GPUs, CPUs and memory, kept as lists for the world and columns for snapshots."""

from collections.abc import Sequence

import numpy as np

from policies.bench.ledger import RowPiece
from policies.contract.columns import F64, I32, I64, U8, U64
from policies.contract.snapshot import NodeState, NodeTable, Placements, TenantTable
from simulator.job_columns import JobColumns, fixed
from simulator.machines import Machines
from simulator.pieces import Pieces

RowPieces = tuple[RowPiece, ...]
# Enum members are slow to look up, and this is asked for every piece.
_READY = int(NodeState.READY)


class BrokenPlanError(Exception):
    """A plan that gives away what is not free."""


class Holdings:
    def __init__(self, machines: Machines, jobs: JobColumns, tenants: TenantTable) -> None:
        nodes = machines.nodes
        self.jobs = jobs
        self.of_job: dict[int, RowPieces] = {}
        self.on_node: list[set[int]] = [set() for _ in range(len(nodes))]
        self.node_state: U8 = nodes.state.copy()
        self.idle_since_s: F64 = nodes.idle_since_s.copy()
        self.free: list[int] = nodes.free_gpus.tolist()
        self._pieces = Pieces(len(jobs.id))
        self._seen_state: U8 = fixed(nodes.state.copy())
        self._free_gpus: U64 = nodes.free_gpus.copy()
        self._free_cpus: I32 = nodes.free_cpus.copy()
        self._free_mem_mib: I64 = nodes.free_mem_mib.copy()
        self._gpu_type: list[int] = nodes.gpu_type.tolist()
        # What tenants hold where this world does not see it.
        self._used: I32 = tenants.used_gpus.copy()
        self._used_by_type: I32 = tenants.used_by_type.copy()
        self._nodes = nodes
        self._tenants = tenants
        self._tenant: list[int] = jobs.table(jobs.id, 0.0).tenant.tolist()

    def free_counts(self) -> I64:
        return np.bitwise_count(self._free_gpus).astype(np.int64)

    def take(self, row: int, pieces: RowPieces) -> int:
        """Give `pieces` to the job; returns how many GPUs those are."""
        for node, mask, cpus, mem_mib in pieces:
            if mask & ~self.free[node] or self.node_state[node] != _READY:
                raise BrokenPlanError(f"job {row} is given GPUs {mask:#b} of node {node}, not free")
            self._free(node, self.free[node] & ~mask)
            self._free_cpus[node] -= cpus
            self._free_mem_mib[node] -= mem_mib
            self.on_node[node].add(row)
        gpus = sum(piece[1].bit_count() for piece in pieces)
        self.of_job[row] = pieces
        self._pieces.add(row, pieces)
        self._show(row, len(pieces), gpus)
        self._charge(row, pieces, gpus)
        return gpus

    def give(self, row: int, now_s: float) -> RowPieces:
        """Take everything back from the job."""
        pieces = self.of_job.pop(row)
        for node, mask, cpus, mem_mib in pieces:
            self._free(node, self.free[node] | mask)
            self._free_cpus[node] += cpus
            self._free_mem_mib[node] += mem_mib
            self.on_node[node].discard(row)
            self.idle_since_s[node] = now_s
        gpus = int(self.jobs.held_gpus[row])
        self._pieces.remove(row)
        self._show(row, 0, 0)
        self._charge(row, pieces, -gpus)
        return pieces

    def placements(self, rows: I64) -> Placements:
        return self._pieces.placements(self.jobs.piece_count[rows])

    def node_table(self) -> NodeTable:
        nodes = self._nodes
        return NodeTable(
            id=nodes.id,
            state=self._state(),
            partition=nodes.partition,
            gpu_type=nodes.gpu_type,
            gpus=nodes.gpus,
            free_gpus=fixed(self._free_gpus.copy()),
            cpus=nodes.cpus,
            free_cpus=fixed(self._free_cpus.copy()),
            mem_mib=nodes.mem_mib,
            free_mem_mib=fixed(self._free_mem_mib.copy()),
            rack=nodes.rack,
            switch=nodes.switch,
            host_idle_w=nodes.host_idle_w,
            host_peak_w=nodes.host_peak_w,
            idle_since_s=fixed(self.idle_since_s.copy()),
        )

    def _state(self) -> U8:
        """The same array for as long as no node changes, which policies can tell at a glance."""
        if (self._seen_state != self.node_state).any():
            self._seen_state = fixed(self.node_state.copy())
        return self._seen_state

    def tenant_table(self, energy_left_j: F64) -> TenantTable:
        tenants = self._tenants
        return TenantTable(
            id=tenants.id,
            weight=tenants.weight,
            quota_gpus=tenants.quota_gpus,
            used_gpus=fixed(self._used.copy()),
            quota_by_type=tenants.quota_by_type,
            used_by_type=fixed(self._used_by_type.copy()),
            energy_left_j=fixed(energy_left_j),
        )

    def _free(self, node: int, mask: int) -> None:
        self.free[node] = mask
        self._free_gpus[node] = mask

    def _show(self, row: int, pieces: int, gpus: int) -> None:
        self.jobs.piece_count[row] = pieces
        self.jobs.held_gpus[row] = gpus

    def _charge(self, row: int, pieces: Sequence[RowPiece], gpus: int) -> None:
        tenant = self._tenant[row]
        self._used[tenant] += gpus
        self._used_by_type[tenant, self._gpu_type[pieces[0][0]]] += gpus
