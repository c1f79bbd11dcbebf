"""The benchmarks there are: one row each, from a name to the module that measures."""

from typing import NamedTuple


class Benchmark(NamedTuple):
    module: str
    """Its `main` prints the figures."""
    database: bool = False
    """`main` is given the address of a migrated one, and the module may import models."""


# In the order of `make bench`.
BENCHMARKS = {
    "agents": Benchmark("lab.benchmarks.agents.benchmark", database=True),
    "andreas": Benchmark("lab.benchmarks.plans.andreas"),
    "api": Benchmark("lab.benchmarks.api.benchmark", database=True),
    "client": Benchmark("lab.benchmarks.client.benchmark", database=True),
    "console": Benchmark("lab.benchmarks.console.benchmark", database=True),
    "event_costs": Benchmark("lab.benchmarks.event_costs.benchmark", database=True),
    "fairwatt": Benchmark("lab.benchmarks.plans.fairwatt"),
    "followers": Benchmark("lab.benchmarks.followers.benchmark", database=True),
    "plan": Benchmark("lab.benchmarks.plans.policies"),
    "powerflow": Benchmark("lab.benchmarks.plans.powerflow"),
    "profiles": Benchmark("lab.benchmarks.profiles.benchmark", database=True),
    "round": Benchmark("lab.benchmarks.round.benchmark", database=True),
    "short_jobs": Benchmark("lab.benchmarks.short_jobs.benchmark", database=True),
    "simulator": Benchmark("lab.benchmarks.simulator"),
    "synergy": Benchmark("lab.benchmarks.plans.synergy"),
    "outages": Benchmark("lab.benchmarks.outages.benchmark", database=True),
    "strangers": Benchmark("lab.benchmarks.strangers.benchmark", database=True),
    "agreement": Benchmark("lab.benchmarks.agreement.benchmark", database=True),
    "andreas-live": Benchmark("lab.benchmarks.andreas_live.benchmark", database=True),
    "powerflow-live": Benchmark("lab.benchmarks.powerflow_live.benchmark", database=True),
    "synergy-live": Benchmark("lab.benchmarks.synergy_live.benchmark", database=True),
}


def unknown(name: str) -> str:
    """What to say of a name that is not there."""
    return f"no benchmark {name!r}; there are {', '.join(BENCHMARKS)}"
