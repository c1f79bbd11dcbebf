"""Shapes of rounds, decisions, explanations, costs, calibration and the shadow's report."""

from decimal import Decimal
from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from jobs.models import Attempt, Job, Profile
from rest.structs import From, Id, Instant, Output, amount, json_object
from scheduling.models import Round

ClusterName = Annotated[str, Meta(examples=["demo"])]
JobId = Annotated[int, Meta(examples=[4711])]
JobIds = Annotated[list[int], Meta(examples=[[]])]
RoundId = Annotated[int, Meta(examples=[88])]
RoundStart = Annotated[Instant, Meta(examples=["2026-02-01T09:30:01Z"])]
NoText = Annotated[str, Meta(examples=[""])]
UsuallyNone = Annotated[int, Meta(examples=[0])]
ComparedAttempts = Annotated[
    int, Meta(description="Attempts of which anything could be compared.", examples=[42])
]
Evidence = Annotated[
    dict[str, Any],
    json_object(example={"nodes": 16, "exhausted": {"gpus": 16}, "facts": {"gpus_asked": 4}}),
]


class RoundOut(Output, frozen=True):
    id: RoundId
    cluster: Annotated[ClusterName, From("cluster_name")]
    policy: Annotated[str, Meta(examples=["fairwatt"])]
    parameters: Annotated[dict[str, Any], json_object(example={})]
    seed: Annotated[int, Meta(examples=[1_769_938_201_000])]
    status: Round.Status
    error: NoText
    started_at: RoundStart
    load_ms: Annotated[float, Meta(examples=[6.1])]
    plan_ms: Annotated[float, Meta(examples=[1.9])]
    check_ms: Annotated[float, Meta(examples=[0.4])]
    apply_ms: Annotated[float, Meta(examples=[8.8])]
    queued: Annotated[int, Meta(examples=[3])]
    running: Annotated[int, Meta(examples=[12])]
    started: Annotated[int, Meta(examples=[1])]
    preempted: UsuallyNone
    moved: UsuallyNone
    resized: UsuallyNone
    switched: Annotated[UsuallyNone, Meta(description="Nodes that were switched off or on.")]
    waiting: Annotated[int, Meta(examples=[2])]
    stale: UsuallyNone
    objective: Annotated[
        float | None,
        Meta(
            description="What the plan is worth to its policy, less is better; of `fairwatt` the "
            "money of its schedule ahead. Null if the round failed.",
            examples=[42.5],
        ),
    ]
    bound: Annotated[
        float | None,
        Meta(
            description="What no plan of the same snapshot falls below; of some rounds, worked "
            "out later, if the policy knows bounds.",
            examples=[39.1],
        ),
    ]
    gap: Annotated[
        float | None,
        Meta(
            description="(objective - bound) / |objective|, 0 where the objective is 0.",
            examples=[0.08],
        ),
    ]
    shown: Annotated[dict[str, Any], json_object(example={"planned_cost": 42.5})]
    snapshot_digest: Annotated[str, Meta(examples=["9f2c"])]
    plan_digest: Annotated[str, Meta(examples=["51aa"])]
    shadow_policy: str | None
    shadow_ms: float | None


class DecisionOut(Output, frozen=True):
    job_id: JobId
    action: Annotated[str, Meta(examples=["wait"])]
    reason: Annotated[str, Meta(examples=["outranked"])]
    applied: Annotated[
        bool,
        Meta(
            description="False: the world had changed before it could be carried out.",
            examples=[True],
        ),
    ]
    text: Annotated[
        str,
        Meta(
            examples=[
                "The GPUs it needs are held by, or kept for, other jobs. 2 jobs rank before it."
            ]
        ),
    ]
    ahead: Annotated[int | None, Meta(examples=[2])]
    expected_start_at: Annotated[Instant | None, Meta(examples=[None])]
    evidence: Evidence


class DecisionPage(Output, frozen=True):
    items: list[DecisionOut]
    next: Annotated[
        str | None, Meta(description="Send it as `cursor` for the next page; null on the last.")
    ]


