"""OPT: the shares that maximise total speed on the cluster as a whole, by linear programming.

Jobs of one needs and one number of GPUs are interchangeable, so the program has a variable per
kind of job and point, not per job. It ignores where CPUs are, and so bounds what any packing of the
same jobs can reach. The paper's second program, which assigns jobs to servers, is not built.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from policies.bench.shares.needs import Needs, Share
from policies.contract.columns import F64


@dataclass(frozen=True, slots=True)
class JobGroup:
    """Jobs of one kind: how many, on how many GPUs each."""

    needs: Needs
    gpus: int
    jobs: int


@dataclass(frozen=True, slots=True)
class Optimum:
    total_speed: float
    counts: tuple[tuple[float, ...], ...]
    """Of every kind, how many jobs are at each point of its needs."""


def optimum(claims: Sequence[JobGroup], cpus: int, mem_mib: int) -> Optimum | None:
    """None where even the modest shares do not fit, as on nodes that lie far apart in kind."""
    speed: list[float] = []
    need: list[tuple[int, int]] = []
    kind: list[int] = []
    for at, claim in enumerate(claims):
        for point in claim.needs.points:
            speed.append(point.speed)
            need.append((point.share.cpus * claim.gpus, point.share.mem_mib * claim.gpus))
            kind.append(at)
    if not speed:
        return Optimum(0.0, ())
    # Half a second that only whoever solves one needs.
    from scipy.optimize import linprog  # noqa: PLC0415

    of_kind: F64 = (np.array(kind) == np.arange(len(claims))[:, None]).astype(np.float64)
    found = linprog(
        -np.array(speed),
        A_ub=np.array(need, np.float64).T / [[max(cpus, 1)], [max(mem_mib, 1)]],
        b_ub=[1.0, 1.0],
        A_eq=of_kind,
        b_eq=[claim.jobs for claim in claims],
        method="highs",
    )
    if found.x is None:
        return None
    first = np.cumsum([0, *(len(claim.needs.points) for claim in claims)])
    counts = tuple(tuple(found.x[a:b].tolist()) for a, b in pairwise(first))
    return Optimum(float(-found.fun), counts)


def whole_jobs(needs: Needs, counts: Sequence[float], held: Sequence[Share]) -> list[Share]:
    """A share for every job of a kind, by what it holds now: whoever can stay as it is stays.

    Fractions are rounded down: the last jobs start from the modest share.
    """
    slots = {
        point.share: int(count + 1e-6) for point, count in zip(needs.points, counts, strict=True)
    }
    given: list[Share | None] = []
    for share in held:
        stays = slots.get(share, 0) > 0
        given.append(share if stays else None)
        if stays:
            slots[share] -= 1
    left = (share for share, count in slots.items() for _ in range(count))
    return [share or next(left, needs.modest) for share in given]


def best_shares(
    jobs: Sequence[tuple[int, int, Needs, Share]], cpus: int, mem_mib: int
) -> tuple[dict[int, Share], float | None]:
    """From rows with their GPUs, needs_table and present shares to the best ones, and the bound."""
    kinds: dict[tuple[int, int], list[tuple[int, int, Needs, Share]]] = {}
    for job in jobs:
        kinds.setdefault((id(job[2]), job[1]), []).append(job)
    claims = [JobGroup(group[0][2], group[0][1], len(group)) for group in kinds.values()]
    found = optimum(claims, cpus, mem_mib)
    if found is None:
        return {}, None
    shares: dict[int, Share] = {}
    for group, counts in zip(kinds.values(), found.counts, strict=True):
        given = whole_jobs(group[0][2], counts, [share for *_, share in group])
        shares.update(zip((row for row, *_ in group), given, strict=True))
    return shares, found.total_speed
