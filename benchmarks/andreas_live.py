"""Predicted against actual cost on a running service: twenty jobs under a time-of-use tariff.

Jobs have profiles that are right for the emulated nodes, and stay where they were placed: what a
job was expected to cost can be held against what it did cost only if it is left alone.
"""

from contextlib import ExitStack
from time import monotonic, sleep
from typing import Any

from benchmarks.agreement import _agent, service
from benchmarks.figures import figure
from benchmarks.service import database
from scheduler_service.embedded.program import running

CASE = "4x8/20 jobs"
BAR_PCT = 13.0
GOAL_PCT = 5.0
LONGEST_S = 420.0


def main() -> None:
    with database() as url, service(url) as (address, directory):
        from benchmarks import andreas_live_world as world  # noqa: PLC0415  # needs Django set up

        agents = world.seed(directory / "demo.json", address)
        with ExitStack() as stack:
            for agent in agents:
                program = _agent(agent, address, directory)
                stack.enter_context(running(program, directory / "agent"))
            _until(world.all_ready, "nodes are ready")
            world.submit()
            _until(world.step, "jobs have ended")
            # The last readings and ends are on their way.
            sleep(10)
            report(world.costs())


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


def _until(holds: Any, what: str) -> None:
    ends_s = monotonic() + LONGEST_S
    while not holds():
        if monotonic() > ends_s:
            raise TimeoutError(f"waited {LONGEST_S:.0f} s until {what}")
        sleep(0.5)


if __name__ == "__main__":
    main()
