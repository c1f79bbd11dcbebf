"""What nodes still bring along before a job's program begins: its code, or its image."""

from dataclasses import asdict, dataclass

from msgspec import convert

from agent.wire import Fetched, Fetching
from jobs.models import Job, Part

_MIB = 2**20


@dataclass(frozen=True, slots=True)
class Fetch:
    """Sizes in bytes, null where nobody knows them."""

    node: str
    kind: str
    name: str
    done_bytes: int | None
    size_bytes: int | None


def fetches(job: Job) -> list[Fetch]:
    """By node; none once its program runs."""
    parts = Part.objects.filter(attempt__job=job.pk, ended_at=None, fetching__isnull=False)
    rows = parts.select_related("node").order_by("node__name")
    return [_fetch(job, part.node.name, convert(part.fetching, Fetching)) for part in rows]


def evidence_of(found: list[Fetch]) -> dict[str, object]:
    return {"fetches": [asdict(each) for each in found]}


def sentence(found: list[Fetch]) -> str:
    first, *others = found
    more = f" So {'does' if len(others) == 1 else 'do'} {len(others)} more of its nodes."
    return f"It has its GPUs, and {_happens(first)}." + (more if others else "")


def _fetch(job: Job, node: str, said: Fetching) -> Fetch:
    return Fetch(node, said.kind.value, _name(job, said.kind), said.done_bytes, said.size_bytes)


def _name(job: Job, kind: Fetched) -> str:
    names = {
        Fetched.ARCHIVE: "its working directory",
        Fetched.GIT: f"commit {job.git_commit} of {job.git_url}",
        Fetched.IMAGE: f"image {job.image}",
    }
    return names[kind]


def _happens(fetch: Fetch) -> str:
    if fetch.kind == Fetched.IMAGE:
        # The tool does both in one, and says nothing in between.
        return f"{fetch.node} makes its container of {fetch.name}, and fetches what it lacks of it"
    return f"{fetch.node} fetches {fetch.name}{_how_far(fetch)}"


def _how_far(fetch: Fetch) -> str:
    if fetch.done_bytes is None or fetch.size_bytes is None:
        return ""
    return f": {fetch.done_bytes / _MIB:.1f} of {fetch.size_bytes / _MIB:.1f} MiB are there"
