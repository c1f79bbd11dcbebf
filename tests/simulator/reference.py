"""Gangs on a pool of GPUs as textbooks have them; shares no line with what it is to judge.

At every arrival and end a rule says who runs from then on. Stopping and going on cost nothing, and
any GPU is as good as any other.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

# EASY expects nobody to end sooner than this, as `fifo-backfill` does.
SOON_S = 60.0


@dataclass(slots=True, eq=False)
class Job:
    """`left_s` is as of when it last came or stopped; `ends_s` is inf while it waits."""

    number: int
    submitted_s: float
    left_s: float
    gpus: int
    priority: int = 0
    ends_s: float = math.inf
    first_start_s: float = math.nan

    @property
    def turn(self) -> tuple[float, int, int]:
        return self.submitted_s, -self.priority, self.number

    def remaining_s(self, now_s: float) -> float:
        return self.left_s if self.ends_s == math.inf else self.ends_s - now_s


Rule = Callable[[float, list[Job], list[Job], int], list[Job]]
"""From the time, who runs, who waits in turn and the GPUs there are, to who runs from now on."""


def fifo(now_s: float, running: list[Job], waiting: list[Job], gpus: int) -> list[Job]:
    """Who does not fit holds back everybody behind it."""
    chosen = list(running)
    for job in waiting:
        if job.gpus > gpus - _held(chosen):
            break
        chosen.append(job)
    return chosen


def srtf(now_s: float, running: list[Job], waiting: list[Job], gpus: int) -> list[Job]:
    """All anew by what is left to run; who does not fit beside those before it is passed over."""
    chosen: list[Job] = []
    for job in sorted(running + waiting, key=lambda job: (job.remaining_s(now_s), job.turn)):
        if job.gpus <= gpus - _held(chosen):
            chosen.append(job)
    return chosen


def easy(now_s: float, running: list[Job], waiting: list[Job], gpus: int) -> list[Job]:
    """As first come first served, and behind the first who waits whoever does not delay it."""
    ends_s = {job: now_s + max(job.remaining_s(now_s), SOON_S) for job in running + waiting}
    chosen = fifo(now_s, running, waiting, gpus)
    kept = [job for job in waiting if job not in chosen]
    if not kept:
        return chosen

    def room_for_first(at_s: float, holders: list[Job]) -> bool:
        return kept[0].gpus + _held([job for job in holders if ends_s[job] > at_s]) <= gpus

    promised_s = min(ends_s[job] for job in chosen if room_for_first(ends_s[job], chosen))
    for job in kept[1:]:
        fits = job.gpus <= gpus - _held(chosen)
        if fits and room_for_first(promised_s, [*chosen, job]):
            chosen.append(job)
    return chosen


def simulate(jobs: Sequence[Job], gpus: int, rule: Rule) -> None:
    """Write into every job when it first started and when it ended."""
    coming, running, waiting = sorted(jobs, key=lambda job: job.turn), list[Job](), list[Job]()
    while coming or running:
        now_s = min(job.ends_s for job in running) if running else math.inf
        now_s = min([now_s, *(job.submitted_s for job in coming[:1])])
        running = [job for job in running if job.ends_s > now_s]
        waiting += [job for job in coming if job.submitted_s <= now_s]
        coming = [job for job in coming if job.submitted_s > now_s]
        chosen = rule(now_s, running, sorted(waiting, key=lambda job: job.turn), gpus)
        for job in set(running) - set(chosen):
            job.left_s, job.ends_s = job.ends_s - now_s, math.inf
        for job in set(chosen) - set(running):
            job.ends_s = now_s + job.left_s
            job.first_start_s = now_s if math.isnan(job.first_start_s) else job.first_start_s
        waiting = [job for job in running + waiting if job not in chosen]
        running = chosen


def _held(jobs: list[Job]) -> int:
    return sum(job.gpus for job in jobs)
