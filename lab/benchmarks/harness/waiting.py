"""Waiting for a running service to come to something, but not for ever."""

from collections.abc import Callable
from time import monotonic, sleep

import httpx

from lab.benchmarks.harness.jobs import raise_if_failed

CHECK_EVERY_S = 1.0
"""For failed jobs: seldom enough not to be measured along."""


def until(
    holds: Callable[[], bool],
    what: str,
    *,
    jobs_at: httpx.Client | None = None,
    longest_s: float = 420.0,
    pause_s: float = 0.2,
) -> None:
    """With `jobs_at`, a service, one of its jobs that has failed ends the waiting at once."""
    begun_s = checked_s = monotonic()
    while not holds():
        now_s = monotonic()
        if now_s > begun_s + longest_s:
            raise TimeoutError(f"waited {longest_s:.0f} s until {what}")
        if jobs_at is not None and now_s >= checked_s + CHECK_EVERY_S:
            raise_if_failed(jobs_at)
            checked_s = now_s
        sleep(pause_s)


def ready_nodes(http: httpx.Client) -> int:
    nodes = http.get("/api/v1/nodes/?limit=100").raise_for_status().json()["items"]
    return sum(node["state"] == "ready" for node in nodes)
