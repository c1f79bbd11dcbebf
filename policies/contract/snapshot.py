"""What a policy sees: the cluster, its queue and its prices at one moment, as numpy columns.

Ids are database ids; references between tables are row numbers, -1 for none. Times are seconds
since the epoch. Bit i of a GPU mask is the node's GPU number i; bit t of a type mask is GPU type t.
"""

# ruff: noqa: RUF009  # column() is dataclasses.field() in other words

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar, Self

import numpy as np

from policies.contract import encoding
from policies.contract.columns import F64, I32, I64, U8, U64, Bool, ColumnTable, column

ANY_GPU_TYPE = 2**64 - 1
UNLIMITED = -1


class JobState(IntEnum):
    QUEUED = 0
    RUNNING = 1
    """Holds GPUs: placed, starting or running."""
    STOPPING = 2
    """Still holds GPUs but is giving them up; neither a candidate nor a victim."""


class Blocked(IntEnum):
    NO = 0
    HELD = 1
    DEPENDENCY = 2


class Span(IntEnum):
    """The widest stretch of the topology over which a job's GPUs may lie."""

    NODE = 0
    RACK = 1
    SWITCH = 2
    ANY = 3

    def groups(self) -> tuple["Span", ...]:
        """Kinds of node groups a job of this span may fill; a rack is near, whatever its switch."""
        return (Span.SWITCH, Span.RACK) if self is Span.SWITCH else (self,)


class NodeState(IntEnum):
    READY = 0
    DRAINING = 1
    OFF = 2
    UNAVAILABLE = 3
    """Joining, lost or quarantined."""
    BOOTING = 4
    """Switched on, not ready yet; draws its idle watts."""


@dataclass(frozen=True, slots=True, eq=False)
class JobTable(ColumnTable):
    id: I64 = column(np.int64)
    tenant: I32 = column(np.int32)
    profile: I32 = column(np.int32, fill=-1)
    partition: I32 = column(np.int32, fill=-1)
    state: U8 = column(np.uint8, fill=JobState.QUEUED)
    blocked: U8 = column(np.uint8, fill=Blocked.NO)
    priority: I32 = column(np.int32, fill=0)
    submitted_s: F64 = column(np.float64)
    deadline_s: F64 = column(np.float64, fill=np.inf)
    tardiness_weight: F64 = column(np.float64, fill=0)
    min_gpus: I32 = column(np.int32)
    max_gpus: I32 = column(np.int32)
    gpu_types: U64 = column(np.uint64)
    cpus_per_gpu: I32 = column(np.int32, fill=0)
    mem_mib_per_gpu: I64 = column(np.int64, fill=0)
    span: U8 = column(np.uint8, fill=Span.ANY)
    preemptible: Bool = column(np.bool_, fill=True)
    work_total: F64 = column(np.float64, fill=np.nan)
    work_left: F64 = column(np.float64, fill=np.nan)
    attained_gpu_s: F64 = column(np.float64, fill=0)
    est_total_s: F64 = column(np.float64, fill=np.nan)
    est_run_s: F64 = column(np.float64, fill=np.nan)
    started_s: F64 = column(np.float64, fill=np.nan)
    checkpoint_s: F64 = column(np.float64, fill=np.nan)
    restart_cost_s: F64 = column(np.float64, fill=0)
    min_run_s: F64 = column(np.float64, fill=0)
    clock_mhz: I32 = column(np.int32, fill=0)


@dataclass(frozen=True, slots=True, eq=False)
class Placements(ColumnTable):
    """What jobs hold: job row r has the pieces `offset[r]:offset[r + 1]`, one per node."""

    RAGGED: ClassVar[bool] = True

    offset: I64 = column(np.int64)
    node: I32 = column(np.int32)
    gpus: U64 = column(np.uint64)
    cpus: I32 = column(np.int32)
    mem_mib: I64 = column(np.int64)

    def pieces(self) -> list[tuple[int, int, int, int]]:
        """Node row, GPU mask, CPUs and MiB of every piece, to be read row by row."""
        columns = (self.node, self.gpus, self.cpus, self.mem_mib)
        return list(zip(*(column.tolist() for column in columns), strict=True))

    def job_of_piece(self) -> I64:
        return np.repeat(np.arange(len(self.offset) - 1), np.diff(self.offset))


