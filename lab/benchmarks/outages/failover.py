"""A worker, a beat and a ticker killed while their twins go on; then both workers and beats."""

from lab.benchmarks.outages.composition import SECOND, Composition, composition
from lab.benchmarks.outages.load import keep_submitting, report
from lab.benchmarks.outages.work import working

NODES = 2
SECONDS = 60.0
DELAY_S = 15.0


def measure(database_url: str, seconds: float) -> None:
    with composition(database_url) as site:
        with working(site.service, "one-left", nodes=NODES) as http:
            jobs = keep_submitting(
                http, "one-left", min(seconds, SECONDS), at_first=lambda: _kill_one(site)
            )
            report("one of two schedulers killed", jobs, delay_at_most_s=DELAY_S)
        with working(site.service, "none-left", nodes=NODES) as http:
            jobs = keep_submitting(
                http, "none-left", min(seconds, SECONDS), at_first=lambda: _kill_rest(site)
            )
            report("all workers and beats killed", jobs, delay_at_most_s=DELAY_S)


def _kill_one(site: Composition) -> None:
    site.kill("worker", "beat", "ticker")


def _kill_rest(site: Composition) -> None:
    """One ticker is left."""
    site.kill("worker" + SECOND, "beat" + SECOND)
