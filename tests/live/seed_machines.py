"""What every tenant may look at: one cluster with all that belongs to it."""

from datetime import datetime
from decimal import Decimal

from django.contrib.auth import get_user_model

from clusters import services
from clusters.models import Cluster, Gpu, Node
from energy.models import PowerBudget
from scheduling.models import Round
from scheduling.round import run_round
from tariffs import services as tariff_services
from tariffs.services.hours import Mode
from tenancy.callers import SYSTEM
from tests.live.world import Ids

# The examples in the schema speak of this cluster, GPU type and person.
CLUSTER, GPU_TYPE, PERSON = "demo", "A100", "ada"
PRICES = "starts_at,price_per_kwh\n2026-01-31T06:00Z,0.08\n2026-01-31T07:00Z,0.09\n"
GRAMS = "starts_at,g_per_kwh\n2026-01-31T06:00Z,213\n2026-01-31T07:00Z,214\n"


class Machines:
    ids: Ids

    def __init__(self, now: datetime) -> None:
        get_user_model().objects.create(username=PERSON)
        caller = SYSTEM
        tariff = tariff_services.tariff_create(
            caller=caller, values={"name": "spot", "kind": "hourly", "currency": "EUR"}
        )
        tariff_services.tariff_import(
            caller=caller, tariff=tariff, csv=PRICES, mode=Mode.REPLACE, now=now
        )
        series = tariff_services.carbon_series_create(caller=caller, values={"name": "de"})
        tariff_services.carbon_import(
            caller=caller, series=series, csv=GRAMS, mode=Mode.REPLACE, now=now
        )
        self.cluster = services.cluster_create(
            caller=caller,
            values={"name": CLUSTER, "tariff": "spot", "carbon_series": "de", "pue": Decimal(1)},
        )
        Cluster.objects.update(shadow_policy="las")
        partition = services.partition_create(
            caller, {"cluster": CLUSTER, "name": "main", "lends": True}
        )
        switch = services.switch_create(caller, {"cluster": CLUSTER, "name": "leaf"})
        rack = services.rack_create(caller, {"cluster": CLUSTER, "name": "rack", "switch": "leaf"})
        self.gpu_type = services.gpu_type_create(
            caller=caller,
            values={"name": GPU_TYPE, "memory_mib": 81_920, "idle_w": 60, "max_w": 400},
        )
        self.node = services.node_create(
            caller=caller,
            values={
                "cluster": CLUSTER,
                "gpu_count": 2,
                "name": "node",
                "gpu_type": GPU_TYPE,
                "rack": "rack",
                "state": "ready",
                "cpus": 64,
                "memory_mib": 512 * 1024,
            },
        )
        # Both tenants have an attempt on it.
        Node.objects.filter(pk=self.node.pk).update(wall=Node.Wall.UID, workloads=True, git=True)
        self.volume = services.volume_create(
            caller, {"cluster": CLUSTER, "name": "shared", "path": "/srv/shared", "everyone": True}
        )
        join_token = services.join_token_create(
            caller=caller, cluster=CLUSTER, lifetime_s=3600, now=now
        )
        budget = PowerBudget.objects.create(
            cluster=self.cluster, partition=partition, watts=100_000, starts_at=now
        )
        self.gpus = list(Gpu.objects.filter(node=self.node).order_by("index"))
        self.ids = {
            "clusters": self.cluster.pk,
            "partitions": partition.pk,
            "switches": switch.pk,
            "racks": rack.pk,
            "volumes": self.volume.pk,
            "gpu-types": self.gpu_type.pk,
            "nodes": self.node.pk,
            "gpus": self.gpus[0].pk,
            "join-tokens": join_token.pk,
            "tariffs": tariff.pk,
            "carbon-series": series.pk,
            "policies": "fifo",
            "power-budget": budget.pk,
        }

    def hold(self, cpus: int, memory_mib: int) -> None:
        """Room on the node that an attempt takes."""
        node = Node.objects.get(pk=self.node.pk)
        node.gpus_in_use += 1
        node.cpus_used += cpus
        node.memory_used_mib += memory_mib
        node.save(update_fields=["gpus_in_use", "cpus_used", "memory_used_mib"])

    def run_round(self, now: datetime) -> None:
        entry = run_round(self.cluster.pk, now=now)
        if entry is None or entry.status != Round.Status.DONE:
            raise RuntimeError(f"the round went wrong: {entry and entry.error}")
        self.ids["rounds"] = entry.pk
