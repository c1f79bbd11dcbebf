"""How well the simulator foretells the service: emulated nodes and a run from the same start."""

from collections.abc import Mapping
from time import sleep
from typing import NamedTuple

from lab.benchmarks.emulated import agents, service
from lab.benchmarks.figures import figure
from lab.benchmarks.service import database
from lab.benchmarks.waiting import until

CASE = "4x8/20"
BAR_PCT = 5.0
# GPUs and seconds of every job: several waves on the demo's 32 GPUs, with gangs over two nodes, run
# times between 20 and 58 s that no two jobs share.
GANGS = (16, 8, 4, 4, 2, 8, 1, 4, 2, 1)
WORKLOAD = [(GANGS[at % len(GANGS)], 20 + 2 * (7 * at % 20)) for at in range(20)]
# Run before, so that the cluster's history tells how long the way to a node and back is.
WARM_UP = [(16, 10), (8, 10), (4, 10), (2, 10), (1, 10), (1, 10)]


class Done(NamedTuple):
    """Of one job: (node, GPU mask) pairs, seconds until its end, and joules of its GPUs."""

    where: tuple[tuple[int, int], ...]
    jct_s: float
    gpu_j: float


def main() -> None:
    with database() as url, service(url) as (address, directory):
        # They need Django set up.
        from lab.benchmarks import agreement_world, emulated_world

        nodes = emulated_world.seed(directory / "demo.json", address)
        with agents(nodes, address, directory):
            until(emulated_world.all_ready, "nodes are ready")
            agreement_world.submit(WARM_UP)
            until(emulated_world.step, "the first jobs have ended")
            latency = agreement_world.latency()
            snapshot = agreement_world.submit(WORKLOAD)
            until(emulated_world.step, "jobs have ended")
            sleep(3)
            foretold = agreement_world.foretold(snapshot, latency)
            lived = agreement_world.lived()
            report({job: done for job, done in lived.items() if job in foretold}, foretold)


def report(lived: Mapping[int, Done], foretold: Mapping[int, Done]) -> None:
    alike = sum(lived[job].where == foretold[job].where for job in lived)
    figure("agreement", CASE, "placements", 100 * alike / len(lived), "%", at_least=100)
    for metric, name in (("mean_jct", "jct_s"), ("energy", "gpu_j")):
        ours = sum(getattr(done, name) for done in lived.values())
        theirs = sum(getattr(done, name) for done in foretold.values())
        off_pct = 100 * abs(ours - theirs) / ours
        figure("agreement", CASE, f"{metric}_off", off_pct, "%", at_most=BAR_PCT)


if __name__ == "__main__":
    main()
