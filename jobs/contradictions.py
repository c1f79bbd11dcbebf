"""Values that each fit the schema of a spec, but not together."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from agent.wire.bounds import ENV_NAME, LONGEST_ENV_NAME
from jobs.models import Job
from jobs.specs import JobSpec, PointSpec
from jobs.workload_contradictions import in_workload
from rest.pointers import pointer
from rest.problems import Contradiction, Fault

# What execve takes on Linux is bounded; with room for what the agent adds.
ARGV_MAX_BYTES = 128 * 1024
ENV_MAX_BYTES = 64 * 1024
_ENV_NAME = re.compile(ENV_NAME)


def refuse(faults: Iterator[Fault]) -> None:
    found = list(faults)
    if found:
        raise Contradiction(found[0].detail, code=found[0].code, errors=found)


def in_job(spec: JobSpec, *path: str | int, now: datetime) -> Iterator[Fault]:
    """What contradicts itself in a job's spec, which stands at `path` in the body."""
    for at, code, detail in _in_job(spec):
        yield Fault(pointer((*path, *at)), code, detail)
    yield from in_deadline(spec.deadline_at, *path, now=now)


def in_deadline(deadline_at: datetime | None, *path: str | int, now: datetime) -> Iterator[Fault]:
    """Who names a deadline that is over would be late before anybody could help it."""
    if deadline_at is not None and deadline_at < now:
        detail = "The deadline is over already; name one that is still to come, or none."
        yield Fault(pointer((*path, "deadline_at")), "deadline_passed", detail)


def in_one_of_many(spec: JobSpec, *path: str | int) -> Iterator[Fault]:
    """What only a job that is submitted by itself may ask for."""
    if spec.profile_first:
        detail = "Submit one job with profile_first by itself; the others name its profile."
        yield Fault(pointer((*path, "profile_first")), "profile_first_alone", detail)
    if spec.points:
        detail = "Make a profile of the points, and name it in each job."
        yield Fault(pointer((*path, "points")), "points_alone", detail)


def in_points(points: Sequence[PointSpec], *path: str | int) -> Iterator[Fault]:
    seen = set()
    for index, point in enumerate(points):
        if point.configuration in seen:
            detail = "Another point has the same GPU type, GPUs, clock, CPUs and memory."
            yield Fault(pointer((*path, index)), "duplicate_point", detail)
        seen.add(point.configuration)


_Found = tuple[tuple[str | int, ...], str, str]


def _in_job(spec: JobSpec) -> Iterator[_Found]:
    yield from _in_gpus(spec)
    yield from _in_processes(spec)
    if not spec.argv[0]:
        yield ("argv", 0), "no_program", "The first word is the program; it may not be empty."
    if sum(len(word.encode()) for word in spec.argv) > ARGV_MAX_BYTES:
        yield ("argv",), "argv_too_large", f"All words together may have {ARGV_MAX_BYTES} bytes."
    if spec.env:
        yield from _in_env(spec.env)
    if spec.depends_on:
        yield from _in_dependencies(spec)
    yield from in_workload(spec)
    if spec.points or spec.profile_first:
        yield from _in_profile(spec)


def _in_gpus(spec: JobSpec) -> Iterator[_Found]:
    low, high = spec.min_gpus, spec.max_gpus
    if low is None and high is None:
        return
    if spec.gpus is not None:
        yield ("gpus",), "gpus_twice", "Give gpus, or min_gpus and max_gpus, but not both."
    if low is None or high is None:
        name = "min_gpus" if low is None else "max_gpus"
        yield (name,), "gpus_incomplete", "min_gpus and max_gpus are given together."
    elif low > high:
        yield ("min_gpus",), "gpus_reversed", "min_gpus may not be above max_gpus."


def _in_processes(spec: JobSpec) -> Iterator[_Found]:
    alone = spec.processes == Job.Processes.ONE and spec.gpu_range[1] > 1
    if alone and spec.widest != Job.Span.NODE:
        detail = (
            "One process runs on one node; say per_node or per_gpu, or leave the span to be node."
        )
        yield ("span",), "one_process_on_one_node", detail


def _in_profile(spec: JobSpec) -> Iterator[_Found]:
    if spec.points and spec.profile is not None:
        yield ("points",), "profile_twice", "Give a profile or points of its own, but not both."
    if spec.profile_first and spec.profile is None:
        yield ("profile_first",), "profile_missing", "Name the profile that shall be measured."
    for fault in in_points(spec.points):
        at = tuple(int(part) for part in fault.pointer.split("/")[1:])
        yield ("points", *at), fault.code, fault.detail


def _in_env(env: dict[str, str]) -> Iterator[_Found]:
    for name in env:
        if not _ENV_NAME.fullmatch(name) or len(name) > LONGEST_ENV_NAME:
            detail = "Names are letters, digits and underscores, and begin with no digit."
            yield ("env", name), "invalid_env_name", detail
    if sum(len(name.encode()) + len(value.encode()) for name, value in env.items()) > ENV_MAX_BYTES:
        yield ("env",), "env_too_large", f"All of env together may have {ENV_MAX_BYTES} bytes."


def _in_dependencies(spec: JobSpec) -> Iterator[_Found]:
    seen = set()
    for index, dependency in enumerate(spec.depends_on):
        if dependency.job in seen:
            detail = "The same job is named twice."
            yield ("depends_on", index, "job"), "duplicate_dependency", detail
        seen.add(dependency.job)
