"""The trace formats there are: one row each, from a name to its reader."""

from collections.abc import Callable
from pathlib import Path

from simulator.traces import alibaba, batch, clusters, own, research, sacct
from simulator.traces.collect import Report
from simulator.workload import Trace

READERS: dict[str, Callable[[Path], tuple[Trace, Report]]] = {
    "own": own.own,
    "philly": clusters.philly,
    "helios": clusters.helios,
    "acme": clusters.acme,
    "openb": alibaba.openb_pods,
    "pai": alibaba.pai,
    "sacct": sacct.sacct,
    "swf": batch.swf,
    "muri": research.muri,
    "elasticflow": research.elasticflow,
}
