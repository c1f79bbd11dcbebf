"""`python -m lab.benchmarks.agents.emulated`: many agents over real HTTP, at the server's pace.

Reads a JSON object from the first line of standard input and writes what was measured when standard
input ends. An agent here has a connection for its requests and a bell, as the real one has; an
attempt that it is given runs at once and goes on.
"""

import asyncio
import json
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from agent.wire import AttemptReport, GpuStatus, SampleReport, State, Sync, Telemetry, encode
from lab.benchmarks.agents.connection import Connection

BOOT = "bench"
POWER_MW = 250_000
UP_MS = 3_600_000  # how long the nodes have been up
INTERVALS = ("next_sync_s", "sample_interval_s", "upload_interval_s")
RETRY_S = 1.0


@dataclass
class MeasuredAgents:
    """Times are of the clock on the wall, which the processes of one machine share."""

    sync_ms: list[tuple[float, float]] = field(default_factory=list)
    uploads: list[tuple[float, int]] = field(default_factory=list)
    answers: list[tuple[float, str]] = field(default_factory=list)
    started: list[tuple[float, int]] = field(default_factory=list)
    orders: list[tuple[float, int]] = field(default_factory=list)  # another clock, or to stop
    rings: int = 0


@dataclass
class EmulatedIntervals:
    next_sync_s: float = 1.0
    sample_interval_s: float = 1.0
    upload_interval_s: float = 5.0


@dataclass
class EmulatedAgent:
    url: str
    token: str
    uuids: list[str]
    measured: MeasuredAgents
    chance: random.Random
    attempts: dict[int, dict[str, Any]] = field(default_factory=dict)
    pace: EmulatedIntervals = field(default_factory=EmulatedIntervals)
    sequence: int = 0
    samples: int = 0
    begun_s: float = field(default_factory=time.monotonic)
    paced: asyncio.Event = field(default_factory=asyncio.Event)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.link = Connection(self.url, self.token)

    def now_ms(self) -> int:
        return int((time.monotonic() - self.begun_s) * 1000) + UP_MS

    async def syncing(self) -> None:
        while True:
            self.news.clear()
            pause_s = await self._sync()
            try:
                await asyncio.wait_for(self.news.wait(), pause_s)
            except TimeoutError:
                continue

    async def _sync(self) -> float:
        self.sequence += 1
        begun_s = time.time()
        status, answer = await self.link.post("sync", self._message())
        self.measured.sync_ms.append((begun_s, (time.time() - begun_s) * 1000))
        self.measured.answers.append((begun_s, f"sync {status}"))
        if status != 200:
            return RETRY_S
        desired = json.loads(answer)
        self.pace = EmulatedIntervals(*(desired[name] for name in INTERVALS))
        self._take(desired["attempts"])
        self.paced.set()
        # At first anywhere within an interval: agents of a long time are spread out.
        share = self.chance.random() if self.sequence == 1 else self.chance.uniform(0.9, 1.1)
        return self.pace.next_sync_s * share

    def _take(self, wanted: list[dict[str, Any]]) -> None:
        now_s = time.time()
        before, self.attempts = self.attempts, {each["attempt_id"]: each for each in wanted}
        for attempt_id, each in self.attempts.items():
            known = before.get(attempt_id)
            if known is None:
                self.measured.started.append((now_s, each["job_id"]))
                self.news.set()
            elif each["clock_mhz"] != known.get("clock_mhz"):
                self.measured.orders.append((now_s, attempt_id))
        for attempt_id in before.keys() - self.attempts.keys():
            self.measured.orders.append((now_s, attempt_id))

    async def listening(self) -> None:
        while True:
            try:
                async for _ in Connection(self.url, self.token).rings():
                    self.measured.rings += 1
                    self.news.set()
            except (OSError, asyncio.IncompleteReadError) as error:
                self.measured.answers.append((time.time(), f"bell {error}"))
            await asyncio.sleep(self.chance.uniform(0.5, 1.5) * RETRY_S)

    async def uploading(self) -> None:
        waiting: list[int] = []
        await self.paced.wait()
        while True:
            pause_s = self.pace.upload_interval_s
            await asyncio.sleep(pause_s if self.samples else pause_s * self.chance.random())
            until_ms, step_ms = self.now_ms(), int(1000 * self.pace.sample_interval_s)
            last_ms = waiting[-1] if waiting else until_ms - int(1000 * pause_s)
            waiting += range(last_ms + step_ms, until_ms, step_ms)
            begun_s = time.time()
            status, _ = await self.link.post("telemetry", self._telemetry(waiting, until_ms))
            self.measured.answers.append((begun_s, f"telemetry {status}"))
            if status == 200:
                self.measured.uploads.append((begun_s, len(waiting) * len(self.uuids)))
                waiting = []

    def _message(self) -> bytes:
        now_ms = self.now_ms()
        energy_mj = POWER_MW * now_ms // 1000
        reports = (
            AttemptReport(each["attempt_id"], each["fence"], State.RUNNING, now_ms / 1000,
                          progress_step=self.sequence)
            for each in self.attempts.values()
        )  # fmt: skip
        gpus = (GpuStatus(uuid, healthy=True, energy_mj=energy_mj) for uuid in self.uuids)
        return encode(Sync(1, self.sequence, BOOT, tuple(reports), tuple(gpus)))

    def _telemetry(self, times_ms: list[int], sent_ms: int) -> bytes:
        attempt = next(iter(self.attempts), None)
        samples: list[SampleReport] = []
        for boot_ms in times_ms:
            self.samples += 1
            samples += [
                SampleReport(
                    uuid,
                    self.samples,
                    boot_ms,
                    POWER_MW * boot_ms // 1000,
                    POWER_MW,
                    attempt,
                    utilisation_pct=97,
                    memory_used_mib=60_000,
                    temperature_c=61,
                    clock_mhz=1410,
                )
                for uuid in self.uuids
            ]
        return encode(Telemetry(1, BOOT, sent_ms, tuple(samples)))


async def _emulate(asked: dict[str, Any]) -> MeasuredAgents:
    measured, chance = MeasuredAgents(), random.Random(asked["seed"])
    tasks = []

    async def later(work: Any) -> None:
        await asyncio.sleep(chance.uniform(0, asked["spread_s"]))
        await work

    for one in asked["agents"]:
        agent = EmulatedAgent(asked["url"], one["token"], one["uuids"], measured, chance)
        if one["attempt"]:
            attempt_id, fence = one["attempt"]
            agent.attempts[attempt_id] = {"attempt_id": attempt_id, "fence": fence}
        works = [agent.syncing(), agent.listening()]
        works += [agent.uploading()] if asked["telemetry"] else []
        tasks += [asyncio.create_task(later(work)) for work in works]
    await asyncio.to_thread(sys.stdin.read)
    _say_who_fell(tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return measured


def _say_who_fell(tasks: "list[asyncio.Task[None]]") -> None:
    fallen = Counter(repr(task.exception()) for task in tasks if task.done())
    for error, times in fallen.most_common(3):
        sys.stderr.write(f"{times} agents fell over: {error}\n")


def main() -> None:
    measured = asyncio.run(_emulate(json.loads(sys.stdin.readline())))
    json.dump(
        {name: getattr(measured, name) for name in MeasuredAgents.__dataclass_fields__}, sys.stdout
    )


if __name__ == "__main__":
    main()
