"""Shapes of energy, money and measured power; energy is whole millijoules, money a decimal."""

from decimal import Decimal
from typing import Annotated

from msgspec import Meta

from clusters.models import Cluster
from energy.models import LedgerRow
from jobs.models import Attempt
from rest.structs import From, Id, Input, Instant, Output, amount

ClusterName = Annotated[str, Meta(examples=["demo"])]
NodeName = Annotated[str, Meta(examples=["node-1"])]
GpuUuid = Annotated[str, Meta(examples=["GPU-5e0c63b1-1f8a-5b8e-9b0e-0b6f5e6b1c55"])]
JobId = Annotated[int, Meta(examples=[4711])]
GpuMillijoules = Annotated[int, Meta(examples=[1_440_000_000])]
UsuallyNone = Annotated[int, Meta(examples=[0])]
BudgetWatts = Annotated[float, Meta(examples=[42_000.0])]
HourEnd = Annotated[Instant, Meta(examples=["2026-01-31T09:00:00Z"])]
MonthStart = Annotated[Instant, Meta(examples=["2026-01-01T00:00:00Z"])]
MonthEnd = Annotated[Instant, Meta(examples=["2026-02-01T00:00:00Z"])]


class SumsOut(Output, frozen=True):
    """`cost` is the full one: of `gpu_mj` and `host_mj`, times PUE and price."""

    gpu_mj: Annotated[GpuMillijoules, From("total_gpu_mj")]
    host_mj: Annotated[int, From("total_host_mj"), Meta(examples=[360_000_000])]
    cost: Annotated[Decimal, From("total_cost"), amount(28, 12, example="0.174000000000")]
    currency: Annotated[str, Meta(examples=["EUR"])]
    carbon_g: Annotated[Decimal, From("total_carbon_g"), amount(28, 12, example="228.000000000000")]
    unpriced_mj: Annotated[
        UsuallyNone,
        Meta(description="Drawn in hours whose price is not known yet; not in the cost."),
    ]
    kwh: Annotated[
        Decimal,
        From("total_kwh"),
        amount(28, 3, example="0.500", description="`gpu_mj` and `host_mj` for people, rounded."),
    ]
    cost_rounded: Annotated[
        Decimal,
        From("total_cost"),
        amount(28, 4, example="0.1740", description="`cost` for people, rounded."),
    ]


class WindowOut(SumsOut, frozen=True):
    """At most an hour of one price; `coverage` is the share of it that readings cover."""

    starts_at: Instant
    ends_at: HourEnd
    method: LedgerRow.Method
    pue: Annotated[Decimal, amount(4, 2, example="1.20")]
    price_per_kwh: Annotated[Decimal, amount(16, 12, example="0.290000000000")] | None
    g_per_kwh: Annotated[Decimal, amount(9, 3, example="380.000")] | None
    coverage: Annotated[float, From("covered"), Meta(examples=[1.0])]


class MeterOut(Output, frozen=True):
    """The stretch of one GPU's counter that belongs to the attempt."""

    node: NodeName
    uuid: GpuUuid
    start_mj: Annotated[int, Meta(examples=[81_220_114])]
    now_mj: Annotated[int, Meta(examples=[1_521_220_114])]
    integrated: Annotated[
        bool, Meta(description="The GPU has no counter: power was added up over time.")
    ]
    final: Annotated[bool, Meta(examples=[True])]
    since_at: Instant
    until_at: HourEnd


class AttemptEnergyOut(Output, frozen=True):
    number: int
    state: Annotated[Attempt.State, Meta(examples=["ended"])]
    predicted_gpu_mj: Annotated[int | None, Meta(examples=[1_512_000_000])]
    predicted_host_mj: Annotated[
        int | None,
        Meta(
            description="Its GPUs' share of the hosts; with predicted_gpu_mj the full energy.",
            examples=[378_000_000],
        ),
    ]
    predicted_by: Annotated[Attempt.Prediction | None, Meta(examples=["profile"])]
    gpu_mj: GpuMillijoules
    prediction_error: Annotated[
        float | None,
        Meta(
            description="Of the GPUs: 0.1 is a tenth more expected than was drawn.",
            examples=[0.05],
        ),
    ]
    meters: list[MeterOut]
    windows: list[WindowOut]


