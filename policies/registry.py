"""The policies there are: one row each, from a name to what builds it and what it accepts."""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any, Generic, NamedTuple

import msgspec

from policies.andreas.parameters import AndreasParameters, FirstPrincipleParameters
from policies.andreas.policy import Andreas, FirstPrinciple
from policies.bench import orderings
from policies.classic.parameters import (
    BackfillParameters,
    ClassicParameters,
    ConservativeParameters,
    FifoParameters,
    LasParameters,
    PreemptiveParameters,
    PriorityParameters,
    QueueParameters,
    SliceParameters,
)
from policies.classic.policy import Classic
from policies.contract.parameters import P, ParameterError, convert
from policies.contract.policy import Policy
from policies.fairwatt.parameters import FairwattParameters
from policies.fairwatt.policy import Fairwatt
from policies.powerflow.afs import future_share
from policies.powerflow.greedy import marginal
from policies.powerflow.parameters import AfsParameters, PowerFlowParameters
from policies.powerflow.policy import Elastic
from policies.synergy.parameters import SynergyParameters
from policies.synergy.policy import Synergy


class PolicyRow(NamedTuple, Generic[P]):
    summary: str
    parameters: type[P]
    factory: Callable[[P], Policy]


def _queue(ordering: orderings.Ordering) -> Callable[[ClassicParameters], Policy]:
    return lambda p: Classic(p, ordering)


POLICIES: dict[str, PolicyRow[Any]] = {
    "fifo": PolicyRow(
        "First come, first served; a job that does not fit holds back those behind it.",
        FifoParameters,
        _queue(orderings.fifo),
    ),
    "fifo-backfill": PolicyRow(
        "First come, first served; later jobs may go ahead if they do not delay the first (EASY).",
        BackfillParameters,
        _queue(orderings.fifo),
    ),
    "conservative-backfill": PolicyRow(
        "First come, first served; later jobs may go ahead if they delay no reservation.",
        ConservativeParameters,
        _queue(orderings.fifo),
    ),
    "priority": PolicyRow(
        "Highest priority first, growing with the time since submission.",
        PriorityParameters,
        lambda p: Classic(p, orderings.priority(p.ageing_s)),
    ),
    "edf": PolicyRow(
        "Earliest deadline first.",
        QueueParameters,
        _queue(orderings.earliest_deadline),
    ),
    "sjf": PolicyRow(
        "Shortest job first, never stopping a running one.",
        QueueParameters,
        _queue(orderings.shortest_remaining),
    ),
    "srtf": PolicyRow(
        "Shortest remaining time first, stopping longer jobs.",
        PreemptiveParameters,
        _queue(orderings.shortest_remaining),
    ),
    "las": PolicyRow(
        "Least attained service (GPUs x time) in queues, stopping jobs of later queues.",
        LasParameters,
        lambda p: Classic(p, orderings.least_attained_service(p.queue_gpu_s)),
    ),
    "ftf": PolicyRow(
        "Finish-time fairness: who suffers most from sharing goes first.",
        QueueParameters,
        _queue(orderings.finish_time_fairness),
    ),
    "fair-share": PolicyRow(
        "Weighted fair share of GPUs over tenants.",
        QueueParameters,
        _queue(orderings.fair_share),
    ),
    "gandiva": PolicyRow(
        "Time slicing, Gandiva-style: who ran least of its time here goes first, on packed nodes.",
        SliceParameters,
        _queue(orderings.least_share_of_life),
    ),
    "afs": PolicyRow(
        "Elastic, AFS-style: more GPUs go where they shorten the mean completion time most.",
        AfsParameters,
        lambda p: Elastic(p, future_share),
    ),
    "powerflow": PolicyRow(
        "PowerFlow-style: GPU count and clock of every job, shortest mean completion time within "
        "the power budget.",
        PowerFlowParameters,
        lambda p: Elastic(p, marginal),
    ),
    "synergy": PolicyRow(
        "Any of four orderings, with CPUs and memory by sensitivity instead of by GPUs.",
        SynergyParameters,
        Synergy,
    ),
    "andreas": PolicyRow(
        "ANDREAS: least energy price plus tardiness, choosing GPU type, count, node and order.",
        AndreasParameters,
        Andreas,
    ),
    "first-principle": PolicyRow(
        "FIFO, EDF or by price, each job where it is cheapest in time, never changed once started.",
        FirstPrincipleParameters,
        FirstPrinciple,
    ),
    "fairwatt": PolicyRow(
        "Least money for energy, waiting and lateness: type, count, clock, place and hour at once.",
        FairwattParameters,
        Fairwatt,
    ),
}


def add(modules: Iterable[str]) -> None:
    """Take in a site's own policies: each module has its rows, too, in a `POLICIES`."""
    for module in modules:
        rows: Mapping[str, PolicyRow[Any]] = import_module(module).POLICIES
        if taken := sorted(name for name in rows if POLICIES.get(name, rows[name]) != rows[name]):
            raise ValueError(f"{module} has a policy of a known name: {', '.join(taken)}")
        POLICIES.update(rows)


def policy_names() -> tuple[str, ...]:
    return tuple(POLICIES)


def summary(name: str) -> str:
    return _row(name).summary


def build(name: str, parameters: Mapping[str, Any]) -> Policy:
    row = _row(name)
    policy: Policy = row.factory(convert(parameters, row.parameters))
    return policy


def validate(name: str, parameters: Mapping[str, Any]) -> None:
    """Raise ParameterError unless `build` would accept the same."""
    convert(parameters, _row(name).parameters)


def parameter_schema(name: str) -> dict[str, Any]:
    """JSON schema of a policy's parameters, without references."""
    model = _row(name).parameters
    (schema,), components = msgspec.json.schema_components([model])
    found: dict[str, Any] = components[schema["$ref"].rpartition("/")[2]]
    return found


def _row(name: str) -> PolicyRow[Any]:
    if name not in POLICIES:
        known = ", ".join(POLICIES)
        raise ParameterError(
            "unknown_policy", "", f"no policy is called {name!r}; there are {known}"
        )
    return POLICIES[name]
