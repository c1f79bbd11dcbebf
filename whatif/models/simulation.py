"""A simulation that somebody asked for, and its runs: one per policy and seed."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from rest.constraints import Check, ConstraintRule, Unique, composite_target
from whatif.models.state import ENDED_WHEN_OVER, WorkState

_NO_SIMULATION = ConstraintRule("simulation_gone", "", "The simulation is gone.")


class Simulation(models.Model):
    class Kind(models.TextChoices):
        TRACE = "trace"
        LIVE = "live"

    # None of an operator's own.
    tenant = models.ForeignKey("tenancy.Tenant", models.CASCADE, null=True, db_index=False)
    requested_by = models.ForeignKey(
        "tenancy.ApiToken", models.SET_NULL, null=True, db_index=False, related_name="+"
    )
    cluster = models.ForeignKey("clusters.Cluster", models.CASCADE, null=True)
    name = models.TextField(default="")
    kind = models.TextField(choices=Kind)
    request = models.JSONField()
    state = models.TextField(choices=WorkState, default=WorkState.QUEUED)
    # The live queue as it was when the first run began, for all runs alike.
    snapshot = models.BinaryField(null=True)
    results = models.JSONField(null=True)
    report = models.BinaryField(null=True)
    error = models.TextField(default="")
    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    explained: ClassVar = {
        "tenant": ConstraintRule("in_use", "", "The tenant is gone, or still has simulations."),
        "requested_by": ConstraintRule(
            "in_use", "", "The token is gone, or has asked for simulations."
        ),
        "cluster": ConstraintRule(
            "unknown_cluster", "/cluster", "The cluster is gone, or still has simulations."
        ),
    }

    class Meta:
        constraints = (
            composite_target("simulation"),
            Check(
                "simulation_kind",
                Q(kind__in=("trace", "live")),
                "invalid_kind: A simulation is of a trace or live.",
                pointer="",
            ),
            Check(
                "simulation_ended_when_over",
                ENDED_WHEN_OVER,
                "invalid_state: It has an end exactly when it is over.",
                pointer="",
            ),
        )
        indexes = (
            models.Index(fields=["tenant", "-id"], name="simulation_by_tenant"),
            models.Index(
                fields=["tenant"],
                name="simulation_live",
                condition=Q(state__in=("queued", "running")),
            ),
        )

    def __str__(self) -> str:
        return self.name or f"simulation {self.pk}"


class SimulationRun(models.Model):
    tenant = models.ForeignKey("tenancy.Tenant", models.CASCADE, null=True, db_index=False)
    simulation = models.ForeignKey(
        Simulation, models.CASCADE, db_constraint=False, db_index=False, related_name="runs"
    )
    number = models.IntegerField()
    policy = models.TextField()
    label = models.TextField()
    parameters = models.JSONField(default=dict)
    seed = models.BigIntegerField()
    state = models.TextField(choices=WorkState, default=WorkState.QUEUED)
    # Grows with every worker that takes the run; a worker with an older one writes nothing.
    fence = models.IntegerField(default=0)
    simulated_s = models.FloatField(default=0)
    jobs_done = models.IntegerField(default=0)
    jobs_total = models.IntegerField(null=True)
    metrics = models.JSONField(null=True)
    # What the report draws, compressed; of the first seed of a policy only.
    series = models.BinaryField(null=True)
    error = models.TextField(default="")
    started_at = models.DateTimeField(null=True)
    # When its worker last said that it is alive.
    seen_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    explained: ClassVar = {
        "tenant": ConstraintRule("in_use", "", "The tenant is gone, or still has simulations."),
        "whatif_simulationrun_simulation_of_tenant": _NO_SIMULATION,
        "whatif_simulationrun_simulation_fk": _NO_SIMULATION,
    }

    class Meta:
        constraints = (
            Unique(
                "run_number_once",
                ["simulation", "number"],
                "run_exists: The simulation has this run already.",
                pointer="",
            ),
            Check(
                "run_ended_when_over",
                ENDED_WHEN_OVER,
                "invalid_state: It has an end exactly when it is over.",
                pointer="",
            ),
        )
        indexes = (
            models.Index(
                fields=["id"], name="run_live", condition=Q(state__in=("queued", "running"))
            ),
        )

    def __str__(self) -> str:
        return f"{self.label}, seed {self.seed}"
