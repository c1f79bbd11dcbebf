"""Shapes of simulations and forecasts."""

from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, field

from clusters.api.parameters import PARAMETERS
from clusters.api.structs import GpuTypeName, PolicyName
from rest.names import HOST
from rest.structs import (
    From,
    Input,
    Instant,
    JsonObject,
    Output,
    amount,
    json_object,
    matching,
    text,
)
from simulator.generate.model import model_names
from whatif.models import Simulation, WorkState

if TYPE_CHECKING:
    TraceModel = str
else:
    TraceModel = Literal[tuple(model_names())]

LINES_MAX = 8_000_000
NodeName = Annotated[str, matching(HOST, max_length=253, example="node-1")]
ResourceName = Annotated[str, matching("^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$", max_length=63)]
Watts = Annotated[float, Meta(ge=0, le=100_000)]
Seconds = Annotated[float, Meta(ge=0, le=86_400)]
Mebibytes = Annotated[int, Meta(ge=0, le=2**31)]
NodesEach = Annotated[int, Meta(ge=0, le=20_000)]
Seed = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Label = Annotated[str, Meta(examples=["fifo"])]
NoText = Annotated[str, Meta(examples=[""])]
AskedAt = Annotated[Instant, Meta(examples=["2026-02-01T09:30:00Z"])]
MadeAt = Annotated[Instant, Meta(examples=["2026-02-01T09:30:10Z"])]
FIGURES = {"jobs": 2, "finished": 2, "jct_mean_s": 2100.0, "energy_kwh": 1.7, "energy_cost": 0.4}
LINES = (
    '{"submitted_s": 0, "duration_s": 3600, "gpus": 4, "tenant": "vision"}\n'
    '{"submitted_s": 60, "duration_s": 600, "gpus": 1, "tenant": "speech"}\n'
)
MACHINES = {
    "nodes": [{"count": 2, "gpus": 8, "gpu_type": "A100", "cpus": 64, "mem_mib": 524_288}],
    "gpus": [{"name": "A100", "idle_w": 60, "max_w": 400}],
}


class TraceIn(Input, frozen=True):
    lines: Annotated[
        str,
        text(
            LINES_MAX,
            description="One JSON object per line and job: submitted_s, duration_s and gpus, and "
            "optionally tenant, max_gpus, cpus_per_gpu, mem_mib_per_gpu, gpu_types, deadline_s, "
            "tardiness_weight, priority and preemptible. At most 20,000.",
        ),
    ]


class GenerateIn(Input, frozen=True):
    """Jobs drawn from a fitted model."""

    jobs: Annotated[int, Meta(ge=1, le=100_000)]
    load: Annotated[
        float,
        Meta(ge=0.01, le=10, description="GPU time asked for, over what the GPUs give."),
    ]
    arrivals: Literal["poisson", "bursty", "diurnal"] = "poisson"
    model: TraceModel = "philly"
    tenants: Annotated[int, Meta(ge=1, le=1000)] = 1


class NodesIn(Input, frozen=True):
    """So many equal nodes."""

    count: Annotated[int, Meta(ge=1, le=20_000)]
    gpus: Annotated[int, Meta(ge=1, le=64)]
    gpu_type: GpuTypeName = "GPU"
    cpus: Annotated[int, Meta(ge=0, le=4096)] = 0
    mem_mib: Mebibytes = 0
    per_rack: NodesEach = 0
    per_switch: NodesEach = 0
    host_idle_w: Watts = 0.0
    host_peak_w: Watts = 0.0


class GpuIn(Input, frozen=True):
    name: GpuTypeName
    idle_w: Watts = 0.0
    max_w: Watts = 0.0
    mem_mib: Mebibytes = 0


class MachinesIn(Input, frozen=True):
    nodes: Annotated[list[NodesIn], Meta(min_length=1, max_length=30)]
    gpus: Annotated[list[GpuIn], Meta(max_length=30)] = []


class MoreNodesIn(Input, frozen=True):
    """Empty nodes that are otherwise as an existing one."""

    like: Annotated[NodeName, Meta(description="Of this cluster; they get its GPUs and watts.")]
    count: Annotated[int, Meta(ge=1, le=1000)] = 1


