"""A job that failed, in its own words: how it ended, and the end of what it printed."""

from time import monotonic, sleep
from typing import Any

import httpx

TAIL_BYTES = 2000
LOG_WAIT_S = 5.0
"""An end may be known before the last lines have come in."""


class BenchmarkJobFailed(Exception):
    """A benchmark needs its jobs: with one of them failed it has nothing to measure."""


def raise_if_failed(http: httpx.Client) -> None:
    """Ask the service, as somebody who may see the benchmark's jobs."""
    failed = _get(http, "jobs/?state=failed&limit=1")["items"]
    if failed:
        raise BenchmarkJobFailed(_story(http, failed[0]))


def _story(http: httpx.Client, job: dict[str, Any]) -> str:
    _await_log(http, job["id"])
    events = _get(http, f"jobs/{job['id']}/events/?limit=100")["items"]
    newest: dict[str, Any] = max(events, key=lambda event: int(event["id"]), default={})
    detail = f" ({newest['detail']})" if newest.get("detail") else ""
    return "\n".join(
        [
            f"job {job['id']} {job['name']!r} has failed at {job['ended_at']}: "
            f"{job['reason']}{detail}",
            *(_tail(http, job["id"], stream) for stream in ("stdout", "stderr")),
        ]
    )


def _await_log(http: httpx.Client, job_id: int) -> None:
    ends_s = monotonic() + LOG_WAIT_S
    while not _log_is_whole(http, job_id) and monotonic() < ends_s:
        sleep(0.5)


def _log_is_whole(http: httpx.Client, job_id: int) -> bool:
    answer = http.get(f"/api/v1/jobs/{job_id}/logs/?limit=1")
    return answer.is_success and all(stream["closed"] for stream in answer.json()["streams"])


def _tail(http: httpx.Client, job_id: int, stream: str) -> str:
    path = f"/api/v1/jobs/{job_id}/logs/?stream={stream}&limit={TAIL_BYTES}"
    answer = http.get(path)
    if answer.status_code == httpx.codes.NOT_FOUND:
        return f"it printed nothing to {stream}"
    return f"the end of its {stream}:\n{answer.raise_for_status().json()['text'].rstrip()}"


def _get(http: httpx.Client, path: str) -> dict[str, Any]:
    found: dict[str, Any] = http.get(f"/api/v1/{path}").raise_for_status().json()
    return found