@dataclass(frozen=True, slots=True, eq=False)
class NodeTable(ColumnTable):
    id: I64 = column(np.int64)
    state: U8 = column(np.uint8, fill=NodeState.READY)
    partition: I32 = column(np.int32, fill=-1)
    gpu_type: I32 = column(np.int32)
    gpus: I32 = column(np.int32)
    free_gpus: U64 = column(np.uint64)
    cpus: I32 = column(np.int32)
    free_cpus: I32 = column(np.int32)
    mem_mib: I64 = column(np.int64)
    free_mem_mib: I64 = column(np.int64)
    rack: I32 = column(np.int32, fill=-1)
    switch: I32 = column(np.int32, fill=-1)
    host_idle_w: F64 = column(np.float64, fill=0)
    host_peak_w: F64 = column(np.float64, fill=0)
    idle_since_s: F64 = column(np.float64, fill=-np.inf)
    """Since when it has been ready and empty; of a node that is neither it says nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class GpuTypeTable(ColumnTable):
    name: tuple[str, ...]
    idle_w: F64 = column(np.float64, fill=0)
    max_w: F64 = column(np.float64, fill=0)
    mem_mib: I64 = column(np.int64, fill=0)


@dataclass(frozen=True, slots=True, eq=False)
class PartitionTable(ColumnTable):
    name: tuple[str, ...]
    id: I64 = column(np.int64)
    lends: Bool = column(np.bool_, fill=False)
    power_budget_w: F64 = column(np.float64, fill=np.inf)


@dataclass(frozen=True, slots=True, eq=False)
class TenantTable(ColumnTable):
    id: I64 = column(np.int64)
    weight: F64 = column(np.float64, fill=1)
    quota_gpus: I32 = column(np.int32, fill=UNLIMITED)
    used_gpus: I32 = column(np.int32, fill=0)
    quota_by_type: I32 = column(np.int32, ndim=2)
    used_by_type: I32 = column(np.int32, ndim=2)
    energy_left_j: F64 = column(np.float64, fill=np.inf)


@dataclass(frozen=True, slots=True, eq=False)
class ProfileTable(ColumnTable):
    """Throughput and watts over (profile, GPU type, GPU count, clock); nan is not measured.

    Where `mem_told` is false, `relative_speed` depends on CPUs alone because nothing is known of
    memory, not because less of it would do.
    """

    RAGGED: ClassVar[bool] = True

    id: I64 = column(np.int64)
    gpu_counts: I32 = column(np.int32)
    clocks_mhz: I32 = column(np.int32, ndim=2)
    throughput: F64 = column(np.float64, ndim=4)
    watts_per_gpu: F64 = column(np.float64, ndim=4)
    cpus_per_gpu: F64 = column(np.float64)
    mem_mib_per_gpu: F64 = column(np.float64)
    relative_speed: F64 = column(np.float64, ndim=3)
    mem_told: Bool = column(np.bool_, fill=True)
    spread_slowdown: F64 = column(np.float64, fill=0)

    @classmethod
    def none(cls, gpu_types: int) -> Self:
        over_clocks = np.empty((0, gpu_types, 0, 0))
        return cls.of(
            id=[],
            gpu_counts=[],
            clocks_mhz=np.empty((gpu_types, 0)),
            throughput=over_clocks,
            watts_per_gpu=over_clocks,
            cpus_per_gpu=[],
            mem_mib_per_gpu=[],
            relative_speed=np.empty((0, 0, 0)),
        )


@dataclass(frozen=True, slots=True, eq=False)
class PriceTable(ColumnTable):
    """Price and carbon from `from_s[i]` until `from_s[i + 1]`; both empty when not known."""

    from_s: F64 = column(np.float64)
    price_per_kwh: F64 = column(np.float64)
    carbon_g_per_kwh: F64 = column(np.float64, fill=np.nan)

    @classmethod
    def unknown(cls) -> Self:
        return cls.of(from_s=[], price_per_kwh=[])


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Snapshot:
    """The cluster may use `energy_left_j`, PUE included, until `energy_until_s`.

    Where the tariff has a demand charge, every watt by which a metered quarter of an hour, PUE
    included, lies above `peak_w`, the highest of this month so far, costs `demand_price_per_w`.
    """

    now_s: float
    seed: int = 0
    pue: float = 1.0
    power_budget_w: float = float("inf")
    energy_left_j: float = float("inf")
    energy_until_s: float = float("inf")
    peak_w: float = 0.0
    demand_price_per_w: float = 0.0
    hands_over: bool = False
    """Whether GPUs that a plan takes from a job may be given away in the same plan: only where
    stopping takes no time, as in a simulation without such costs."""
    power_off: bool = False
    """Whether the operator lets empty nodes be switched off, once they have idled `min_idle_s`."""
    min_idle_s: float = 600.0
    jobs: JobTable
    placements: Placements
    nodes: NodeTable
    gpu_types: GpuTypeTable
    partitions: PartitionTable
    tenants: TenantTable
    profiles: ProfileTable
    prices: PriceTable

    def canonical(self) -> bytes:
        columns: encoding.Columns = {
            "scalars": np.array([self.now_s, self.pue, self.power_budget_w]),
            "energy": np.array([self.energy_left_j, self.energy_until_s]),
            "seed": np.array([self.seed], np.int64),
        }
        if self.hands_over:
            columns["hands_over"] = np.array([1], np.uint8)
        if self.demand_price_per_w:
            columns["demand"] = np.array([self.peak_w, self.demand_price_per_w])
        if self.power_off:
            columns["power_off"] = np.array([self.min_idle_s])
        texts: encoding.Texts = {}
        for table in _TABLES:
            for name, values in getattr(self, table).columns():
                if isinstance(values, tuple):
                    texts[f"{table}.{name}"] = list(values)
                else:
                    columns[f"{table}.{name}"] = values
        return encoding.canonical(columns, texts)

    def digest(self) -> str:
        return encoding.digest(self.canonical())

    def to_bytes(self) -> bytes:
        """Compressed form for storage; `encoding.stored_digest` reads its digest back cheaply."""
        return encoding.compress(self.canonical())

    @classmethod
    def from_bytes(cls, stored: bytes) -> Self:
        columns, texts = encoding.decode(stored)
        now_s, pue, power_budget_w = columns["scalars"].tolist()
        # Snapshots stored before there were energy budgets say nothing of them.
        energy_left_j, energy_until_s = columns.get("energy", np.full(2, np.inf)).tolist()
        peak_w, demand_price_per_w = columns.get("demand", np.zeros(2)).tolist()
        everything: dict[str, Any] = {**columns, **texts}
        tables = {
            table: kind.of(
                **{
                    name.removeprefix(f"{table}."): values
                    for name, values in everything.items()
                    if name.startswith(f"{table}.")
                }
            )
            for table, kind in _TABLES.items()
        }
        return cls(
            now_s=now_s,
            pue=pue,
            power_budget_w=power_budget_w,
            energy_left_j=energy_left_j,
            energy_until_s=energy_until_s,
            seed=int(columns["seed"][0]),
            hands_over="hands_over" in columns,
            peak_w=peak_w,
            demand_price_per_w=demand_price_per_w,
            power_off="power_off" in columns,
            min_idle_s=float(columns["power_off"][0]) if "power_off" in columns else 600.0,
            **tables,  # type: ignore[arg-type]  # mypy cannot key the union by table name
        )


_TABLES: dict[str, type[ColumnTable]] = {
    "jobs": JobTable,
    "placements": Placements,
    "nodes": NodeTable,
    "gpu_types": GpuTypeTable,
    "partitions": PartitionTable,
    "tenants": TenantTable,
    "profiles": ProfileTable,
    "prices": PriceTable,
}