class ChangesIn(Input, frozen=True):
    """What is otherwise than it is: of the live queue alone."""

    tariff: ResourceName | None = None
    power_budget_w: (
        Annotated[
            float,
            Meta(gt=0, le=1e9, description="Instead of the cluster's own; ordered windows stay."),
        ]
        | None
    ) = None
    add_nodes: Annotated[
        list[MoreNodesIn], Meta(max_length=30, description="They stand empty from the start.")
    ] = []
    remove_nodes: Annotated[
        list[NodeName],
        Meta(max_length=1000, description="Those with work finish it and get no more."),
    ] = []


class PolicyIn(Input, frozen=True):
    name: PolicyName
    label: Annotated[str, text(100, blank=True)] = ""
    parameters: Annotated[dict[str, Any], json_object(PARAMETERS)] = {}
    changes: Annotated[
        ChangesIn | None, Meta(description="Of the cluster that this one plans for.")
    ] = None


class RoundsIn(Input, frozen=True):
    """Every so many seconds, on every event, or both."""

    interval_s: Annotated[float, Meta(ge=1, le=86_400)] | None = None
    on_events: bool = True


class CostsIn(Input, frozen=True):
    """Seconds that starting, restarting and saving take, and how much spread gangs lose."""

    start_s: Seconds = 0.0
    restart_s: Seconds = 0.0
    checkpoint_s: Seconds = 0.0
    spread_slowdown: Annotated[float, Meta(ge=0, le=0.99)] = 0.0


class EstimatesIn(Input, frozen=True):
    """What policies know of run times: all, nothing, or the truth times exp(normal(0, sigma))."""

    kind: Literal["exact", "none", "lognormal"] = "exact"
    sigma: Annotated[float, Meta(ge=0, le=10)] = 0.0


class SimulationCreate(Input, frozen=True, kw_only=True):
    """Jobs from `trace`, `generate` or the `live` queue; on an existing `cluster` or `machines`."""

    name: Annotated[str, text(200, blank=True, example="fifo or las?")] = ""
    trace: Annotated[TraceIn | None, Meta(examples=[{"lines": LINES}])] = None
    generate: GenerateIn | None = None
    live: Annotated[bool, Meta(description="Operators only; needs `cluster`.")] = False
    cluster: ResourceName | None = None
    machines: Annotated[MachinesIn | None, Meta(examples=[MACHINES])] = None
    policies: Annotated[
        list[PolicyIn],
        Meta(
            min_length=1,
            max_length=16,
            examples=[[{"name": "fifo"}, {"name": "las", "parameters": {"min_run_s": 120}}]],
        ),
    ]
    seeds: Annotated[
        list[Seed],
        Meta(
            min_length=1,
            max_length=32,
            description="Every policy runs once with each.",
            examples=[[0, 1]],
        ),
    ] = field(default_factory=lambda: [0])
    tariff: ResourceName | None = None
    pue: Annotated[float, Meta(ge=1, le=10)] = 1.0
    days: Annotated[float, Meta(ge=0.001, le=3650)] | None = None
    rounds: RoundsIn = RoundsIn()
    costs: CostsIn = CostsIn()
    estimates: EstimatesIn = EstimatesIn()


class ProgressOut(Output, frozen=True):
    """Simulated seconds of the furthest run; jobs and runs of all of them."""

    simulated_s: Annotated[float, Meta(examples=[1800.0])]
    jobs_done: Annotated[int, Meta(examples=[1])]
    jobs_total: Annotated[int, Meta(examples=[4])]
    runs_done: Annotated[int, Meta(examples=[2])]
    runs_total: Annotated[int, Meta(examples=[4])]


