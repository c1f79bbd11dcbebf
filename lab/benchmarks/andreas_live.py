"""Predicted against actual cost on a running service: twenty jobs under a time-of-use tariff.

Jobs have profiles that are right for the emulated nodes, and stay where they were placed: what a
job was expected to cost can be held against what it did cost only if it is left alone.
"""

from time import sleep
from typing import Any

from lab.benchmarks.emulated import agents, service
from lab.benchmarks.figures import figure
from lab.benchmarks.service import database
from lab.benchmarks.waiting import until

CASE = "4x8/20 jobs"
BAR_PCT = 13.0
GOAL_PCT = 5.0


def main() -> None:
    with database() as url, service(url) as (address, directory):
        # They need Django set up.
        from lab.benchmarks import andreas_live_world, emulated_world

        nodes = emulated_world.seed(directory / "demo.json", address)
        andreas_live_world.prepare()
        with agents(nodes, address, directory):
            until(emulated_world.all_ready, "nodes are ready")
            andreas_live_world.submit()
            until(emulated_world.step, "jobs have ended", pause_s=0.5)
            # The last readings and ends are on their way.
            sleep(10)
            report(andreas_live_world.costs())


def report(costs: Any) -> None:
    totals = costs.totals
    off_pct = 100 * abs(totals["deviation"])
    worst_pct = 100 * max(abs(line["deviation"]) for line in costs.lines)
    figure("andreas-live", CASE, "jobs", costs.jobs, "jobs", at_least=20)
    figure("andreas-live", CASE, "predicted", float(totals["predicted"]), "EUR")
    figure("andreas-live", CASE, "actual", float(totals["actual"]), "EUR")
    figure("andreas-live", CASE, "total_cost_off", off_pct, "%", at_most=BAR_PCT)
    figure("andreas-live", CASE, "total_cost_off_goal", off_pct, "%", at_most=GOAL_PCT)
    figure("andreas-live", CASE, "worst_job_cost_off", worst_pct, "%", at_most=BAR_PCT)


if __name__ == "__main__":
    main()
