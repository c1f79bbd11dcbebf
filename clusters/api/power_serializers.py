"""Shapes of measured power."""

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


class ClusterPowerOut(StrictSerializer):
    cluster = fields.Text()
    states = PowerStateOut(many=True)
    breaches = PowerBreachOut(many=True)
