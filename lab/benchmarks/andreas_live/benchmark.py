"""Predicted against actual cost on a running service: twenty jobs under a time-of-use tariff.

Jobs have profiles that are right for the emulated nodes, and stay where they were placed: what a
job was expected to cost can be held against what it did cost only if it is left alone.
"""

from time import sleep

from lab.benchmarks.andreas_live import workload
from lab.benchmarks.figures import figure
from lab.benchmarks.harness import demo
from lab.benchmarks.harness.service import agents, api
from lab.benchmarks.harness.waiting import until
from scheduling.costs import CostReport

CASE = "4x8/20 jobs"
BAR_PCT = 13.0
GOAL_PCT = 5.0


def main(database_url: str) -> None:
    with api(database_url) as service:
        made = demo.seed(service)
        workload.prepare()
        with agents(made.nodes, service), service.client(made.operator_token) as http:
            until(demo.all_ready, "nodes are ready")
            workload.submit()
            until(demo.step, "jobs have ended", jobs_at=http, pause_s=0.5)
            # The last readings and ends are on their way.
            sleep(10)
            report(workload.costs())


def report(costs: CostReport) -> None:
    totals = costs.totals
    off_pct = 100 * abs(totals["deviation"])
    worst_pct = 100 * max(abs(line["deviation"]) for line in costs.lines)
    figure("andreas-live", CASE, "jobs", costs.jobs, "jobs", at_least=20)
    figure("andreas-live", CASE, "predicted", float(totals["predicted_full"]), "EUR")
    figure("andreas-live", CASE, "actual", float(totals["actual_full"]), "EUR")
    figure("andreas-live", CASE, "total_cost_off", off_pct, "%", at_most=BAR_PCT)
    figure("andreas-live", CASE, "total_cost_off_goal", off_pct, "%", at_most=GOAL_PCT)
    figure("andreas-live", CASE, "worst_job_cost_off", worst_pct, "%", at_most=BAR_PCT)
