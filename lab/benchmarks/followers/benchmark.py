"""How soon thousands of followers know of an event, and what that costs the door."""

import argparse
import asyncio
import os
from time import perf_counter

import psutil
from django.db import close_old_connections
from django.utils import timezone

from jobs.services.cancel import job_cancel
from jobs.services.submit import job_submit
from jobs.specs import JobSpec
from lab.benchmarks.api import rows
from lab.benchmarks.figures import figure
from lab.benchmarks.followers.crowd import Crowd
from lab.benchmarks.harness.service import stack
from tenancy.callers import SYSTEM

FOLLOWERS, EVENTS = 2000, 40
PAUSE_S, SETTLE_S, LONGEST_S = 0.5, 3.0, 60.0
ALL_P99_MS = 2000


def main(database_url: str, *options: str) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--followers", type=int, default=FOLLOWERS)
    parser.add_argument("--events", type=int, default=EVENTS)
    asked = parser.parse_args(options)
    # All are one tenant's, and come within seconds.
    os.environ["STREAMS_PER_TENANT"] = os.environ["STREAMS_MAX"] = str(asked.followers + 10)
    os.environ["THROTTLE_PER_MINUTE"] = "1000000000"
    with stack(database_url) as service:
        asyncio.run(_scene(service.door, asked.followers, asked.events))


async def _scene(door: str, followers: int, events: int) -> None:
    made, jobs = await asyncio.to_thread(_jobs, events)
    crowd, case = Crowd(door, made.member), f"{followers} followers"
    bytes_before = _door_bytes()
    await crowd.gather(followers)
    await asyncio.sleep(SETTLE_S)
    kib = (_door_bytes() - bytes_before) / followers / 1024
    idle_ms_per_s = await _idle_cpu_ms_per_s()
    began_s, began_cpu_s, moved = perf_counter(), _door_cpu_s(), []
    for job in jobs:
        moved.append(perf_counter())
        await asyncio.to_thread(_cancel, job)
        await asyncio.sleep(PAUSE_S)
    await _all_know(crowd, followers, events)
    cpu_ms = 1000 * (_door_cpu_s() - began_cpu_s) - idle_ms_per_s * (perf_counter() - began_s)
    crowd.leave()
    _report(case, moved, sorted(crowd.seen.values(), key=min))
    figure("followers", case, "door_cpu_per_event", cpu_ms / events, "ms")
    figure("followers", case, "door_cpu_while_idle", idle_ms_per_s, "ms/s")
    figure("followers", case, "door_memory_per_follower", kib, "KiB")


def _report(case: str, moved: list[float], seen: list[list[float]]) -> None:
    """From before the move is asked for, so its transaction is in it too."""
    each, last = [], []
    for began_s, arrived in zip(moved, seen, strict=True):
        each += [1000 * (at_s - began_s) for at_s in arrived]
        last.append(1000 * (max(arrived) - began_s))
    for name, taken in (("one", each), ("all", last)):
        for share in (0.5, 0.99):
            value = sorted(taken)[round(share * (len(taken) - 1))]
            bar = ALL_P99_MS if (name, share) == ("all", 0.99) else None
            metric = f"until_{name}_know_p{100 * share:.0f}"
            figure("followers", case, metric, value, "ms", at_most=bar)


def _jobs(count: int) -> tuple[rows.ApiRows, list[int]]:
    made = rows.build()
    spec = JobSpec(name="held", tenant="acme", cluster="demo", argv=["true"], gpus=1, held=True)
    now = timezone.now()
    found = [job_submit(caller=SYSTEM, spec=spec, now=now).pk for _ in range(count)]
    close_old_connections()
    return made, found


def _cancel(job_id: int) -> None:
    job_cancel(caller=SYSTEM, job_id=job_id, now=timezone.now())


async def _all_know(crowd: Crowd, followers: int, events: int) -> None:
    ends_s = perf_counter() + LONGEST_S
    while sum(map(len, crowd.seen.values())) < followers * events:
        if perf_counter() > ends_s:
            told = sum(map(len, crowd.seen.values()))
            raise TimeoutError(f"{told} of {followers * events} were told in time")
        await asyncio.sleep(0.05)


async def _idle_cpu_ms_per_s() -> float:
    before_s = _door_cpu_s()
    await asyncio.sleep(SETTLE_S)
    return 1000 * (_door_cpu_s() - before_s) / SETTLE_S


def _door() -> list[psutil.Process]:
    children = psutil.Process().children(recursive=True)
    return [each for each in children if "scheduler_service.asgi:application" in each.cmdline()]


def _door_cpu_s() -> float:
    return sum(sum(each.cpu_times()[:2]) for each in _door())


def _door_bytes() -> int:
    return sum(each.memory_info().rss for each in _door())
