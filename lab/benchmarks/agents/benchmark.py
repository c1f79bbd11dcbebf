"""How many agents one service bears, and how soon a placement or an order reaches its node."""

import argparse

from lab.benchmarks.agents import cases
from lab.benchmarks.agents.starts import starts_s
from lab.benchmarks.figures import figure
from lab.benchmarks.harness.service import stack

AGENTS, NODES, FLOODED = 10_000, 1000, 500
START_P95_S = 2.0


def main(database_url: str, *options: str) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, default=AGENTS, help="of the crowd")
    parser.add_argument("--nodes", type=int, default=NODES, help="of submits and orders")
    parser.add_argument("--flooded", type=int, default=FLOODED, help="nodes, eight jobs each")
    parser.add_argument("--cases", default="crowd,starts,order,flood,demo")
    asked = parser.parse_args(options)
    sizes = {"crowd": asked.agents, "starts": asked.nodes, "order": asked.nodes,
             "flood": asked.flooded}  # fmt: skip
    with stack(database_url) as service:
        for name in asked.cases.split(","):
            if name in sizes:
                getattr(cases, name)(service, sizes[name])
    if "demo" in asked.cases:
        _processes()


def _processes() -> None:
    """With real agents and processes, on the demo cluster."""
    taken_s = starts_s()
    for metric, share in (("p50", 0.5), ("p95", 0.95)):
        value = taken_s[round(share * (len(taken_s) - 1))]
        figure("agents", f"{len(taken_s)} submits", f"start_{metric}_s", value, "s",
               at_most=START_P95_S if metric == "p95" else None)  # fmt: skip
