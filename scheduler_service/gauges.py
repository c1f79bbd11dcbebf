"""The state of the service at the moment of a scrape, read from the record."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from django.db import DatabaseError, connection
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from tenancy.rls import ALL, scope

# Whoever scrapes more often gets the same figures: the page is open to all.
FRESH_S = 5.0


@dataclass(frozen=True, slots=True)
class Gauge:
    """Rows of `sql` are the labels' values and then the figure."""

    name: str
    about: str
    labels: tuple[str, ...]
    sql: str


_LAST = (
    "FROM clusters_cluster cluster CROSS JOIN LATERAL (SELECT objective FROM scheduling_round"
    "   WHERE cluster_id = cluster.id ORDER BY id DESC LIMIT 1) round"
    " WHERE round.objective IS NOT NULL"
)
# A policy that was replaced leaves no figures behind.
_BOUNDED = (
    "FROM clusters_cluster cluster CROSS JOIN LATERAL (SELECT * FROM scheduling_round"
    "   WHERE cluster_id = cluster.id AND bound IS NOT NULL ORDER BY id DESC LIMIT 1) round"
    " WHERE round.policy = cluster.policy"
)
GAUGES = (
    Gauge(
        "fairwatt_jobs",
        "Jobs that are not over, by cluster and state.",
        ("cluster", "state"),
        "SELECT cluster.name, job.state, count(*) FROM jobs_job job"
        " JOIN clusters_cluster cluster ON cluster.id = job.cluster_id"
        " WHERE job.state IN ('queued', 'placed', 'running', 'preempting') GROUP BY 1, 2",
    ),
    Gauge(
        "fairwatt_nodes",
        "Nodes by cluster and state.",
        ("cluster", "state"),
        "SELECT cluster.name, node.state, count(*) FROM clusters_node node"
        " JOIN clusters_cluster cluster ON cluster.id = node.cluster_id GROUP BY 1, 2",
    ),
    Gauge(
        "fairwatt_gpus",
        "GPUs by cluster: all, those that may be used, those that attempts hold.",
        ("cluster", "which"),
        "SELECT cluster.name, which.name, count(*) FILTER (WHERE CASE which.name"
        "   WHEN 'usable' THEN gpu.healthy AND gpu.fault = '' AND node.state = 'ready'"
        "   WHEN 'held' THEN allocation.id IS NOT NULL ELSE true END)"
        " FROM clusters_gpu gpu JOIN clusters_node node ON node.id = gpu.node_id"
        " JOIN clusters_cluster cluster ON cluster.id = node.cluster_id"
        " LEFT JOIN jobs_allocation allocation"
        "   ON allocation.gpu_id = gpu.id AND allocation.released_at IS NULL"
        " CROSS JOIN (VALUES ('all'), ('usable'), ('held')) AS which (name) GROUP BY 1, 2",
    ),
    Gauge(
        "fairwatt_gpu_energy_joules",
        "What the GPUs' counters have counted since they were first read.",
        ("cluster",),
        "SELECT cluster.name, sum(counter.last_mj - counter.first_mj) / 1000.0"
        " FROM energy_gpucounter counter JOIN clusters_gpu gpu ON gpu.id = counter.gpu_id"
        " JOIN clusters_node node ON node.id = gpu.node_id"
        " JOIN clusters_cluster cluster ON cluster.id = node.cluster_id GROUP BY 1",
    ),
    Gauge(
        "fairwatt_samples_refused",
        "Readings that could not be true, and those that agents had to drop.",
        ("cluster", "why"),
        "SELECT cluster.name, why.name, sum(CASE why.name WHEN 'refused'"
        "   THEN node.samples_refused ELSE node.samples_shed END)"
        " FROM clusters_node node JOIN clusters_cluster cluster ON cluster.id = node.cluster_id"
        " CROSS JOIN (VALUES ('refused'), ('shed')) AS why (name) GROUP BY 1, 2",
    ),
    Gauge(
        "fairwatt_sample_inbox",
        "Samples that came in and were not read yet, at most.",
        (),
        "SELECT coalesce(max(id) - min(id) + 1, 0) FROM energy_sampleinbox",
    ),
    Gauge(
        "fairwatt_meters_due",
        "Meters that the ledger should have looked at by now.",
        (),
        "SELECT count(*) FROM energy_meter WHERE due_at < now()",
    ),
    Gauge(
        "fairwatt_power_watts",
        "Mean of the last measured minute, its budget, and what rounds plan below it.",
        ("cluster", "partition", "which"),
        "SELECT cluster.name, coalesce(partition.name, ''), which.name, which.watts"
        " FROM energy_powerstate state JOIN clusters_cluster cluster"
        "   ON cluster.id = state.cluster_id"
        " LEFT JOIN clusters_partition partition ON partition.id = state.partition_id"
        " CROSS JOIN LATERAL (VALUES ('measured', measured_w), ('budget', budget_w),"
        "   ('correction', correction_w)) AS which (name, watts) WHERE which.watts IS NOT NULL",
    ),
    Gauge(
        "fairwatt_power_breaches",
        "Times that a minute's mean was above its budget: all, and those that go on.",
        ("cluster", "which"),
        "SELECT cluster.name, which.name, count(breach.id) FILTER (WHERE which.name = 'all'"
        "   OR breach.ended_at IS NULL) FROM clusters_cluster cluster"
        " CROSS JOIN (VALUES ('all'), ('open')) AS which (name)"
        " LEFT JOIN energy_powerbreach breach ON breach.cluster_id = cluster.id GROUP BY 1, 2",
    ),
    Gauge(
        "fairwatt_gpus_remarked",
        "GPUs that telemetry finds fault with, such as a clock that they ignore.",
        ("cluster",),
        "SELECT cluster.name, count(gpu.id) FILTER (WHERE gpu.remark <> '')"
        " FROM clusters_cluster cluster LEFT JOIN clusters_node node"
        "   ON node.cluster_id = cluster.id"
        " LEFT JOIN clusters_gpu gpu ON gpu.node_id = node.id GROUP BY 1",
    ),
    Gauge(
        "fairwatt_brake",
        "1 while most nodes of the cluster are silent and none is marked lost.",
        ("cluster",),
        "SELECT name, (brake_since_at IS NOT NULL)::int FROM clusters_cluster",
    ),
    Gauge(
        "fairwatt_round_seconds",
        "How long each step of the cluster's last round took.",
        ("cluster", "step"),
        "SELECT cluster.name, step.name, step.ms / 1000 FROM clusters_cluster cluster"
        " CROSS JOIN LATERAL (SELECT * FROM scheduling_round WHERE cluster_id = cluster.id"
        "   ORDER BY id DESC LIMIT 1) round"
        " CROSS JOIN LATERAL (VALUES ('load', load_ms), ('plan', plan_ms), ('check', check_ms),"
        "   ('apply', apply_ms)) AS step (name, ms)",
    ),
    Gauge(
        "fairwatt_round_age_seconds",
        "Time since the cluster's last round began.",
        ("cluster",),
        "SELECT cluster.name, extract(epoch FROM now() - round.started_at)"
        " FROM clusters_cluster cluster CROSS JOIN LATERAL (SELECT started_at FROM scheduling_round"
        "   WHERE cluster_id = cluster.id ORDER BY id DESC LIMIT 1) round",
    ),
    Gauge(
        "fairwatt_round_objective",
        "Objective of the cluster's last round, and of the last of its policy that has a bound.",
        ("cluster", "which"),
        f"SELECT cluster.name, 'last', round.objective {_LAST}"
        f" UNION ALL SELECT cluster.name, 'bounded', round.objective {_BOUNDED}",
    ),
    Gauge(
        "fairwatt_round_bound",
        "What no plan falls below: of the cluster's last round that has a bound.",
        ("cluster",),
        f"SELECT cluster.name, round.bound {_BOUNDED}",
    ),
    Gauge(
        "fairwatt_round_gap",
        "How much of its objective lies above its bound: of the cluster's last round that has one.",
        ("cluster",),
        f"SELECT cluster.name, round.gap {_BOUNDED}",
    ),
)


class DatabaseGauges(Collector):
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._read_s = float("-inf")
        self._kept: list[GaugeMetricFamily] = []
        self._lock = threading.Lock()

    def collect(self) -> Iterable[GaugeMetricFamily]:
        with self._lock:
            if self._clock() - self._read_s > FRESH_S:
                self._read_s = self._clock()
                try:
                    self._kept = list(_families())
                except DatabaseError:
                    # Requests are counted all the same; /readyz says what is wrong.
                    self._kept = []
            return self._kept


def _families() -> Iterator[GaugeMetricFamily]:
    with scope(ALL), connection.cursor() as cursor:
        for gauge in GAUGES:
            family = GaugeMetricFamily(gauge.name, gauge.about, labels=gauge.labels)
            cursor.execute(gauge.sql)
            for *labels, value in cursor.fetchall():
                family.add_metric(labels, float(value))
            yield family


REGISTRY = CollectorRegistry(auto_describe=False)
REGISTRY.register(DatabaseGauges())
