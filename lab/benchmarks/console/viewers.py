"""People who look at pages over real HTTP: a page once, then what of it lives, at its own pace."""

import asyncio
import logging
import random
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from html import unescape
from typing import NamedTuple

import httpx
from django.conf import settings

# As console/static/console/charts.js asks for curves.
CURVES_EVERY_S = 60.0
_LIVE = re.compile(r'data-live="(\d+)" hx-get="([^"]+)"')
_CURVE = re.compile(r'data-chart="([^"]+)"')


class LiveParts(NamedTuple):
    parts: list[tuple[str, float]]
    """Addresses, and after how many seconds each is asked for again."""
    curves: list[str]


def live_parts(page: str) -> LiveParts:
    """As the page tells the browser."""
    return LiveParts(
        [(unescape(path), float(every_s)) for every_s, path in _LIVE.findall(page)],
        [unescape(path) for path in _CURVE.findall(page)],
    )


@dataclass
class MeasuredPages:
    """Milliseconds from a request to the whole answer; the first of a part is one interval in."""

    page_ms: list[float] = field(default_factory=list)
    part_ms: list[float] = field(default_factory=list)
    curve_ms: list[float] = field(default_factory=list)
    not_200: int = 0


@dataclass
class Viewer:
    http: httpx.AsyncClient
    page: str
    measured: MeasuredPages

    async def watch(self, after_s: float) -> None:
        await asyncio.sleep(after_s)
        parts, curves = live_parts(await self._get(self.page, self.measured.page_ms))
        await asyncio.gather(
            *(self._get(path, self.measured.curve_ms) for path in curves),
            *(_repeat(self._part(path), every_s) for path, every_s in parts),
            *(_repeat(self._curve(path), CURVES_EVERY_S) for path in curves),
        )

    def _part(self, path: str) -> Callable[[], Awaitable[object]]:
        return lambda: self._get(path, self.measured.part_ms, {"HX-Request": "true"})

    def _curve(self, path: str) -> Callable[[], Awaitable[object]]:
        return lambda: self._get(path, self.measured.curve_ms)

    async def _get(
        self, path: str, taken_ms: list[float], headers: dict[str, str] | None = None
    ) -> str:
        began_s = time.perf_counter()
        answer = await self.http.get(path, headers=headers)
        taken_ms.append((time.perf_counter() - began_s) * 1000)
        self.measured.not_200 += answer.status_code != httpx.codes.OK
        return answer.text


async def _repeat(act: Callable[[], Awaitable[object]], every_s: float) -> None:
    """After each interval; an answer that is late does not make the next one come later."""
    due_s = time.monotonic()
    while True:
        due_s += every_s
        await asyncio.sleep(max(0.0, due_s - time.monotonic()))
        await act()


async def watched(
    url: str, sessions: Sequence[str], pages: Sequence[str], *, arrive_s: float, seconds: float
) -> MeasuredPages:
    """Everyone arrives within `arrive_s`, at a page each in turn, and stays to the end."""
    measured, chance = MeasuredPages(), random.Random(0)
    viewers = [
        Viewer(_browser(url, session), pages[number % len(pages)], measured)
        for number, session in enumerate(sessions)
    ]
    watching = [asyncio.create_task(each.watch(chance.uniform(0, arrive_s))) for each in viewers]
    done, _ = await asyncio.wait(
        watching, timeout=arrive_s + seconds, return_when=asyncio.FIRST_EXCEPTION
    )
    for task in watching:
        task.cancel()
    await asyncio.gather(*watching, return_exceptions=True)
    await asyncio.gather(*(each.http.aclose() for each in viewers))
    for task in done:
        task.result()
    return measured


def _browser(url: str, session: str) -> httpx.AsyncClient:
    """No certificates are read, two hundred times, for an address without any."""
    logging.getLogger("httpx").setLevel(logging.WARNING)
    cookies = {settings.SESSION_COOKIE_NAME: session}
    return httpx.AsyncClient(
        base_url=url, cookies=cookies, timeout=60, trust_env=False, verify=False
    )
