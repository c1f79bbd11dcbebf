"""`make bench NAME=outages`: lost jobs and delayed starts while parts of the service are away.

Ten minutes each, as the promises say; `python -m lab.benchmarks.run outages 60` takes a minute
each, and `… outages 60 broker` one case of: control-plane, broker, failover, promote.
"""

from collections.abc import Callable

from lab.benchmarks.outages import broker, control_plane, failover, promote

CASES: dict[str, Callable[[str, float], None]] = {
    "control-plane": control_plane.measure,
    "broker": broker.measure,
    "failover": failover.measure,
    "promote": promote.measure,
}


def main(database_url: str, seconds: str = "600", *cases: str) -> None:
    for name in cases or CASES:
        CASES[name](database_url, float(seconds))
