"""What one round costs: load, plan, check, apply and the queries, at three sizes of cluster."""

from datetime import timedelta
from statistics import median

from lab.benchmarks.figures import figure
from lab.benchmarks.round import cluster as cluster_rows

# (nodes of 8 GPUs, queued, running)
SIZES = ((16, 100, 100), (128, 1_000, 1_000), (1_250, 10_000, 10_000))
POLICIES = ("fifo", "fifo-backfill", "las", "srtf")
REPEATS = 5
NOW_STEP = timedelta(seconds=30)


def main(_database_url: str) -> None:
    costs: dict[str, list[float]] = {}
    for size in SIZES:
        case = f"{size[0]}x8/{size[1]}/{size[2]}"
        largest = size == SIZES[-1]
        cluster = cluster_rows.build(*size)
        for policy in POLICIES:
            cluster.policy = policy
            laps = [cluster_rows.measure(cluster, NOW_STEP * turn) for turn in range(REPEATS)]
            plan_ms = median(lap.plan_ms for lap in laps)
            check_ms = median(lap.check_ms for lap in laps)
            figure("round", f"{case} {policy}", "plan_ms", plan_ms, "ms",
                   at_most=150 if largest else None)  # fmt: skip
            figure("round", f"{case} {policy}", "check_ms", check_ms, "ms")
            costs.setdefault(policy, []).append(plan_ms)
        load_ms = median(lap.load_ms for lap in laps)
        figure("round", case, "load_ms", load_ms, "ms", at_most=700 if largest else None)
        costs.setdefault("load", []).append(load_ms)
        applied = cluster_rows.measure_apply(cluster)
        figure("round", case, "apply_ms", applied.ms, "ms")
        figure("round", case, "placements", applied.placements, "jobs")
        figure("round", case, "apply_rate", applied.placements / applied.ms * 1000, "jobs/s",
               at_least=1_500 if largest else None)  # fmt: skip
        figure("round", case, "load_queries", applied.load_queries, "queries")
        figure("round", case, "apply_queries_per_transaction", applied.queries_each, "queries")
        figure("round", case, "record_queries", applied.record_queries, "queries")
    for step, (_, middle, large) in costs.items():
        figure("round", "128x8 to 1250x8", f"{step}_growth", large / middle, "ratio",
               at_most=cluster_rows.n_log_n_growth(SIZES[1], SIZES[2]))  # fmt: skip
