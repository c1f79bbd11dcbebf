"""How well the simulator predicts the service: emulated nodes and a run from the same start."""

from collections.abc import Mapping
from time import sleep

from lab.benchmarks.agreement import outcomes
from lab.benchmarks.agreement.outcomes import JobOutcome
from lab.benchmarks.figures import figure
from lab.benchmarks.harness import demo
from lab.benchmarks.harness.service import agents, api
from lab.benchmarks.harness.waiting import until

CASE = "4x8/20"
BAR_PCT = 5.0
# GPUs and seconds of every job: several waves on the demo's 32 GPUs, with gangs over two nodes, run
# times between 20 and 58 s that no two jobs share.
GANGS = (16, 8, 4, 4, 2, 8, 1, 4, 2, 1)
WORKLOAD = [(GANGS[at % len(GANGS)], 20 + 2 * (7 * at % 20)) for at in range(20)]
# Run before, so that the cluster's history tells how long the way to a node and back is.
WARM_UP = [(16, 10), (8, 10), (4, 10), (2, 10), (1, 10), (1, 10)]


def main(database_url: str) -> None:
    with api(database_url) as service:
        made = demo.seed(service)
        with agents(made.nodes, service), service.client(made.operator_token) as http:
            until(demo.all_ready, "nodes are ready")
            outcomes.submit(WARM_UP)
            until(demo.step, "the first jobs have ended", jobs_at=http)
            latency = outcomes.latency()
            snapshot = outcomes.submit(WORKLOAD)
            until(demo.step, "jobs have ended", jobs_at=http)
            sleep(3)
            predicted = outcomes.predicted(snapshot, latency)
            actual = outcomes.actual()
            report({job: done for job, done in actual.items() if job in predicted}, predicted)


def report(actual: Mapping[int, JobOutcome], predicted: Mapping[int, JobOutcome]) -> None:
    alike = sum(actual[job].where == predicted[job].where for job in actual)
    figure("agreement", CASE, "placements", 100 * alike / len(actual), "%", at_least=100)
    for metric, name in (("mean_jct", "jct_s"), ("energy", "gpu_j")):
        ours = sum(getattr(done, name) for done in actual.values())
        theirs = sum(getattr(done, name) for done in predicted.values())
        off_pct = 100 * abs(ours - theirs) / ours
        figure("agreement", CASE, f"{metric}_off", off_pct, "%", at_most=BAR_PCT)