class JobEnergyOut(Output, frozen=True):
    job_id: JobId
    totals: list[SumsOut]
    open_mj: Annotated[UsuallyNone, Meta(description="Counted, but not yet in the ledger.")]
    attempts: list[AttemptEnergyOut]


class StatementLineOut(SumsOut, frozen=True):
    job_id: JobId
    name: Annotated[str, Meta(examples=["train-resnet"])]
    cluster: Annotated[ClusterName, From("cluster_name")]


class StatementOut(Output, frozen=True):
    """Of windows that begin in [from_at, until_at); totals are of all lines, on whatever page."""

    tenant: Annotated[str, Meta(examples=["acme"])]
    from_at: MonthStart
    until_at: MonthEnd
    totals: list[SumsOut]
    lines: list[StatementLineOut]
    next: str | None


class GpuBalanceOut(Output, frozen=True):
    uuid: GpuUuid
    index: Annotated[int, Meta(examples=[0])]
    reading_mj: Annotated[int, Meta(examples=[1_539_400_911])]
    counter_mj: Annotated[int, Meta(examples=[1_539_400_911])]
    billed_mj: GpuMillijoules
    open_mj: UsuallyNone
    idle_mj: Annotated[int, Meta(examples=[99_400_911])]
    gap_mj: UsuallyNone


class NodeEnergyOut(Output, frozen=True):
    """`counter_mj` is `billed_mj + open_mj + idle_mj + gap_mj`, for every GPU."""

    node: Annotated[NodeName, From("name")]
    samples_refused: UsuallyNone
    samples_shed: UsuallyNone
    gpus: list[GpuBalanceOut]


class RepriceIn(Input, frozen=True):
    from_at: Annotated[Instant, Meta(examples=["2026-01-31T00:00:00Z"])]
    until_at: MonthEnd


class RepricedOut(Output, frozen=True):
    rows: Annotated[int, Meta(description="Rows added to the ledger.", examples=[48])]


class PowerStateOut(Output, frozen=True):
    partition: Annotated[
        str | None, From("partition.name"), Meta(description="Null: the whole cluster.")
    ]
    budget_w: Annotated[BudgetWatts | None, Meta(description="Null: none is in force.")]
    planned_w: Annotated[
        BudgetWatts | None,
        Meta(description="What rounds keep to: also what begins within seconds."),
    ]
    measured_w: Annotated[
        float | None,
        Meta(description="Mean of the minute until measured_at.", examples=[41_730.0]),
    ]
    measured_at: Annotated[Instant | None, Meta(examples=["2026-02-01T17:12:00Z"])]
    unread_gpus: UsuallyNone
    correction_w: Annotated[float, Meta(examples=[310.0])]
    corrected_at: Annotated[Instant | None, Meta(examples=["2026-02-01T17:03:00Z"])]


class PowerBreachOut(Output, frozen=True):
    id: Id
    partition: Annotated[str | None, From("partition.name")]
    budget_w: BudgetWatts
    worst_w: Annotated[float, Meta(examples=[42_310.0])]
    began_at: Annotated[Instant, Meta(examples=["2026-02-01T17:01:50Z"])]
    ended_at: Annotated[
        Instant | None, Meta(description="Null: it goes on.", examples=["2026-02-01T17:04:10Z"])
    ]


class EnergyLeftOut(Output, frozen=True):
    period: Cluster.EnergyPeriod
    from_at: Annotated[Instant, Meta(examples=["2026-01-31T23:00:00Z"])]
    until_at: Annotated[Instant, Meta(examples=["2026-02-01T23:00:00Z"])]
    budget_wh: Annotated[int, Meta(examples=[1_000_000])]
    drawn_wh: Annotated[
        float, Meta(description="So far in this period, PUE included.", examples=[716_400.0])
    ]
    left_wh: Annotated[
        float,
        Meta(description="Negative: more was drawn than was allowed.", examples=[283_600.0]),
    ]
    counted_at: Annotated[
        Instant,
        Meta(
            description="Since then it is estimated from the last measured minute.",
            examples=["2026-02-01T17:07:00Z"],
        ),
    ]


class ClusterPowerOut(Output, frozen=True):
    cluster: Annotated[ClusterName, From("name")]
    states: list[PowerStateOut]
    breaches: list[PowerBreachOut]
    energy: Annotated[EnergyLeftOut | None, Meta(description="Null: there is no energy budget.")]
