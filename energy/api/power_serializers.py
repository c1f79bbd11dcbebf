"""Shapes of measured power."""

from clusters.models import Cluster
from rest import fields
from rest.serializers import StrictSerializer


class PowerStateOut(StrictSerializer):
    partition = fields.Text(
        source="partition.name", allow_null=True, help_text="Null: the whole cluster."
    )
    budget_w = fields.Number(allow_null=True, help_text="Null: none is in force.")
    planned_w = fields.Number(
        allow_null=True, help_text="What rounds keep to: also what begins within seconds."
    )
    measured_w = fields.Number(allow_null=True, help_text="Mean of the minute until measured_at.")
    measured_at = fields.Instant(allow_null=True)
    unread_gpus = fields.Integer()
    correction_w = fields.Number()
    corrected_at = fields.Instant(allow_null=True)


class PowerBreachOut(StrictSerializer):
    id = fields.Integer()
    partition = fields.Text(source="partition.name", allow_null=True)
    budget_w = fields.Number()
    worst_w = fields.Number()
    began_at = fields.Instant()
    ended_at = fields.Instant(allow_null=True, help_text="Null: it goes on.")


class EnergyLeftOut(StrictSerializer):
    period = fields.Choice(Cluster.EnergyPeriod.choices)
    from_at = fields.Instant()
    until_at = fields.Instant()
    budget_wh = fields.Integer()
    drawn_wh = fields.Number(help_text="So far in this period, PUE included.")
    left_wh = fields.Number(help_text="Negative: more was drawn than was allowed.")
    counted_at = fields.Instant(
        help_text="Since then it is estimated from the last measured minute."
    )


class ClusterPowerOut(StrictSerializer):
    cluster = fields.Text()
    states = PowerStateOut(many=True)
    breaches = PowerBreachOut(many=True)
    energy = EnergyLeftOut(allow_null=True, help_text="Null: there is no energy budget.")
