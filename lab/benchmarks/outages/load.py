"""A short job every second, for as long as something is away."""

from collections.abc import Callable
from time import monotonic, sleep

import httpx

from jobs.models import Job
from lab.benchmarks.figures import figure
from lab.benchmarks.harness.waiting import until
from lab.benchmarks.outages.work import attempts, starts_s, submit

EVERY_S = 1.0


def keep_submitting(
    http: httpx.Client, cluster: str, seconds: float, *, at_first: Callable[[], None]
) -> list[int]:
    """`at_first` is what goes wrong, a few jobs after the beginning."""
    jobs: list[int] = []
    begun_s = monotonic()
    while monotonic() - begun_s < seconds:
        if len(jobs) == 3:
            at_first()
        jobs.append(submit(http, cluster, ["true"], f"{cluster}-{len(jobs)}"))
        sleep(EVERY_S)
    return jobs


def report(case: str, jobs: list[int], *, delay_at_most_s: float) -> None:
    ended = Job.objects.filter(pk__in=jobs)
    until(lambda: ended.filter(state="succeeded").count() == len(jobs), "all jobs have ended")
    delays_s = starts_s(jobs)
    figure("outages", case, "jobs", len(jobs), "jobs", at_least=10)
    figure("outages", case, "jobs lost", len(jobs) - len(delays_s), "jobs", at_most=0)
    figure("outages", case, "jobs doubled", attempts(jobs) - len(jobs), "jobs", at_most=0)
    median_s = sorted(delays_s)[len(delays_s) // 2]
    figure("outages", case, "start delay p50", median_s, "s")
    figure("outages", case, "start delay worst", max(delays_s), "s", at_most=delay_at_most_s)
