"""API, workers, beats and tickers killed, and away for a while, under twenty running jobs."""

from time import sleep

from lab.benchmarks.figures import figure
from lab.benchmarks.harness.waiting import ready_nodes, until
from lab.benchmarks.outages.composition import composition
from lab.benchmarks.outages.work import attempts, running, submit, working

JOBS, NODES = 20, 3
SETTLE_S = 30.0


def measure(database_url: str, seconds: float) -> None:
    with (
        composition(database_url) as site,
        working(site.service, "steady", nodes=NODES) as http,
    ):
        argv = ["sleep", str(int(seconds) + 600)]
        jobs = [submit(http, "steady", argv, f"steady-{number}") for number in range(JOBS)]
        until(lambda: running(jobs) == JOBS, "all jobs run")
        site.kill_all()
        sleep(seconds)
        site.start_all()
        until(lambda: ready_nodes(http) == NODES, "the nodes are back")
        # As long as it would take to give attempts up, were their leases over.
        sleep(SETTLE_S)
        case = f"control plane away for {seconds:.0f} s"
        figure("outages", case, "jobs lost", JOBS - running(jobs), "jobs", at_most=0)
        begun_again = attempts(jobs) - JOBS
        figure("outages", case, "jobs begun again", begun_again, "jobs", at_most=0)
