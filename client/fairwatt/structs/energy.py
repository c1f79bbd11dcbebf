"""Joules and money."""

from datetime import datetime
from decimal import Decimal

from msgspec import Struct

from fairwatt.structs.words import AttemptState


class EnergySums(Struct, frozen=True):
    """Millijoules of GPUs and hosts, and what they cost, in one currency."""

    gpu_mj: int
    host_mj: int
    cost: Decimal
    currency: str
    carbon_g: Decimal
    unpriced_mj: int


class EnergyWindow(EnergySums, frozen=True):
    """A stretch of time with one price."""

    starts_at: datetime
    ends_at: datetime
    method: str
    pue: Decimal
    price_per_kwh: Decimal | None
    g_per_kwh: Decimal | None
    coverage: float


class MeterReading(Struct, frozen=True):
    """An attempt's stretch of one GPU's counter."""

    node: str
    uuid: str
    start_mj: int
    now_mj: int
    integrated: bool
    final: bool
    since_at: datetime
    until_at: datetime


class AttemptEnergy(Struct, frozen=True):
    """What an attempt drew, and what was predicted."""

    number: int
    state: AttemptState
    predicted_gpu_mj: int | None
    predicted_host_mj: int | None
    predicted_by: str | None
    gpu_mj: int
    prediction_error: float | None
    meters: list[MeterReading]
    windows: list[EnergyWindow]


class JobEnergy(Struct, frozen=True):
    """What a job drew and cost; `open_mj` is not settled yet."""

    job_id: int
    totals: list[EnergySums]
    open_mj: int
    attempts: list[AttemptEnergy]


class StatementLine(EnergySums, frozen=True):
    """What one job cost."""

    job_id: int
    name: str
    cluster: str


class Statement(Struct, frozen=True):
    """What a tenant owes for a span of time."""

    tenant: str
    from_at: datetime
    until_at: datetime
    totals: list[EnergySums]
    lines: list[StatementLine]
    next: str | None


class CostSums(Struct, frozen=True):
    """Predicted against actual money."""

    predicted_full_energy: Decimal
    predicted_marginal_energy: Decimal
    predicted_tardiness: Decimal
    predicted_full: Decimal
    actual_full_energy: Decimal
    actual_tardiness: Decimal
    actual_full: Decimal
    deviation: float | None
    unpriced_mj: int


class CostLine(CostSums, frozen=True):
    """Of one job."""

    job_id: int
    name: str


class Costs(Struct, frozen=True):
    """Predicted against actual cost of the jobs of a cluster."""

    cluster: str
    currency: str | None
    from_at: datetime
    until_at: datetime
    jobs: int
    totals: CostSums
    lines: list[CostLine]


class PowerState(Struct, frozen=True):
    """Watts of a cluster, or of one partition: allowed, planned, measured."""

    partition: str | None
    budget_w: float | None
    planned_w: float | None
    measured_w: float | None
    measured_at: datetime | None
    unread_gpus: int
    correction_w: float
    corrected_at: datetime | None


class PowerBreach(Struct, frozen=True):
    """A stretch above the budget."""

    id: int
    partition: str | None
    budget_w: float
    worst_w: float
    began_at: datetime
    ended_at: datetime | None


class EnergyLeft(Struct, frozen=True):
    """What is left of an energy budget."""

    period: str
    from_at: datetime
    until_at: datetime
    budget_wh: int
    drawn_wh: float
    left_wh: float
    counted_at: datetime


class ClusterPower(Struct, frozen=True):
    """Watts of a cluster now, and its breaches."""

    cluster: str
    states: list[PowerState]
    breaches: list[PowerBreach]
    energy: EnergyLeft | None


class GpuBalance(Struct, frozen=True):
    """One GPU's counter, and who drew what of it."""

    uuid: str
    index: int
    reading_mj: int
    counter_mj: int
    billed_mj: int
    open_mj: int
    idle_mj: int
    gap_mj: int


class NodeEnergy(Struct, frozen=True):
    """The meters of a node's GPUs."""

    node: str
    samples_refused: int
    samples_shed: int
    gpus: list[GpuBalance]
