"""Throttles: one budget for all processes, and no outage when the counter is away."""

import subprocess
import sys

import pytest
import structlog
from pytest_django import Settings

from tenancy.counters import LocalCounter, ValkeyCounter, counter_for
from tenancy.roles import Role
from tenancy.throttles import Budgets
from tests.api import Api
from tests.tenancy.conftest import ApiFor, World

ME = "/api/v1/me/"
NOW_S = 1_000_000.0


@pytest.mark.parametrize("limit", [1, 7, 999, 1000, 2500])
def test_a_budget_is_exact(limit: int) -> None:
    budgets = Budgets(LocalCounter())
    taken = sum(budgets.take("a", limit, NOW_S) for _ in range(limit + 50))
    assert taken == limit


def test_callers_and_windows_have_budgets_of_their_own() -> None:
    budgets = Budgets(LocalCounter())
    assert [budgets.take("a", 1, NOW_S) for _ in range(2)] == [True, False]
    assert budgets.take("b", 1, NOW_S)
    assert budgets.take("a", 1, NOW_S + 60)


def test_processes_share_a_budget_through_the_counter() -> None:
    counter = LocalCounter()
    processes = [Budgets(counter) for _ in range(3)]
    taken = sum(p.take("a", 5000, NOW_S) for _ in range(3000) for p in processes)
    assert taken == 5000


_WORKER = """
import sys
from tenancy.counters import ValkeyCounter
from tenancy.throttles import Budgets
budgets = Budgets(ValkeyCounter(sys.argv[1]))
print(sum(budgets.take("a", 3000, 1_000_000.0) for _ in range(2000)))
"""


@pytest.mark.process
def test_parallel_processes_never_exceed_it(broker_url: str) -> None:
    workers = [
        subprocess.Popen([sys.executable, "-c", _WORKER, broker_url], stdout=subprocess.PIPE)
        for _ in range(3)
    ]
    taken = [int(worker.communicate()[0]) for worker in workers]
    # Each of the three may end with an unused rest of its last reservation of three.
    assert 3000 - 3 * 2 <= sum(taken) <= 3000


def test_the_counter_forgets_by_itself(broker_url: str) -> None:
    counter = ValkeyCounter(broker_url)
    assert counter.add("throttle:forget", 2, ttl_s=100) == 2
    assert counter.add("throttle:forget", 3, ttl_s=100) == 5
    assert 0 < counter._client.ttl("throttle:forget") <= 100


def test_an_unreachable_counter_lets_requests_pass_and_says_so_once() -> None:
    budgets = Budgets(ValkeyCounter("redis://127.0.0.1:1/0"))
    with structlog.testing.capture_logs() as logs:
        assert all(budgets.take("a", 1, NOW_S) for _ in range(20))
    assert [entry["event"] for entry in logs] == ["throttle_counter_unreachable"]


@pytest.mark.parametrize(
    ("url", "kind"),
    [("redis://x/0", ValkeyCounter), ("rediss://x/0", ValkeyCounter), ("amqp://x", LocalCounter)],
)
def test_other_brokers_count_in_process(url: str, kind: type) -> None:
    assert isinstance(counter_for(url), kind)


def test_too_many_requests(api_for: ApiFor, settings: Settings) -> None:
    settings.THROTTLE_PER_MINUTE = 3
    api = api_for(Role.MEMBER)
    statuses = [api.get(ME).status_code for _ in range(8)]
    answer = api.get(ME)
    # A minute may end while the test runs: then at most one more budget is handed out.
    assert 3 <= statuses.count(200) <= 6
    assert set(statuses) == {200, 429}
    if answer.status_code == 429:
        assert answer.json()["code"] == "too_many_requests"
        assert 1 <= int(answer["Retry-After"]) <= 60
        assert answer["RateLimit-Limit"] == "3"


def test_guessing_tokens_is_throttled_by_address(world: World, settings: Settings) -> None:
    settings.THROTTLE_ANONYMOUS_PER_MINUTE = 2
    api = Api("fw_o_" + "x" * 43)
    statuses = [api.get(ME).status_code for _ in range(6)]
    assert set(statuses) == {401, 429}


def test_in_production_the_proxy_names_the_address(world: World, settings: Settings) -> None:
    settings.THROTTLE_ANONYMOUS_PER_MINUTE = 1
    settings.PRODUCTION = True
    for last in range(5):
        forwarded = {"X-Forwarded-For": f"1.2.3.4, 10.0.0.{last}"}
        assert Api().get(ME, forwarded).status_code == 401
