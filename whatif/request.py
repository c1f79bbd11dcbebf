"""A request as it is stored, what contradicts itself in it, and the scenario it describes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from clusters.policy_choice import refused
from policies import registry
from policies.contract.parameters import ParameterError
from rest.pointers import pointer
from rest.problems import Contradiction, Fault, Problem
from simulator.scenario.schema import Scenario
from simulator.traces.own import OwnJob

Values = Mapping[str, Any]

RUNS_MAX = 64
NODES_MAX = 20_000
TRACE_JOBS_MAX = 20_000
FAULTS_SHOWN = 20
TRACE_FILE = "trace.jsonl"


def check(values: Values) -> None:
    """Refuse what the shapes let through but nobody could run."""
    for index, chosen in enumerate(values["policies"]):
        _check_policy(chosen, index)
    _check_labels(values["policies"])
    _check_sources(values)
    _check_sizes(values)
    if values["trace"] is not None:
        _check_lines(values["trace"]["lines"])


def label(chosen: Values) -> str:
    return str(chosen["label"] or chosen["name"])


def scenario_of(request: Values) -> Scenario:
    """Of a trace; its file stands beside the scenario under the name TRACE_FILE."""
    given = request["trace"] is not None
    trace = {"format": "own", "path": TRACE_FILE} if given else {"generate": request["generate"]}
    machines = request["machines"] or {"nodes": [], "gpus": []}
    return msgspec.convert(
        {
            "name": request["name"],
            "trace": trace,
            "cluster": machines,
            "policies": [
                {name: value for name, value in chosen.items() if name != "changes"}
                for chosen in request["policies"]
            ],
            "seeds": request["seeds"],
            "rounds": request["rounds"],
            "costs": request["costs"],
            "estimates": request["estimates"],
            "energy": {"pue": request["pue"]},
        },
        Scenario,
    )


def _check_policy(chosen: Values, index: int) -> None:
    try:
        registry.validate(chosen["name"], chosen["parameters"])
    except ParameterError as error:
        raise refused(error, f"/policies/{index}/parameters{error.pointer}") from None


def _check_labels(policies: Sequence[Values]) -> None:
    labels = [label(chosen) for chosen in policies]
    for index, text in enumerate(labels):
        if text in labels[:index]:
            detail = "Two policies have this label; give one of them another."
            raise Contradiction.at(f"/policies/{index}/label", "duplicate_label", detail)


def _check_sources(values: Values) -> None:
    given = [name for name in ("trace", "generate") if values[name] is not None]
    given += ["live"] if values["live"] else []
    if len(given) != 1:
        detail = "Give one of `trace`, `generate` and `live`: that is where the jobs come from."
        raise Contradiction.at(f"/{given[-1] if given else 'trace'}", "one_source", detail)
    if values["live"] and values["cluster"] is None:
        raise Contradiction.at("/cluster", "cluster_required", "Say whose queue shall run.")
    if (values["cluster"] is None) == (values["machines"] is None):
        detail = "Give either `cluster`, an existing one, or `machines`."
        raise Contradiction.at("/machines", "one_cluster", detail)
    if values["rounds"]["interval_s"] is None and not values["rounds"]["on_events"]:
        detail = "Rounds need an interval, or events, or both."
        raise Contradiction.at("/rounds/interval_s", "no_rounds", detail)


def _check_sizes(values: Values) -> None:
    runs = len(values["policies"]) * len(values["seeds"])
    if runs > RUNS_MAX:
        detail = f"{runs} runs are more than {RUNS_MAX}; leave out policies or seeds."
        raise Contradiction.at("/seeds", "too_many_runs", detail)
    nodes = values["machines"]["nodes"] if values["machines"] else []
    if sum(kind["count"] for kind in nodes) > NODES_MAX:
        detail = f"A simulated cluster has at most {NODES_MAX} nodes."
        raise Contradiction.at("/machines/nodes", "too_many_nodes", detail)


def _check_lines(lines: str) -> None:
    faults: list[Fault] = []
    count = 0
    for number, line in enumerate(lines.splitlines(), 1):
        if line.strip():
            count += 1
            faults += _faults_of(line, number)
        if len(faults) >= FAULTS_SHOWN or count > TRACE_JOBS_MAX:
            break
    if count > TRACE_JOBS_MAX:
        raise _bad_trace([_at_line(number, "too_long", f"At most {TRACE_JOBS_MAX} jobs.")])
    if not count:
        raise _bad_trace([Fault("/trace/lines", "empty", "A trace has at least one job.")])
    if faults:
        raise _bad_trace(faults)


def _faults_of(line: str, number: int) -> Iterator[Fault]:
    try:
        job = msgspec.json.decode(line, type=OwnJob)
    except msgspec.DecodeError as error:
        yield _at_line(number, "not_a_job", f"Not a job as JSON: {error}.")
        return
    except RecursionError:
        yield _at_line(number, "not_a_job", "Nested too deeply.")
        return
    bounds = {
        "submitted_s": 0 <= job.submitted_s <= 1e11,
        "duration_s": 0 < job.duration_s <= 1e9,
        "gpus": 1 <= job.gpus <= 4096,
        "max_gpus": 0 <= job.max_gpus <= 4096,
        "cpus_per_gpu": 0 <= job.cpus_per_gpu <= 1024,
        "mem_mib_per_gpu": 0 <= job.mem_mib_per_gpu <= 2**31,
        "priority": abs(job.priority) <= 1000,
        "tardiness_weight": 0 <= job.tardiness_weight <= 1e9,
        "deadline_s": job.deadline_s is None or abs(job.deadline_s) <= 1e11,
        "gpu_types": len(job.gpu_types) <= 63,
    }
    for name, holds in bounds.items():
        if not holds:
            yield _at_line(number, "out_of_range", f"{name} is out of range.")


def _at_line(number: int, code: str, detail: str) -> Fault:
    return Fault(pointer(("trace", "lines", number)), code, f"Line {number}: {detail}")


def _bad_trace(faults: list[Fault]) -> Problem:
    detail = "The trace can not be used; `errors` says where."
    return Contradiction(detail, code="bad_trace", errors=faults[:FAULTS_SHOWN])
