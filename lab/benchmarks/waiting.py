"""Waiting for a running service to come to something, but not for ever."""

from collections.abc import Callable
from time import monotonic, sleep

import httpx


def until(
    holds: Callable[[], bool], what: str, *, longest_s: float = 420.0, pause_s: float = 0.2
) -> None:
    ends_s = monotonic() + longest_s
    while not holds():
        if monotonic() > ends_s:
            raise TimeoutError(f"waited {longest_s:.0f} s until {what}")
        sleep(pause_s)


def ready_nodes(http: httpx.Client) -> int:
    nodes = http.get("/api/v1/nodes/?limit=100").raise_for_status().json()["items"]
    return sum(node["state"] == "ready" for node in nodes)