class PairOut(Output, frozen=True):
    active: Annotated[float, Meta(examples=[240.0])]
    shadow: Annotated[float, Meta(examples=[251.0])]


class ShadowOut(Output, frozen=True):
    cluster: ClusterName
    policy: Annotated[str, Meta(examples=["fifo-backfill"])]
    shadow_policy: Annotated[str | None, Meta(examples=["srtf"])]
    rounds: Annotated[int, Meta(examples=[100])]
    first_round_id: Annotated[int | None, Meta(examples=[1])]
    last_round_id: Annotated[int | None, Meta(examples=[100])]
    failed: UsuallyNone
    violating: UsuallyNone
    starts: PairOut
    starts_in_both: Annotated[int, Meta(examples=[198])]
    preempts: Annotated[PairOut, Meta(examples=[{"active": 0.0, "shadow": 14.0}])]
    objective: Annotated[PairOut, Meta(examples=[{"active": 0.0, "shadow": 0.0}])]
    mean_plan_ms: Annotated[PairOut, Meta(examples=[{"active": 1.9, "shadow": 2.3}])]
    last_error: NoText
    last_violations: Annotated[list[str], Meta(examples=[[]])]
    only_active: JobIds
    only_shadow: Annotated[list[int], Meta(examples=[[4711]])]
    placed_elsewhere: JobIds


class RemedyOut(Output, frozen=True):
    action: Annotated[str, Meta(examples=["reduce_gpus"])]
    text: Annotated[str, Meta(examples=["ask for 2 GPUs"])]
    to: Annotated[int, Meta(examples=[2])] | UnsetType = UNSET
    by: float | UnsetType = UNSET
    name: str | UnsetType = UNSET
    id: int | UnsetType = UNSET


class StartForecastOut(Output, frozen=True):
    """When the job starts if the queue runs on as it is; four of five start between the bounds."""

    start_at: Annotated[Instant, Meta(examples=["2026-02-01T11:05:00Z"])]
    low_at: Annotated[Instant | None, Meta(examples=["2026-02-01T10:40:00Z"])]
    high_at: Annotated[Instant | None, Meta(examples=["2026-02-01T12:20:00Z"])]
    made_at: Annotated[Instant, Meta(examples=["2026-02-01T09:30:10Z"])]


class JobEndOut(Output, frozen=True):
    """How a job ended, of its last attempt; null where nothing was said."""

    attempt: Annotated[int | None, Meta(examples=[1])]
    node: Annotated[str | None, Meta(examples=["node-1"])]
    exit_code: Annotated[int | None, Meta(examples=[1])]
    signal: Annotated[int | None, Meta(examples=[None])]
    out_of_memory: Annotated[bool, Meta(examples=[False])]
    stderr: Annotated[
        str,
        Meta(
            description="The last line it wrote there.",
            examples=["ModuleNotFoundError: No module named 'torch'"],
        ),
    ]
    parent_id: Annotated[
        int | None, Meta(description="The job whose end ended this one.", examples=[None])
    ]


class ExplanationOut(Output, frozen=True):
    job_id: JobId
    state: Annotated[Job.State, Meta(examples=["queued"])]
    reason: Annotated[str, Meta(examples=["outranked"])]
    text: Annotated[
        str,
        Meta(
            examples=[
                "The GPUs it needs are held by, or kept for, other jobs. 2 jobs rank before it. "
                "To start it sooner: ask for 2 GPUs."
            ]
        ),
    ]
    position: Annotated[int | None, Meta(examples=[3])]
    expected_start_at: Annotated[Instant | None, Meta(examples=[None])]
    round_id: Annotated[Id | None, Meta(examples=[88])]
    round_at: RoundStart | None
    evidence: Evidence
    profile_basis: Annotated[Profile.Basis, Meta(examples=["neutral"])]
    profile_text: Annotated[
        str,
        Meta(
            examples=[
                "Nothing was measured of its kind: a neutral profile is used,"
                " and its own estimate of its run time."
            ]
        ),
    ]
    remedies: list[RemedyOut]
    forecast: StartForecastOut | None
    ended: Annotated[JobEndOut | None, Meta(examples=[None])]


