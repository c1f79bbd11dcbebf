"""Shapes of simulations and forecasts."""

from clusters.api.fields import GpuTypeName, Name, PolicyName, PolicyParameters
from rest import fields
from rest.serializers import StrictSerializer
from simulator.generate.model import model_names
from whatif.models import Simulation, WorkState

LINES_MAX = 8_000_000


class _Watts(fields.Number):
    def __init__(self) -> None:
        super().__init__(min_value=0, max_value=100_000, default=0.0)


class _Seconds(fields.Number):
    def __init__(self) -> None:
        super().__init__(min_value=0, max_value=86_400, default=0.0)


class TraceIn(StrictSerializer):
    lines = fields.Text(
        max_length=LINES_MAX,
        help_text="One JSON object per line and job: submitted_s, duration_s and gpus, and "
        "optionally tenant, max_gpus, cpus_per_gpu, mem_mib_per_gpu, gpu_types, deadline_s, "
        "tardiness_weight, priority and preemptible. At most 20,000.",
    )


class GenerateIn(StrictSerializer):
    """Jobs drawn from a fitted model."""

    jobs = fields.Integer(min_value=1, max_value=100_000)
    load = fields.Number(
        min_value=0.01, max_value=10, help_text="GPU time asked for, over what the GPUs give."
    )
    arrivals = fields.Choice(["poisson", "bursty", "diurnal"], default="poisson")
    model = fields.Choice(model_names(), default="philly")
    tenants = fields.Integer(min_value=1, max_value=1000, default=1)


class NodesIn(StrictSerializer):
    """So many equal nodes."""

    count = fields.Integer(min_value=1, max_value=20_000)
    gpus = fields.Integer(min_value=1, max_value=64)
    gpu_type = GpuTypeName(default="GPU")
    cpus = fields.Integer(min_value=0, max_value=4096, default=0)
    mem_mib = fields.Integer(min_value=0, max_value=2**31, default=0)
    per_rack = fields.Integer(min_value=0, max_value=20_000, default=0)
    per_switch = fields.Integer(min_value=0, max_value=20_000, default=0)
    host_idle_w = _Watts()
    host_peak_w = _Watts()


class GpuIn(StrictSerializer):
    name = GpuTypeName()
    idle_w = _Watts()
    max_w = _Watts()
    mem_mib = fields.Integer(min_value=0, max_value=2**31, default=0)


class MachinesIn(StrictSerializer):
    nodes = fields.Items(child=NodesIn(), min_length=1, max_length=30)
    gpus = fields.Items(child=GpuIn(), max_length=30, default=list)


class PolicyIn(StrictSerializer):
    name = PolicyName()
    label = fields.Text(max_length=100, allow_blank=True, default="")  # type: ignore[assignment]
    parameters = PolicyParameters(default=dict)


class RoundsIn(StrictSerializer):
    """Every so many seconds, on every event, or both."""

    interval_s = fields.Number(min_value=1, max_value=86_400, allow_null=True, default=None)
    on_events = fields.Boolean(default=True)


class CostsIn(StrictSerializer):
    """Seconds that starting, restarting and saving take, and how much spread gangs lose."""

    start_s = _Seconds()
    restart_s = _Seconds()
    checkpoint_s = _Seconds()
    spread_slowdown = fields.Number(min_value=0, max_value=0.99, default=0.0)


class EstimatesIn(StrictSerializer):
    """What policies know of run times: all, nothing, or the truth times exp(normal(0, sigma))."""

    kind = fields.Choice(["exact", "none", "lognormal"], default="exact")
    sigma = fields.Number(min_value=0, max_value=10, default=0.0)


class SimulationCreate(StrictSerializer):
    """Jobs from `trace`, `generate` or the `live` queue; on an existing `cluster` or `machines`."""

    name = fields.Text(max_length=200, allow_blank=True, default="")
    trace = TraceIn(allow_null=True, default=None)
    generate = GenerateIn(allow_null=True, default=None)
    live = fields.Boolean(default=False, help_text="Operators only; needs `cluster`.")
    cluster = Name(allow_null=True, default=None)
    machines = MachinesIn(allow_null=True, default=None)
    policies = fields.Items(child=PolicyIn(), min_length=1, max_length=16)
    seeds = fields.Items(
        child=fields.Integer(min_value=0, max_value=2**31 - 1),
        min_length=1,
        max_length=32,
        default=lambda: [0],
        help_text="Every policy runs once with each.",
    )
    tariff = Name(allow_null=True, default=None)
    pue = fields.Number(min_value=1, max_value=10, default=1.0)
    days = fields.Number(min_value=0.001, max_value=3650, allow_null=True, default=None)
    rounds = RoundsIn(default=lambda: {"interval_s": None, "on_events": True})
    costs = CostsIn(default=dict)
    estimates = EstimatesIn(default=dict)


