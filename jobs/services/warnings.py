"""What will never start, or looks wrong, said at the submit and refused to nobody.

Machines change: a job that no node can run today may be meant for those that come tomorrow.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache

from django.db.models import Count, Q

from clusters.models import GpuType, Node
from jobs.models import Job
from jobs.specs import JobSpec
from rest.pointers import pointer
from rest.problems import Fault

# For so long what was read of clusters serves all their submits.
FRESH_S = 10
# Below this a Python that imports a framework is killed.
SMALL_MIB = 2048


@dataclass(frozen=True, slots=True)
class AlikeNodes:
    """Nodes of a cluster that are alike in what a submit can ask for."""

    nodes: int
    partition_id: int | None
    gpu_type: str
    container_tool: str
    workloads: bool
    git: bool
    cpus: int
    memory_mib: int
    gpus: int


# By cluster and partition.
_Places = dict[tuple[int, int | None], list[AlikeNodes]]


@dataclass(frozen=True, slots=True)
class Submitted:
    """A job that was stored; `path` is where its spec stands in the request's body."""

    spec: JobSpec
    cluster_id: int
    partition_id: int | None
    path: tuple[str | int, ...] = ()


def warnings_for(submitted: Sequence[Submitted], *, now: datetime) -> list[list[Fault]]:
    """What is to be said of each; at most two queries, however many they are."""
    clusters = tuple(sorted({each.cluster_id for each in submitted}))
    places = _places(clusters, int(now.timestamp()) // FRESH_S)
    known = _known_types({name for each in submitted for name in each.spec.gpu_types})
    return [list(_of_job(each, places, known, now)) for each in submitted]


def _of_job(
    submitted: Submitted, places: _Places, known: Collection[str], now: datetime
) -> Iterator[Fault]:
    spec = submitted.spec
    here = places.get((submitted.cluster_id, submitted.partition_id), [])
    at = pointer(submitted.path)
    for found in (
        _of_types(spec, known),
        _of_nodes(spec, here),
        _of_times(spec, now),
        _of_memory(spec),
    ):
        yield from (replace(fault, pointer=at + fault.pointer) for fault in found)


@lru_cache(maxsize=256)
def _places(cluster_ids: tuple[int, ...], _until: int) -> _Places:
    gone = Q(state__in=(Node.State.DRAINED, Node.State.QUARANTINED))
    nodes = Node.objects.filter(cluster__in=cluster_ids).exclude(gone).annotate(gpus=Count("gpu"))
    columns = ("partition_id", "gpu_type__name", "container_tool", "workloads", "git", "cpus")
    rows = Counter(nodes.values_list("cluster_id", *columns, "memory_mib", "gpus"))
    places: _Places = defaultdict(list)
    for (cluster_id, *row), count in rows.items():
        kind = AlikeNodes(count, *row)
        places[cluster_id, kind.partition_id].append(kind)
    return dict(places)


def _known_types(names: Collection[str]) -> frozenset[str]:
    if not names:
        return frozenset()
    return frozenset(GpuType.objects.filter(name__in=names).values_list("name", flat=True))


def _of_types(spec: JobSpec, known: Collection[str]) -> Iterator[Fault]:
    for index, name in enumerate(spec.gpu_types):
        if name not in known:
            detail = f"No node has ever had a GPU of type {name!r}."
            yield Fault(f"/gpu_types/{index}", "unknown_gpu_type", detail)


def _of_nodes(spec: JobSpec, here: Sequence[AlikeNodes]) -> Iterator[Fault]:
    if not here:
        yield Fault("/partition", "no_nodes", "No node is there yet; the job waits for one.")
        return
    typed = [kind for kind in here if not spec.gpu_types or kind.gpu_type in spec.gpu_types]
    if not typed:
        yield Fault("/gpu_types", "no_such_gpus", "No node there has a GPU type that it allows.")
        return
    if spec.image is not None and not any(kind.container_tool for kind in typed):
        yield Fault("/image", "no_containers", "No node there can run images.")
    by_git = spec.workdir is not None and spec.workdir.git is not None
    if by_git and not any(kind.git for kind in typed):
        yield Fault("/workdir/git", "no_git", "No node there has git; send the code as a folder.")
    yield from _of_size(spec, typed)


def _of_size(spec: JobSpec, typed: Sequence[AlikeNodes]) -> Iterator[Fault]:
    least, _ = spec.gpu_range
    roomy = [kind for kind in typed if _fits(spec, kind)]
    if not roomy:
        detail = "No node there has so many CPUs or so much memory for a single GPU."
        yield Fault("/memory_mib_per_gpu", "larger_than_node", detail)
        return
    largest = max(kind.gpus for kind in roomy)
    if spec.widest == Job.Span.NODE and least > largest:
        detail = f"No node there has more than {largest} GPUs for it"
        more = "; say per_node or per_gpu." if spec.processes == Job.Processes.ONE else "."
        yield Fault("/gpus", "larger_than_node", detail + more)
    most = max(_total(roomy, kind.gpu_type) for kind in roomy)
    if least > most:
        yield Fault("/gpus", "larger_than_cluster", f"All nodes there have {most} GPUs for it.")


def _fits(spec: JobSpec, kind: AlikeNodes) -> bool:
    memory_mib = spec.memory_mib_per_gpu or 0
    return kind.gpus > 0 and spec.cpus_per_gpu <= kind.cpus and memory_mib <= kind.memory_mib


def _total(kinds: Sequence[AlikeNodes], gpu_type: str) -> int:
    return sum(kind.gpus * kind.nodes for kind in kinds if kind.gpu_type == gpu_type)


def _of_times(spec: JobSpec, now: datetime) -> Iterator[Fault]:
    if spec.estimated_run_s is None:
        return
    if spec.time_limit_s is not None and spec.time_limit_s < spec.estimated_run_s:
        detail = "It is stopped before it is expected to be done."
        yield Fault("/time_limit_s", "limit_below_estimate", detail)
    due = spec.deadline_at
    if due is not None and now + timedelta(seconds=spec.estimated_run_s) > due:
        detail = "It would be late even if it started now."
        yield Fault("/deadline_at", "deadline_too_soon", detail)


def _of_memory(spec: JobSpec) -> Iterator[Fault]:
    asked = spec.memory_mib_per_gpu
    if asked is not None and 0 < asked < SMALL_MIB:
        detail = f"With {asked} MiB many frameworks cannot even be imported."
        yield Fault("/memory_mib_per_gpu", "little_memory", detail)
