"""Shapes of power budgets: the question, the order, and the proof."""

from clusters.api.fields import Name, Reason
from rest import fields
from rest.serializers import StrictSerializer

MINUTE_OF_DAY = {"min_value": 0, "max_value": 1439}


class PowerBudgetIn(StrictSerializer):
    """With `dry_run` (the default) nothing is done: the answer says what would be."""

    watts = fields.Integer(min_value=1, max_value=2**31 - 1)
    partition = Name(required=False, allow_null=True)
    starts_at = fields.Instant(required=False, help_text="Now, if left out or past.")
    ends_at = fields.Instant(required=False, allow_null=True, help_text="Null: until withdrawn.")
    from_minute = fields.Integer(
        **MINUTE_OF_DAY,
        required=False,
        allow_null=True,
        help_text="With to_minute: only at this time of every day; over midnight if it is later.",
    )
    to_minute = fields.Integer(**MINUTE_OF_DAY, required=False, allow_null=True)
    timezone = fields.Text(max_length=64, required=False, help_text="An IANA time zone.")
    reason = Reason(required=False)
    dry_run = fields.Boolean(default=True)


class StepOut(StrictSerializer):
    at = fields.Text()
    baseline_w = fields.Number()
    expected_w = fields.Number()


class EstimateOut(StrictSerializer):
    """The live queue run forward by its own policy, without and with the budget."""

    from_at = fields.Text()
    until_at = fields.Text()
    baseline_w = fields.Number(help_text="Mean draw of the window without the budget, before PUE.")
    expected_w = fields.Number()
    highest_w = fields.Number()
    shed_w = fields.Number()
    energy_not_drawn_j = fields.Number()
    feasible = fields.Boolean()
    met_at = fields.Text(
        allow_null=True, help_text="From when on the draw stays within; null: it does not."
    )
    within = fields.Number(help_text="Share of the window.")
    jobs = fields.Integer()
    jobs_delayed = fields.Integer()
    mean_delay_s = fields.Number(allow_null=True)
    worst_delay_s = fields.Number(allow_null=True)
    complete = fields.Boolean(help_text="False: time ran out, and delays are not known.")
    curve = StepOut(many=True)


class PowerBudgetOut(StrictSerializer):
    id = fields.Integer(allow_null=True, help_text="Null: only asked, not ordered.")
    cluster = fields.Text(source="cluster.name")
    partition = fields.Text(source="partition.name", allow_null=True)
    watts = fields.Integer()
    starts_at = fields.Instant()
    ends_at = fields.Instant(allow_null=True)
    from_minute = fields.Integer(allow_null=True)
    to_minute = fields.Integer(allow_null=True)
    timezone = fields.Text()
    reason = fields.Text(allow_blank=True)
    ordered_by = fields.Text(allow_blank=True)
    estimate = EstimateOut(allow_null=True)
    version = fields.Integer()


class MinuteOut(StrictSerializer):
    at = fields.Instant()
    measured_w = fields.Number()
    budget_w = fields.Integer()
    baseline_w = fields.Number(allow_null=True)
    unread_gpus = fields.Integer()


class ProofOut(StrictSerializer):
    """From telemetry, hosts estimated; of at most the last 1,440 minutes."""

    minutes = MinuteOut(many=True)
    within = fields.Number(allow_null=True, help_text="Share of minutes at most 2 % above.")
    worst_w = fields.Number(allow_null=True)
    mean_w = fields.Number(allow_null=True)
    energy_j = fields.Number()
    energy_not_drawn_j = fields.Number(
        allow_null=True, help_text="Below what was estimated without the budget."
    )


class PowerBudgetProofOut(PowerBudgetOut):
    proof = ProofOut()
