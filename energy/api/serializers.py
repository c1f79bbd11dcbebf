"""Shapes of energy and money; money and grams are decimals, energy whole millijoules."""

from energy.models import LedgerRow
from jobs.models import Attempt
from rest import fields
from rest.serializers import StrictSerializer


class SumsOut(StrictSerializer):
    gpu_mj = fields.Integer(read_only=True, source="total_gpu_mj")
    host_mj = fields.Integer(read_only=True, source="total_host_mj")
    cost = fields.Amount(28, 12, read_only=True, source="total_cost")
    currency = fields.Text(read_only=True)
    carbon_g = fields.Amount(28, 12, read_only=True, source="total_carbon_g")
    unpriced_mj = fields.Integer(
        read_only=True, help_text="Drawn in hours whose price is not known yet; not in the cost."
    )


class WindowOut(SumsOut):
    """At most an hour of one price; `coverage` is the share of it that readings cover."""

    starts_at = fields.Instant(read_only=True)
    ends_at = fields.Instant(read_only=True)
    method = fields.Choice(LedgerRow.Method.choices, read_only=True)
    pue = fields.Amount(4, 2, read_only=True)
    price_per_kwh = fields.Amount(16, 12, read_only=True, allow_null=True)
    g_per_kwh = fields.Amount(9, 3, read_only=True, allow_null=True)
    coverage = fields.Number(read_only=True, source="covered")


class MeterOut(StrictSerializer):
    """The stretch of one GPU's counter that belongs to the attempt."""

    node = fields.Text(read_only=True)
    uuid = fields.Text(read_only=True)
    start_mj = fields.Integer(read_only=True)
    now_mj = fields.Integer(read_only=True)
    integrated = fields.Boolean(
        read_only=True, help_text="The GPU has no counter: power was added up over time."
    )
    final = fields.Boolean(read_only=True)
    since_at = fields.Instant(read_only=True)
    until_at = fields.Instant(read_only=True)


class AttemptEnergyOut(StrictSerializer):
    number = fields.Integer(read_only=True)
    state = fields.Choice(Attempt.State.choices, read_only=True)
    predicted_mj = fields.Integer(read_only=True, allow_null=True)
    predicted_by = fields.Choice(Attempt.Prediction.choices, read_only=True, allow_null=True)
    gpu_mj = fields.Integer(read_only=True)
    prediction_error = fields.Number(
        read_only=True, allow_null=True, help_text="0.1: a tenth more was expected than was drawn."
    )
    meters = MeterOut(many=True, read_only=True)
    windows = WindowOut(many=True, read_only=True)


class JobEnergyOut(StrictSerializer):
    job_id = fields.Integer(read_only=True)
    totals = SumsOut(many=True, read_only=True)
    open_mj = fields.Integer(read_only=True, help_text="Counted, but not yet in the ledger.")
    attempts = AttemptEnergyOut(many=True, read_only=True)


class StatementLineOut(SumsOut):
    job_id = fields.Integer(read_only=True)
    name = fields.Text(read_only=True)
    cluster = fields.Text(read_only=True, source="cluster_name")


class StatementOut(StrictSerializer):
    """Of windows that begin in [from_at, until_at); totals are of all lines, on whatever page."""

    tenant = fields.Text(read_only=True)
    from_at = fields.Instant(read_only=True)
    until_at = fields.Instant(read_only=True)
    totals = SumsOut(many=True, read_only=True)
    lines = StatementLineOut(many=True, read_only=True)
    next = fields.Text(read_only=True, allow_null=True)


class GpuBalanceOut(StrictSerializer):
    uuid = fields.Text(read_only=True)
    index = fields.Integer(read_only=True)
    reading_mj = fields.Integer(read_only=True)
    counter_mj = fields.Integer(read_only=True)
    billed_mj = fields.Integer(read_only=True)
    open_mj = fields.Integer(read_only=True)
    idle_mj = fields.Integer(read_only=True)
    gap_mj = fields.Integer(read_only=True)


class NodeEnergyOut(StrictSerializer):
    """`counter_mj` is `billed_mj + open_mj + idle_mj + gap_mj`, for every GPU."""

    node = fields.Text(read_only=True)
    samples_refused = fields.Integer(read_only=True)
    samples_shed = fields.Integer(read_only=True)
    gpus = GpuBalanceOut(many=True, read_only=True)


class RepriceIn(StrictSerializer):
    from_at = fields.Instant()
    until_at = fields.Instant()


class RepricedOut(StrictSerializer):
    rows = fields.Integer(read_only=True, help_text="Rows added to the ledger.")
