"""Budgets and lanes of the front, without a server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack
from threading import Event

import pytest

from rest.problems import Problem
from scheduler_service.front.bodies import BodyBudget, read_body, seconds_for
from scheduler_service.front.lanes import Lane, Lanes


class _Body:
    def __init__(self, *parts: bytes) -> None:
        self._parts = parts

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self._parts:
            yield part


def test_a_body_is_read_up_to_its_limit() -> None:
    assert asyncio.run(read_body(_Body(b"ab", b"c"), most=3, declared=3)) == b"abc"
    with pytest.raises(Problem, match="413"):
        asyncio.run(read_body(_Body(b"ab", b"cd"), most=3, declared=None))


def test_a_large_body_has_more_time() -> None:
    assert 10 <= seconds_for(0) < seconds_for(16 * 2**20) < 120


def test_one_address_gets_a_quarter_of_the_budget() -> None:
    budget = BodyBudget(most=100)
    with ExitStack() as held:
        held.enter_context(budget.reserved("a", 25))
        with pytest.raises(Problem, match="503"), budget.reserved("a", 1):
            pass
        for address in "bcd":
            held.enter_context(budget.reserved(address, 25))
        with pytest.raises(Problem, match="503"), budget.reserved("e", 1):
            pass
    with budget.reserved("a", 25):
        assert True


def test_a_lane_has_an_end() -> None:
    async def scene() -> None:
        lane, gate = Lane("test", threads=1, waiting=1), Event()
        first = asyncio.create_task(lane.run(gate.wait))
        second = asyncio.create_task(lane.run(gate.wait))
        await asyncio.sleep(0)
        with pytest.raises(Problem, match="503"):
            await lane.run(gate.wait)
        gate.set()
        await asyncio.gather(first, second)
        # Those that left are counted in the loop's next turn.
        await asyncio.sleep(0.01)
        assert await lane.run(lambda: 7) == 7

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("method", "path", "lane"),
    [
        ("POST", "/api/v1/agent/sync", "agents"),
        ("POST", "/admin/login/", "logins"),
        ("GET", "/admin/login/", "requests"),
        ("GET", "/api/v1/jobs/", "requests"),
    ],
)
def test_who_uses_which_lane(method: str, path: str, lane: str) -> None:
    lanes = Lanes()
    assert lanes.of(method, path) is getattr(lanes, lane)