class ProgressOut(StrictSerializer):
    """Simulated seconds of the furthest run; jobs and runs of all of them."""

    simulated_s = fields.Number(read_only=True)
    jobs_done = fields.Integer(read_only=True)
    jobs_total = fields.Integer(read_only=True)
    runs_done = fields.Integer(read_only=True)
    runs_total = fields.Integer(read_only=True)


class SimulationOut(StrictSerializer):
    id = fields.Integer(read_only=True)
    name = fields.Text(read_only=True)
    tenant = fields.Text(read_only=True, source="tenant_name", allow_null=True)
    cluster = fields.Text(read_only=True, source="cluster_name", allow_null=True)
    kind = fields.Choice(Simulation.Kind.choices, read_only=True)
    state = fields.Choice(WorkState.choices, read_only=True)
    error = fields.Text(read_only=True)
    progress = ProgressOut(read_only=True)
    created_at = fields.Instant(read_only=True)
    started_at = fields.Instant(read_only=True, allow_null=True)
    ended_at = fields.Instant(read_only=True, allow_null=True)


class RunOut(StrictSerializer):
    label = fields.Text(read_only=True)  # type: ignore[assignment]
    policy = fields.Text(read_only=True)
    parameters = fields.JsonObject(read_only=True)
    seed = fields.Integer(read_only=True)
    state = fields.Choice(WorkState.choices, read_only=True)
    error = fields.Text(read_only=True)
    simulated_s = fields.Number(read_only=True)
    jobs_done = fields.Integer(read_only=True)
    jobs_total = fields.Integer(read_only=True, allow_null=True)


class SimulationDetailOut(SimulationOut):
    runs = RunOut(many=True, read_only=True, source="ordered_runs")


class ResultRowOut(StrictSerializer):
    policy = fields.Text(read_only=True)
    label = fields.Text(read_only=True)  # type: ignore[assignment]
    seed = fields.Integer(read_only=True)
    figures = fields.JsonObject(read_only=True)
    tenants = fields.JsonObject(read_only=True)
    partitions = fields.JsonObject(read_only=True)


class ResultsOut(StrictSerializer):
    """Figures of every run, and per label their mean with a 95 % interval over the seeds."""

    rows = ResultRowOut(many=True, read_only=True)
    intervals = fields.JsonObject(read_only=True)


class ScoreOut(StrictSerializer):
    """Of the jobs you may see: how many have started since, how much later than estimated (on
    average, and without sign), and the share of starts within the interval."""

    jobs = fields.Integer(read_only=True)
    scored = fields.Integer(read_only=True)
    mean_error_s = fields.Number(read_only=True, allow_null=True)
    mean_absolute_error_s = fields.Number(read_only=True, allow_null=True)
    within = fields.Number(read_only=True, allow_null=True)


class ForecastOut(StrictSerializer):
    id = fields.Integer(read_only=True)
    cluster = fields.Text(read_only=True, source="cluster_name")
    currency = fields.Text(read_only=True)
    state = fields.Choice(WorkState.choices, read_only=True)
    policy = fields.Text(read_only=True)
    made_at = fields.Instant(
        read_only=True, allow_null=True, help_text="The moment that was run forward."
    )
    snapshot_digest = fields.Text(read_only=True)
    error = fields.Text(read_only=True)
    score = ScoreOut(read_only=True, allow_null=True)
    created_at = fields.Instant(read_only=True)
    ended_at = fields.Instant(read_only=True, allow_null=True)


class ForecastJobOut(StrictSerializer):
    """Null is beyond what was simulated; four of five starts lie between the bounds."""

    job_id = fields.Integer(read_only=True)
    start_at = fields.Instant(read_only=True, allow_null=True)
    start_low_at = fields.Instant(read_only=True, allow_null=True)
    start_high_at = fields.Instant(read_only=True, allow_null=True)
    finish_at = fields.Instant(read_only=True, allow_null=True)
    finish_low_at = fields.Instant(read_only=True, allow_null=True)
    finish_high_at = fields.Instant(read_only=True, allow_null=True)
    energy_j = fields.Number(read_only=True, allow_null=True)
    cost = fields.Amount(18, 6, read_only=True, allow_null=True)
    started_at = fields.Instant(read_only=True, allow_null=True)
    error_s = fields.Number(read_only=True, allow_null=True)
    within = fields.Boolean(read_only=True, allow_null=True)
