"""Shapes of profiles, their points and versions, predictions and profiling runs."""

from jobs.models import Profile, ProfileFit, ProfilePoint, ProfilingRun
from rest import fields
from rest.serializers import StrictSerializer


class PointOut(StrictSerializer):
    gpu_type = fields.Text(read_only=True)
    gpus = fields.Integer(read_only=True)
    steps_per_s = fields.Number(read_only=True)
    clock_mhz = fields.Integer(read_only=True, allow_null=True)
    watts_per_gpu = fields.Number(read_only=True, allow_null=True)
    cpus_per_gpu = fields.Number(read_only=True, allow_null=True)
    memory_mib_per_gpu = fields.Number(read_only=True, allow_null=True)


class MeasuredPointOut(PointOut):
    id = fields.Integer(read_only=True)
    source = fields.Choice(ProfilePoint.Source.choices, read_only=True)  # type: ignore[assignment]
    weight = fields.Number(read_only=True)
    accepted = fields.Boolean(
        read_only=True, help_text="False: too far from what is known to be believed."
    )
    attempt_id = fields.Integer(read_only=True, allow_null=True)
    measured_at = fields.Instant(read_only=True)


class FitOut(StrictSerializer):
    """One version: models by GPU type, with relative errors and the ranges in which they hold."""

    number = fields.Integer(read_only=True)
    cause = fields.Choice(ProfileFit.Cause.choices, read_only=True)
    points = fields.Integer(read_only=True)
    mean_error = fields.Number(read_only=True, allow_null=True)
    worst_error = fields.Number(read_only=True, allow_null=True)
    models = fields.JsonObject(read_only=True, source="models_fitted")
    made_at = fields.Instant(read_only=True)


class ProfileOut(StrictSerializer):
    id = fields.Integer(read_only=True)
    name = fields.Text(read_only=True)
    tenant = fields.Text(read_only=True, source="tenant_name")
    basis = fields.Choice(Profile.Basis.choices, read_only=True)
    inline = fields.Boolean(read_only=True)
    dataset_mib = fields.Number(read_only=True, allow_null=True)
    step_mib = fields.Number(read_only=True, allow_null=True)
    storage_mib_per_s = fields.Number(read_only=True, allow_null=True)
    points = PointOut(many=True, read_only=True, source="given_points")
    fit = FitOut(read_only=True, allow_null=True)
    fit_refused = fields.Text(read_only=True, help_text="Why the newest points were not fitted.")
    drift = fields.Text(read_only=True, help_text="How the newest attempts contradict the fit.")
    drift_at = fields.Instant(read_only=True, allow_null=True)
    version = fields.Integer(read_only=True)
    created_at = fields.Instant(read_only=True)
    updated_at = fields.Instant(read_only=True)


class PredictionOut(StrictSerializer):
    """`leaves` names what lies outside everything measured: there the interval is a guess."""

    profile_id = fields.Integer(read_only=True)
    fit = fields.Integer(read_only=True, allow_null=True)
    gpu_type = fields.Text(read_only=True)
    gpus = fields.Integer(read_only=True)
    clock_mhz = fields.Integer(read_only=True, allow_null=True)
    cpus_per_gpu = fields.Number(read_only=True, allow_null=True)
    memory_mib_per_gpu = fields.Number(read_only=True, allow_null=True)
    source = fields.Choice(Profile.Basis.choices, read_only=True)  # type: ignore[assignment]
    steps_per_s = fields.Number(read_only=True, allow_null=True)
    low = fields.Number(read_only=True, allow_null=True)
    high = fields.Number(read_only=True, allow_null=True)
    watts_per_gpu = fields.Number(read_only=True, allow_null=True)
    low_w = fields.Number(read_only=True, allow_null=True)
    high_w = fields.Number(read_only=True, allow_null=True)
    extrapolated = fields.Boolean(read_only=True)
    leaves = fields.Items(child=fields.Text(), read_only=True)


class SweptOut(StrictSerializer):
    clock_mhz = fields.Integer(read_only=True, allow_null=True)
    cpus = fields.Integer(read_only=True)
    steps_per_s = fields.Number(read_only=True, allow_null=True)
    watts = fields.Number(read_only=True, allow_null=True)


class ProfilingRunOut(StrictSerializer):
    id = fields.Integer(read_only=True)
    profile_id = fields.Integer(read_only=True)
    job_id = fields.Integer(read_only=True)
    cluster = fields.Text(read_only=True, source="cluster_name")
    state = fields.Choice(ProfilingRun.State.choices, read_only=True)
    detail = fields.Text(read_only=True)
    measured = SweptOut(many=True, read_only=True)
    created_at = fields.Instant(read_only=True)
    admitted_at = fields.Instant(read_only=True, allow_null=True)
    began_at = fields.Instant(read_only=True, allow_null=True)
    ended_at = fields.Instant(read_only=True, allow_null=True)
