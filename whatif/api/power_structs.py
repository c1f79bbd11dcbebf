"""Shapes of power budgets: the question, the order, and the proof."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from rest.structs import From, Input, Instant, Output, Version, text
from whatif.api.structs import ResourceName

Start = Annotated[Instant, Meta(examples=["2026-02-01T17:00:00Z"])]
End = Annotated[Instant, Meta(examples=["2026-02-01T19:00:00Z"])]
StartText = Annotated[str, Meta(examples=["2026-02-01T17:00:00Z"])]
BudgetWatts = Annotated[int, Meta(ge=1, le=2**31 - 1, examples=[42_000])]
MeasuredWatts = Annotated[float, Meta(examples=[41_730.0])]
MinuteOfDay = Annotated[int, Meta(ge=0, le=1439)]
Reason = Annotated[
    str, text(200, blank=True, example="evening peak, call 118 of the grid operator")
]


class PowerBudgetIn(Input, frozen=True):
    """With `dry_run` (the default) nothing is done: the answer says what would be."""

    watts: BudgetWatts
    partition: ResourceName | UnsetType | None = UNSET
    starts_at: Annotated[Start | UnsetType, Meta(description="Now, if left out or past.")] = UNSET
    ends_at: Annotated[End | UnsetType | None, Meta(description="Null: until withdrawn.")] = UNSET
    from_minute: Annotated[
        MinuteOfDay | UnsetType | None,
        Meta(
            description="With to_minute: only at this time of every day; over midnight if it is "
            "later."
        ),
    ] = UNSET
    to_minute: MinuteOfDay | UnsetType | None = UNSET
    timezone: Annotated[str, text(64, description="An IANA time zone.")] | UnsetType = UNSET
    reason: Reason | UnsetType = UNSET
    dry_run: Annotated[bool, Meta(examples=[True])] = True


class StepOut(Output, frozen=True):
    at: StartText
    baseline_w: Annotated[float, Meta(examples=[60_100.0])]
    expected_w: Annotated[float, Meta(examples=[41_900.0])]


class EstimateOut(Output, frozen=True):
    """The live queue run forward by its own policy, without and with the budget."""

    from_at: StartText
    until_at: Annotated[str, Meta(examples=["2026-02-01T19:00:00Z"])]
    baseline_w: Annotated[
        float,
        Meta(
            description="Mean draw of the window without the budget, before PUE.",
            examples=[59_200.0],
        ),
    ]
    expected_w: Annotated[float, Meta(examples=[41_100.0])]
    highest_w: Annotated[float, Meta(examples=[41_900.0])]
    shed_w: Annotated[float, Meta(examples=[18_100.0])]
    energy_not_drawn_j: Annotated[float, Meta(examples=[130_320_000.0])]
    feasible: Annotated[bool, Meta(examples=[True])]
    met_at: Annotated[
        StartText | None,
        Meta(description="From when on the draw stays within; null: it does not."),
    ]
    within: Annotated[float, Meta(description="Share of the window.", examples=[1.0])]
    jobs: Annotated[int, Meta(examples=[84])]
    jobs_delayed: Annotated[int, Meta(examples=[31])]
    mean_delay_s: Annotated[float | None, Meta(examples=[410.0])]
    worst_delay_s: Annotated[float | None, Meta(examples=[3150.0])]
    complete: Annotated[
        bool,
        Meta(description="False: time ran out, and delays are not known.", examples=[True]),
    ]
    curve: list[StepOut]


class PowerBudgetOut(Output, frozen=True):
    id: Annotated[int | None, Meta(description="Null: only asked, not ordered.", examples=[5])]
    cluster: Annotated[str, From("cluster.name"), Meta(examples=["demo"])]
    partition: Annotated[str | None, From("partition.name")]
    watts: BudgetWatts
    starts_at: Start
    ends_at: End | None
    from_minute: int | None
    to_minute: int | None
    timezone: Annotated[str, Meta(examples=["UTC"])]
    reason: Reason
    ordered_by: Annotated[str, Meta(examples=["grid desk"])]
    estimate: EstimateOut | None
    version: Version


class MinuteOut(Output, frozen=True):
    at: Start
    measured_w: MeasuredWatts
    budget_w: BudgetWatts
    baseline_w: Annotated[float | None, Meta(examples=[60_100.0])]
    unread_gpus: Annotated[int, Meta(examples=[0])]


class ProofOut(Output, frozen=True):
    """From telemetry, hosts estimated; of at most the last 1,440 minutes."""

    minutes: list[MinuteOut]
    within: Annotated[
        float | None,
        Meta(description="Share of minutes at most 2 % above.", examples=[1.0]),
    ]
    worst_w: MeasuredWatts | None
    mean_w: MeasuredWatts | None
    energy_j: Annotated[float, Meta(examples=[2_503_800.0])]
    energy_not_drawn_j: Annotated[
        float | None,
        Meta(
            description="Below what was estimated without the budget.",
            examples=[1_102_200.0],
        ),
    ]


class PowerBudgetProofOut(PowerBudgetOut, frozen=True):
    proof: ProofOut
