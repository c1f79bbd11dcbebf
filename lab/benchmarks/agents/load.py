"""`python -m lab.benchmarks.agents.load`: many agents over real HTTP, at the server's pace.

Reads {"url", "tokens", "nodes", "seconds", "warm_up_s"} from standard input and writes what was
measured. An agent here has two connections, as the real one has: one for syncs, one for samples.
Bodies are put together from parts that do not change, because on two cores a client that works
hard would be measured along with the server.
"""

import asyncio
import json
import random
import sys
from collections import Counter
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

POWER_MW = 250_000
UP_MS = 3_600_000  # how long the nodes have been up
INTERVALS = ("next_sync_s", "sample_interval_s", "upload_interval_s")


@dataclass
class LoadResult:
    from_s: float
    until_s: float
    sync_ms: list[float] = field(default_factory=list)
    upload_ms: list[float] = field(default_factory=list)
    answers: Counter[str] = field(default_factory=Counter)
    samples: int = 0

    def note(self, kind: str, status: int, begun_s: float) -> None:
        if self.from_s <= begun_s <= self.until_s:
            laps = self.sync_ms if kind == "sync" else self.upload_ms
            laps.append((perf_counter() - begun_s) * 1000)
            self.answers[f"{kind} {status}"] += 1


@dataclass
class Intervals:
    next_sync_s: float = 1.0
    sample_interval_s: float = 1.0
    upload_interval_s: float = 5.0


class Connection:
    """One keep-alive connection."""

    def __init__(self, url: str, token: str) -> None:
        where = urlsplit(url)
        self._host, self._port = str(where.hostname), int(where.port or 80)
        self._head = f"Host: {where.netloc}\r\nAuthorization: Bearer {token}\r\n".encode()
        self._open: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        if self._open is None:
            self._open = await asyncio.open_connection(self._host, self._port)
        reader, writer = self._open
        writer.write(
            b"POST /api/v1/agent/%b HTTP/1.1\r\n%bContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%b" % (path.encode(), self._head, len(body), body)
        )
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
        return int(head.split(b" ", 2)[1]), await reader.readexactly(length)


@dataclass
class LoadAgent:
    url: str
    token: str
    node: dict[str, Any]
    measured: LoadResult
    pace: Intervals = field(default_factory=Intervals)
    sequence: int = 0
    samples: int = 0
    begun_s: float = field(default_factory=perf_counter)
    chance: random.Random = field(default_factory=lambda: random.Random(1))
    paced: asyncio.Event = field(default_factory=asyncio.Event)

    def now_ms(self) -> int:
        return int((perf_counter() - self.begun_s) * 1000) + UP_MS

    def energy_mj(self, boot_ms: int) -> int:
        return POWER_MW * boot_ms // 1000

    async def syncing(self) -> None:
        link = Connection(self.url, self.token)
        while True:
            self.sequence += 1
            begun_s = perf_counter()
            status, answer = await link.post("sync", self._sync())
            self.measured.note("sync", status, begun_s)
            if status == 200:
                intervals = json.loads(answer)
                self.pace = Intervals(*(intervals[name] for name in INTERVALS))
            self.paced.set()
            # At first anywhere within an interval: agents of a long time are spread out.
            first = self.sequence == 1
            await asyncio.sleep(self.pace.next_sync_s * (self.chance.random() if first else 1))

    async def uploading(self) -> None:
        link = Connection(self.url, self.token)
        waiting: list[int] = []
        await self.paced.wait()
        while True:
            pause_s = self.pace.upload_interval_s
            await asyncio.sleep(pause_s if self.samples else pause_s * self.chance.random())
            until_ms, step_ms = self.now_ms(), int(1000 * self.pace.sample_interval_s)
            last_ms = waiting[-1] if waiting else until_ms - int(1000 * pause_s)
            waiting += range(last_ms + step_ms, until_ms, step_ms)
            begun_s = perf_counter()
            status, _ = await link.post("telemetry", self._telemetry(waiting, until_ms))
            self.measured.note("telemetry", status, begun_s)
            if status == 200:
                if self.measured.from_s <= begun_s <= self.measured.until_s:
                    self.measured.samples += len(waiting) * len(self.node["uuids"])
                waiting = []

    def _sync(self) -> bytes:
        energy_mj = self.energy_mj(self.now_ms())
        gpus = [
            {"uuid": uuid, "healthy": True, "energy_mj": energy_mj} for uuid in self.node["uuids"]
        ]
        attempts = []
        if self.node["attempt"]:
            attempt_id, fence = self.node["attempt"]
            attempts.append(
                {"attempt_id": attempt_id, "fence": fence, "state": "running",
                 "ran_s": self.now_ms() / 1000, "progress_step": self.sequence}
            )  # fmt: skip
        body = {"epoch": 1, "sequence": self.sequence, "boot_id": "bench",
                "attempts": attempts, "gpus": gpus}  # fmt: skip
        return json.dumps(body).encode()

    def _telemetry(self, times_ms: list[int], sent_ms: int) -> bytes:
        attempt = self.node["attempt"][0] if self.node["attempt"] else None
        samples = []
        for boot_ms in times_ms:
            self.samples += 1
            samples += [
                {"uuid": uuid, "sequence": self.samples, "boot_ms": boot_ms,
                 "energy_mj": self.energy_mj(boot_ms), "power_mw": POWER_MW,
                 "attempt_id": attempt, "utilisation_pct": 97, "memory_used_mib": 60_000,
                 "temperature_c": 61, "clock_mhz": 1410}
                for uuid in self.node["uuids"]
            ]  # fmt: skip
        body = {"epoch": 1, "boot_id": "bench", "sent_boot_ms": sent_ms, "samples": samples}
        return json.dumps(body).encode()


async def load(asked: dict[str, Any]) -> LoadResult:
    begun_s = perf_counter()
    from_s = begun_s + asked["warm_up_s"]
    measured = LoadResult(from_s, from_s + asked["seconds"])
    chance = random.Random(1)

    async def later(work: Any, longest_s: float) -> None:
        await asyncio.sleep(chance.uniform(0, longest_s))
        await work

    tasks = []
    for token, node in zip(asked["tokens"], asked["nodes"], strict=True):
        agent = LoadAgent(asked["url"], token, node, measured, chance=chance)
        tasks += [
            asyncio.create_task(later(agent.syncing(), asked["warm_up_s"] / 2)),
            asyncio.create_task(later(agent.uploading(), asked["warm_up_s"] / 2)),
        ]
    await asyncio.sleep(asked["warm_up_s"] + asked["seconds"])
    failed = [task for task in tasks if task.done()]
    measured.answers["agents that fell over"] = len(failed)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for task in failed[:1]:
        sys.stderr.write(f"{task.exception()!r}\n")
    return measured


def main() -> None:
    asked = json.load(sys.stdin)
    measured = asyncio.run(load(asked))
    json.dump(
        {
            "sync_ms": sorted(measured.sync_ms),
            "upload_ms": sorted(measured.upload_ms),
            "answers": measured.answers,
            "samples": measured.samples,
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main()
