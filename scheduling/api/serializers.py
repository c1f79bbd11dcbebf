"""Shapes of rounds, decisions and the shadow's report."""

from jobs.models import Job, Profile
from rest import fields
from rest.serializers import StrictSerializer
from scheduling.models import Round


class RoundOut(StrictSerializer):
    id = fields.Integer(read_only=True)
    cluster = fields.Text(read_only=True, source="cluster_name")
    policy = fields.Text(read_only=True)
    parameters = fields.JsonObject(read_only=True)
    seed = fields.Integer(read_only=True)
    status = fields.Choice(Round.Status.choices, read_only=True)
    error = fields.Text(read_only=True)
    started_at = fields.Instant(read_only=True)
    load_ms = fields.Number(read_only=True)
    plan_ms = fields.Number(read_only=True)
    check_ms = fields.Number(read_only=True)
    apply_ms = fields.Number(read_only=True)
    queued = fields.Integer(read_only=True)
    running = fields.Integer(read_only=True)
    started = fields.Integer(read_only=True)
    preempted = fields.Integer(read_only=True)
    moved = fields.Integer(read_only=True)
    resized = fields.Integer(read_only=True)
    switched = fields.Integer(read_only=True, help_text="Nodes that were switched off or on.")
    waiting = fields.Integer(read_only=True)
    stale = fields.Integer(read_only=True)
    objective = fields.Number(
        read_only=True,
        allow_null=True,
        help_text="What the plan is worth to its policy, less is better; of `fairwatt` the money "
        "of its schedule ahead. Null if the round failed.",
    )
    bound = fields.Number(
        read_only=True,
        allow_null=True,
        help_text="What no plan of the same snapshot falls below; of some rounds, worked out "
        "later, if the policy knows bounds.",
    )
    gap = fields.Number(
        read_only=True,
        allow_null=True,
        help_text="(objective - bound) / |objective|, 0 where the objective is 0.",
    )
    shown = fields.JsonObject(read_only=True)
    snapshot_digest = fields.Text(read_only=True)
    plan_digest = fields.Text(read_only=True)
    shadow_policy = fields.Text(read_only=True, allow_null=True)
    shadow_ms = fields.Number(read_only=True, allow_null=True)


class DecisionOut(StrictSerializer):
    job_id = fields.Integer(read_only=True)
    action = fields.Text(read_only=True)
    reason = fields.Text(read_only=True)
    applied = fields.Boolean(
        read_only=True, help_text="False: the world had changed before it could be carried out."
    )
    text = fields.Text(read_only=True)
    ahead = fields.Integer(read_only=True, allow_null=True)
    expected_start_at = fields.Instant(read_only=True, allow_null=True)
    evidence = fields.JsonObject(read_only=True)


class DecisionPage(StrictSerializer):
    items = DecisionOut(many=True, read_only=True)
    next = fields.Text(
        read_only=True,
        allow_null=True,
        help_text="Send it as `cursor` for the next page; null on the last.",
    )


class PairOut(StrictSerializer):
    active = fields.Number(read_only=True)
    shadow = fields.Number(read_only=True)


class ShadowOut(StrictSerializer):
    cluster = fields.Text(read_only=True)
    policy = fields.Text(read_only=True)
    shadow_policy = fields.Text(read_only=True, allow_null=True)
    rounds = fields.Integer(read_only=True)
    first_round_id = fields.Integer(read_only=True, allow_null=True)
    last_round_id = fields.Integer(read_only=True, allow_null=True)
    failed = fields.Integer(read_only=True)
    violating = fields.Integer(read_only=True)
    starts = PairOut(read_only=True)
    starts_in_both = fields.Integer(read_only=True)
    preempts = PairOut(read_only=True)
    objective = PairOut(read_only=True)
    mean_plan_ms = PairOut(read_only=True)
    last_error = fields.Text(read_only=True)
    last_violations = fields.Items(child=fields.Text(), read_only=True)
    only_active = fields.Items(child=fields.Integer(), read_only=True)
    only_shadow = fields.Items(child=fields.Integer(), read_only=True)
    placed_elsewhere = fields.Items(child=fields.Integer(), read_only=True)


class RemedyOut(StrictSerializer):
    action = fields.Text(read_only=True)
    text = fields.Text(read_only=True)
    to = fields.Integer(read_only=True, required=False)
    by = fields.Number(read_only=True, required=False)
    name = fields.Text(read_only=True, required=False)
    id = fields.Integer(read_only=True, required=False)


class StartForecastOut(StrictSerializer):
    """When the job starts if the queue runs on as it is; four of five start between the bounds."""

    start_at = fields.Instant(read_only=True)
    low_at = fields.Instant(read_only=True, allow_null=True)
    high_at = fields.Instant(read_only=True, allow_null=True)
    made_at = fields.Instant(read_only=True)


class ExplanationOut(StrictSerializer):
    job_id = fields.Integer(read_only=True)
    state = fields.Choice(Job.State.choices, read_only=True)
    reason = fields.Text(read_only=True)
    text = fields.Text(read_only=True)
    position = fields.Integer(read_only=True, allow_null=True)
    expected_start_at = fields.Instant(read_only=True, allow_null=True)
    round_id = fields.Integer(read_only=True, allow_null=True)
    round_at = fields.Instant(read_only=True, allow_null=True)
    evidence = fields.JsonObject(read_only=True)
    profile_basis = fields.Choice(Profile.Basis.choices, read_only=True)
    profile_text = fields.Text(read_only=True)
    remedies = RemedyOut(many=True, read_only=True)
    forecast = StartForecastOut(read_only=True, allow_null=True)


class CostSumsOut(StrictSerializer):
    """Energy and tardiness in money; `deviation` 0.1 is a tenth more than was predicted."""

    predicted_energy = fields.Amount(28, 12, read_only=True)
    predicted_tardiness = fields.Amount(28, 12, read_only=True)
    predicted = fields.Amount(28, 12, read_only=True)
    actual_energy = fields.Amount(28, 12, read_only=True)
    actual_tardiness = fields.Amount(28, 12, read_only=True)
    actual = fields.Amount(28, 12, read_only=True)
    deviation = fields.Number(read_only=True, allow_null=True)
    unpriced_mj = fields.Integer(
        read_only=True, help_text="Drawn in hours whose price is not known yet; not in the cost."
    )


class CostLineOut(CostSumsOut):
    job_id = fields.Integer(read_only=True)
    name = fields.Text(read_only=True)


class CostsOut(StrictSerializer):
    """Of jobs that succeeded in [from_at, until_at), those furthest from the prediction first."""

    cluster = fields.Text(read_only=True)
    currency = fields.Text(read_only=True, allow_null=True)
    from_at = fields.Instant(read_only=True)
    until_at = fields.Instant(read_only=True)
    jobs = fields.Integer(read_only=True)
    totals = CostSumsOut(read_only=True)
    lines = CostLineOut(many=True, read_only=True)
