"""Shapes of what the work's resources answer; what they take is in jobs/specs.py."""

from jobs.models import Attempt, Job, JobDependency, Profile
from rest import fields
from rest.serializers import StrictSerializer


class JobOut(StrictSerializer):
    id = fields.Integer(read_only=True)
    name = fields.Text(read_only=True)
    tenant = fields.Text(read_only=True, source="tenant_name")
    cluster = fields.Text(read_only=True, source="cluster_name")
    partition = fields.Text(read_only=True, source="partition_name", allow_null=True)
    profile = fields.Text(read_only=True, source="profile_name", allow_null=True)
    profile_basis = fields.Choice(
        Profile.Basis.choices,
        read_only=True,
        help_text="What its speed is predicted from; neutral: from its own estimate alone.",
    )
    array_id = fields.Integer(read_only=True, allow_null=True)
    array_index = fields.Integer(read_only=True, allow_null=True)
    state = fields.Choice(Job.State.choices, read_only=True)
    reason = fields.Text(read_only=True)
    held = fields.Boolean(read_only=True)
    unmet_dependencies = fields.Integer(read_only=True)
    argv = fields.Items(child=fields.Text(), read_only=True)
    env_keys = fields.Items(
        child=fields.Text(),
        read_only=True,
        allow_null=True,
        help_text="Names only, and only to the tenant itself; values are never shown.",
    )
    image = fields.Text(read_only=True, allow_null=True)
    min_gpus = fields.Integer(read_only=True)
    max_gpus = fields.Integer(read_only=True)
    gpu_types = fields.Items(child=fields.Text(), read_only=True)
    cpus_per_gpu = fields.Integer(read_only=True)
    memory_mib_per_gpu = fields.Integer(read_only=True)
    span = fields.Choice(Job.Span.choices, read_only=True)
    priority = fields.Integer(read_only=True)
    deadline_at = fields.Instant(read_only=True, allow_null=True)
    tardiness_price_per_h = fields.Amount(14, 6, read_only=True)
    estimated_run_s = fields.Integer(read_only=True, allow_null=True)
    work_total = fields.Number(read_only=True, allow_null=True)
    work_done = fields.Number(read_only=True)
    attained_gpu_s = fields.Number(read_only=True)
    preemptible = fields.Boolean(read_only=True)
    restartable = fields.Boolean(read_only=True)
    restart_cost_s = fields.Integer(read_only=True)
    checkpoint_at = fields.Instant(read_only=True, allow_null=True)
    submitted_at = fields.Instant(read_only=True)
    placed_at = fields.Instant(read_only=True, allow_null=True)
    started_at = fields.Instant(read_only=True, allow_null=True)
    ended_at = fields.Instant(read_only=True, allow_null=True)
    version = fields.Integer(read_only=True)


class DependencyOut(StrictSerializer):
    job = fields.Integer(read_only=True, source="on_job_id")
    kind = fields.Choice(JobDependency.Kind.choices, read_only=True)
    met_at = fields.Instant(read_only=True, allow_null=True)


class JobDetailOut(JobOut):
    depends_on = DependencyOut(many=True, read_only=True, source="predecessors")


class FaultOut(StrictSerializer):
    pointer = fields.Text(read_only=True)
    code = fields.Text(read_only=True)
    detail = fields.Text(read_only=True)


class ItemProblemOut(StrictSerializer):
    code = fields.Text(read_only=True)
    detail = fields.Text(read_only=True)
    errors = FaultOut(many=True, read_only=True)  # type: ignore[assignment]


class ItemResultOut(StrictSerializer):
    """Of one job: 201 with its id, or the status and problem a single submit would have had."""

    index = fields.Integer(read_only=True)
    status = fields.Integer(read_only=True)
    id = fields.Integer(read_only=True, allow_null=True)
    problem = ItemProblemOut(read_only=True, allow_null=True)


class BulkOut(StrictSerializer):
    stored = fields.Integer(read_only=True)
    refused = fields.Integer(read_only=True)
    items = ItemResultOut(many=True, read_only=True)


class EventOut(StrictSerializer):
    id = fields.Integer(read_only=True)
    job_id = fields.Integer(read_only=True)
    at = fields.Instant(read_only=True)
    from_state = fields.Choice(Job.State.choices, read_only=True, allow_null=True)
    to_state = fields.Choice(Job.State.choices, read_only=True)
    reason = fields.Text(read_only=True)
    round_id = fields.Integer(read_only=True, allow_null=True, source="detail.round")
    attempt = fields.Integer(read_only=True, allow_null=True, source="detail.attempt")
    detail = fields.Text(read_only=True, allow_null=True, source="detail.detail")


class ArrayOut(StrictSerializer):
    id = fields.Integer(read_only=True)
    name = fields.Text(read_only=True)
    tenant = fields.Text(read_only=True, source="tenant_name")
    size = fields.Integer(read_only=True)
    created_at = fields.Instant(read_only=True)


class StatesOut(StrictSerializer):
    """How many of the array's jobs are in each state."""

    queued = fields.Integer(read_only=True)
    placed = fields.Integer(read_only=True)
    running = fields.Integer(read_only=True)
    preempting = fields.Integer(read_only=True)
    succeeded = fields.Integer(read_only=True)
    failed = fields.Integer(read_only=True)
    cancelled = fields.Integer(read_only=True)


class ArrayDetailOut(ArrayOut):
    states = StatesOut(read_only=True)


class ArrayCancelOut(StrictSerializer):
    cancelled = fields.Integer(read_only=True)
    stopping = fields.Integer(
        read_only=True, help_text="Asked to stop; cancelled when their agents say so."
    )


class AttemptOut(StrictSerializer):
    id = fields.Integer(read_only=True)
    job_id = fields.Integer(read_only=True)
    tenant = fields.Text(read_only=True, source="tenant_name")
    cluster = fields.Text(read_only=True, source="cluster_name")
    round_id = fields.Integer(read_only=True, allow_null=True)
    number = fields.Integer(read_only=True)
    state = fields.Choice(Attempt.State.choices, read_only=True)
    reason = fields.Text(read_only=True)
    gpus = fields.Integer(read_only=True)
    clock_mhz = fields.Integer(read_only=True, allow_null=True)
    offered_at = fields.Instant(read_only=True)
    started_at = fields.Instant(read_only=True, allow_null=True)
    ended_at = fields.Instant(read_only=True, allow_null=True)


class AllocationOut(StrictSerializer):
    node = fields.Text(read_only=True, source="node.name")
    gpu_index = fields.Integer(read_only=True, source="gpu.index")
    gpu_uuid = fields.Text(read_only=True, source="gpu.uuid")
    cpus = fields.Integer(read_only=True)
    memory_mib = fields.Integer(read_only=True)
    held_at = fields.Instant(read_only=True)
    released_at = fields.Instant(read_only=True, allow_null=True)


class AttemptDetailOut(AttemptOut):
    allocations = AllocationOut(many=True, read_only=True)
