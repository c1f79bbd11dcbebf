"""What would happen: forecasts, simulations, and answers to power budgets."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from msgspec import Struct

from fairwatt.structs.words import WorkState


class Trace(Struct, frozen=True):
    """Jobs of a trace, one JSON object per line: submitted_s, duration_s, gpus, and more."""

    lines: str


class Generate(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Jobs drawn from a fitted model; `load` is GPU time asked for, over what the GPUs give."""

    jobs: int
    load: float
    arrivals: str = "poisson"
    model: str = "philly"
    tenants: int = 1


class Nodes(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """So many equal nodes."""

    count: int
    gpus: int
    gpu_type: str = "GPU"
    cpus: int = 0
    mem_mib: int = 0
    per_rack: int = 0
    per_switch: int = 0
    host_idle_w: float = 0.0
    host_peak_w: float = 0.0


class GpuModel(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a type of GPU draws."""

    name: str
    idle_w: float = 0.0
    max_w: float = 0.0
    mem_mib: int = 0


class Machines(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Machines that need not exist."""

    nodes: list[Nodes]
    gpus: list[GpuModel] = []


class PolicyChoice(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A policy to try, with parameters, under a label of your own."""

    name: str
    label: str = ""
    parameters: dict[str, Any] = {}


class SimulationSpec(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Jobs from `trace`, `generate` or the `live` queue; on a `cluster` or on `machines`."""

    policies: list[PolicyChoice]
    name: str = ""
    trace: Trace | None = None
    generate: Generate | None = None
    live: bool = False
    cluster: str | None = None
    machines: Machines | None = None
    seeds: list[int] = []
    tariff: str | None = None
    pue: float = 1.0
    days: float | None = None


class PowerBudgetSpec(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Watts that a cluster may draw, for a time; asked only, or (`dry_run=False`) ordered."""

    watts: int
    partition: str | None = None
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    reason: str = ""
    dry_run: bool = False


class Score(Struct, frozen=True):
    """How good earlier forecasts were."""

    jobs: int
    scored: int
    mean_error_s: float | None
    mean_absolute_error_s: float | None
    within: float | None


class Forecast(Struct, frozen=True):
    """A cluster's queue, run forward."""

    id: int
    cluster: str
    currency: str
    state: WorkState
    policy: str
    made_at: datetime | None
    snapshot_digest: str
    error: str
    score: Score | None
    created_at: datetime
    ended_at: datetime | None


class ForecastJob(Struct, frozen=True):
    """When a job starts and ends, what it draws and costs; None is beyond what was simulated."""

    job_id: int
    start_at: datetime | None
    start_low_at: datetime | None
    start_high_at: datetime | None
    finish_at: datetime | None
    finish_low_at: datetime | None
    finish_high_at: datetime | None
    full_energy_j: float | None
    full_cost: Decimal | None
    started_at: datetime | None
    error_s: float | None
    within: bool | None


class SimulationProgress(Struct, frozen=True):
    """How far all runs are."""

    simulated_s: float
    jobs_done: int
    jobs_total: int
    runs_done: int
    runs_total: int


class Simulation(Struct, frozen=True):
    """Policies tried on jobs."""

    id: int
    name: str
    tenant: str | None
    cluster: str | None
    kind: str
    state: WorkState
    error: str
    progress: SimulationProgress
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None


class SimulationRun(Struct, frozen=True):
    """One policy with one seed."""

    label: str
    policy: str
    parameters: dict[str, Any]
    seed: int
    state: WorkState
    error: str
    simulated_s: float
    jobs_done: int
    jobs_total: int | None


class SimulationDetail(Simulation, frozen=True):
    """A simulation with its runs."""

    runs: list[SimulationRun]


class ResultRow(Struct, frozen=True):
    """Figures of one run."""

    policy: str
    label: str
    seed: int
    figures: dict[str, Any]
    tenants: dict[str, Any]
    partitions: dict[str, Any]


class Results(Struct, frozen=True):
    """Figures of every run, and means with intervals over the seeds."""

    rows: list[ResultRow]
    intervals: dict[str, Any]


class Step(Struct, frozen=True):
    """Watts at one moment, without and with the budget."""

    at: str
    baseline_w: float
    expected_w: float


class Estimate(Struct, frozen=True):
    """What a power budget would do."""

    from_at: str
    until_at: str
    baseline_w: float
    expected_w: float
    highest_w: float
    shed_w: float
    energy_not_drawn_j: float
    feasible: bool
    met_at: str | None
    within: float
    jobs: int
    jobs_delayed: int
    mean_delay_s: float | None
    worst_delay_s: float | None
    complete: bool
    curve: list[Step]


class PowerBudget(Struct, frozen=True):
    """Watts that a cluster may draw, for a time; `id` is None after a dry run."""

    id: int | None
    cluster: str
    partition: str | None
    watts: int
    starts_at: datetime
    ends_at: datetime | None
    from_minute: int | None
    to_minute: int | None
    timezone: str
    reason: str
    ordered_by: str
    estimate: Estimate | None
    version: int