class SimulationOut(Output, frozen=True):
    id: Annotated[int, Meta(examples=[7])]
    name: Annotated[str, Meta(examples=["fifo or las?"])]
    tenant: Annotated[str | None, From("tenant_name"), Meta(examples=["vision-lab"])]
    cluster: Annotated[str | None, From("cluster_name")]
    kind: Simulation.Kind
    state: Annotated[WorkState, Meta(examples=["running"])]
    error: NoText
    progress: ProgressOut
    created_at: AskedAt
    started_at: Annotated[Instant | None, Meta(examples=["2026-02-01T09:30:01Z"])]
    ended_at: Annotated[Instant | None, Meta(examples=[None])]


class RunOut(Output, frozen=True):
    label: Label
    policy: Label
    parameters: JsonObject
    seed: Annotated[int, Meta(examples=[0])]
    state: Annotated[WorkState, Meta(examples=["succeeded"])]
    error: NoText
    simulated_s: Annotated[float, Meta(examples=[3600.0])]
    jobs_done: Annotated[int, Meta(examples=[2])]
    jobs_total: Annotated[int | None, Meta(examples=[2])]


class SimulationDetailOut(SimulationOut, frozen=True):
    runs: list[RunOut]


class ResultRowOut(Output, frozen=True):
    policy: Label
    label: Label
    seed: Annotated[int, Meta(examples=[0])]
    figures: Annotated[dict[str, Any], json_object(example=FIGURES)]
    tenants: Annotated[dict[str, Any], json_object(example={"vision": FIGURES})]
    partitions: JsonObject


class ResultsOut(Output, frozen=True):
    """Figures of every run, and per label their mean with a 95 % interval over the seeds."""

    rows: list[ResultRowOut]
    intervals: Annotated[
        dict[str, Any],
        json_object(
            example={"fifo": {"jct_mean_s": {"mean": 2100.0, "low": 2000.0, "high": 2200.0}}}
        ),
    ]


class ScoreOut(Output, frozen=True):
    """Of the jobs you may see: how many have started since, how much later than estimated (on
    average, and without sign), and the share of starts within the interval."""

    jobs: Annotated[int, Meta(examples=[12])]
    scored: Annotated[int, Meta(examples=[9])]
    mean_error_s: Annotated[float | None, Meta(examples=[41.0])]
    mean_absolute_error_s: Annotated[float | None, Meta(examples=[95.5])]
    within: Annotated[float | None, Meta(examples=[0.78])]


class ForecastOut(Output, frozen=True):
    id: Annotated[int, Meta(examples=[31])]
    cluster: Annotated[str, From("cluster_name"), Meta(examples=["demo"])]
    currency: Annotated[str, Meta(examples=["EUR"])]
    state: Annotated[WorkState, Meta(examples=["succeeded"])]
    policy: Annotated[str, Meta(examples=["fifo-backfill"])]
    made_at: Annotated[MadeAt | None, Meta(description="The moment that was run forward.")]
    snapshot_digest: Annotated[str, Meta(examples=["9f2c"])]
    error: NoText
    score: ScoreOut | None
    created_at: AskedAt
    ended_at: Annotated[Instant | None, Meta(examples=["2026-02-01T09:30:12Z"])]


class ForecastJobOut(Output, frozen=True):
    """Null is beyond what was simulated; four of five starts lie between the bounds."""

    job_id: Annotated[int, Meta(examples=[4711])]
    start_at: Annotated[Instant | None, Meta(examples=["2026-02-01T11:05:00Z"])]
    start_low_at: Annotated[Instant | None, Meta(examples=["2026-02-01T10:40:00Z"])]
    start_high_at: Annotated[Instant | None, Meta(examples=["2026-02-01T12:20:00Z"])]
    finish_at: Annotated[Instant | None, Meta(examples=["2026-02-01T15:05:00Z"])]
    finish_low_at: Annotated[Instant | None, Meta(examples=["2026-02-01T13:50:00Z"])]
    finish_high_at: Annotated[Instant | None, Meta(examples=["2026-02-01T18:00:00Z"])]
    full_energy_j: Annotated[float | None, Meta(examples=[25_900_000.0])]
    full_cost: Annotated[Decimal, amount(18, 6, example="2.086000")] | None
    started_at: Annotated[Instant | None, Meta(examples=[None])]
    error_s: float | None
    within: bool | None