class CostSumsOut(Output, frozen=True):
    """Energy and tardiness in money; `deviation` 0.1 is a tenth more than was predicted.

    Full energy is what is billed, and what is compared. Marginal energy is what the policy chose
    by: what the job adds to what its nodes would have drawn without it.
    """

    predicted_full_energy: Annotated[Decimal, amount(28, 12, example="0.181200000000")]
    predicted_marginal_energy: Annotated[Decimal, amount(28, 12, example="0.131200000000")]
    predicted_tardiness: Annotated[Decimal, amount(28, 12, example="0.000000000000")]
    predicted_full: Annotated[Decimal, amount(28, 12, example="0.181200000000")]
    actual_full_energy: Annotated[Decimal, amount(28, 12, example="0.174000000000")]
    actual_tardiness: Annotated[Decimal, amount(28, 12, example="0.012000000000")]
    actual_full: Annotated[Decimal, amount(28, 12, example="0.186000000000")]
    deviation: Annotated[float | None, Meta(examples=[0.0265])]
    unpriced_mj: Annotated[
        UsuallyNone,
        Meta(description="Drawn in hours whose price is not known yet; not in the cost."),
    ]


class CostLineOut(CostSumsOut, frozen=True):
    job_id: JobId
    name: Annotated[str, Meta(examples=["train-resnet"])]


class CostsOut(Output, frozen=True):
    """Of jobs that succeeded in [from_at, until_at), those furthest from the prediction first."""

    cluster: ClusterName
    currency: Annotated[str | None, Meta(examples=["EUR"])]
    from_at: Annotated[Instant, Meta(examples=["2026-01-01T00:00:00Z"])]
    until_at: Annotated[Instant, Meta(examples=["2026-01-31T12:00:00Z"])]
    jobs: Annotated[int, Meta(examples=[1])]
    totals: CostSumsOut
    lines: list[CostLineOut]


class RatioOut(Output, frozen=True):
    """What came over what was predicted: 1.1 is a tenth more. Null where nothing is compared."""

    count: Annotated[int, Meta(description="Attempts that it is taken over.", examples=[42])]
    bias: Annotated[float | None, Meta(examples=[1.04])]
    low: Annotated[float | None, Meta(description="A tenth of them lie below.", examples=[0.91])]
    high: Annotated[float | None, Meta(description="A tenth of them lie above.", examples=[1.19])]


class CalibrationLineOut(Output, frozen=True):
    """Attempts of one GPU type and profile whose predictions rest on the same."""

    gpu_type: Annotated[str, Meta(examples=["A100"])]
    tenant: Annotated[
        str | None, Meta(description="Whose profile it is, by name.", examples=["acme"])
    ]
    profile_id: Annotated[int | None, Meta(examples=[17])]
    profile: Annotated[str | None, Meta(examples=["resnet50"])]
    predicted_by: Annotated[
        Attempt.Prediction | None,
        Meta(
            description="What predictions of energy rest on; null where there were none.",
            examples=["profile"],
        ),
    ]
    attempts: ComparedAttempts
    energy_ratio: RatioOut
    time_ratio: RatioOut
    cost_ratio: RatioOut
    drifted: Annotated[bool, Meta(examples=[False])]


class CalibrationOut(Output, frozen=True):
    """Of jobs that succeeded in [from_at, until_at): what drifted first, then what ran most."""

    cluster: ClusterName
    from_at: Annotated[Instant, Meta(examples=["2026-01-01T00:00:00Z"])]
    until_at: Annotated[Instant, Meta(examples=["2026-01-31T12:00:00Z"])]
    attempts: ComparedAttempts
    lines: Annotated[
        list[CalibrationLineOut], Meta(description="One line per GPU type, profile and basis.")
    ]
