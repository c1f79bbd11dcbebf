"""A hostile node over HTTP: what it floods with is shed, and heartbeats are still answered."""

import json
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.conf import LazySettings
from django.utils import timezone

from agent.wire import (
    MAX_BODY_BYTES,
    GpuStatus,
    LogPiece,
    Logs,
    Register,
    Stream,
    Sync,
    encode,
)
from clusters.models import Cluster, Node
from energy.models import Sample, SampleInbox
from energy.telemetry.digest import samples_digest
from engines.agents import api as views
from scheduler_service.factories import make_cluster
from tenancy import throttles
from tests.api import Api
from tests.energy.telemetry.readings import sample, telemetry
from tests.engines.agents.nodes import BOOT, inventory, join_token

pytestmark = pytest.mark.django_db

PATH = "/api/v1/agent/"


@pytest.fixture(autouse=True)
def fresh_budgets() -> Iterator[None]:
    throttles.budgets.cache_clear()
    yield
    throttles.budgets.cache_clear()


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def _join(cluster: Cluster, name: str) -> tuple[Api, Node]:
    body = Register(f"install-{name}", inventory(name), join_token(cluster, timezone.now()))
    answer = Api().send("POST", f"{PATH}register", encode(body))
    assert answer.status_code == 200, answer.content
    return Api(answer.json()["node_token"]), Node.objects.get(name=name)


@pytest.fixture
def joined(cluster: Cluster) -> tuple[Api, Node]:
    return _join(cluster, "n1")


def _send(api: Api, way: str, message: Any) -> Any:
    return api.send("POST", f"{PATH}{way}", encode(message))


def _sync(api: Api, node: Node, sequence: int = 1) -> int:
    gpus = tuple(GpuStatus(f"GPU-{node.name}-{index}", healthy=True) for index in range(4))
    status: int = _send(api, "sync", Sync(node.epoch, sequence, BOOT, gpus=gpus)).status_code
    return status


@pytest.mark.django_db(transaction=True)
def test_join_tokens_are_not_guessed_by_the_hundred(
    cluster: Cluster, settings: LazySettings
) -> None:
    settings.CACHE_URL, settings.WRONG_SECRETS_PER_MINUTE = f"local:{time.monotonic_ns()}", 5
    wrong = Register("install-n1", inventory("n1"), "fw_j_0123456789abcdef")
    answers = [_send(Api(), "register", wrong) for _ in range(7)]
    assert {answer.status_code for answer in answers[:5]} == {403}
    assert answers[-1].status_code == 429
    assert int(answers[-1]["Retry-After"]) <= 60


def test_samples_come_in_over_http(joined: tuple[Api, Node]) -> None:
    api, node = joined
    answer = _send(api, "telemetry", telemetry(node, [sample("GPU-n1-0", 1, 500)]))
    assert answer.status_code == 200, answer.content
    samples_digest()
    assert Sample.objects.get().energy_mj == 500


def test_samples_that_a_failing_database_does_not_take_may_come_again(
    joined: tuple[Api, Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    api, node = joined

    def lost(*_: Any) -> None:
        raise psycopg.OperationalError("the connection is lost")

    monkeypatch.setattr(psycopg.Copy, "write_row", lost)
    answer = _send(api, "telemetry", telemetry(node, [sample("GPU-n1-0", 1, 500)]))
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")


def test_a_flood_is_shed_and_neither_its_syncs_nor_others_suffer(
    cluster: Cluster, joined: tuple[Api, Node], settings: LazySettings
) -> None:
    settings.NODE_TELEMETRY_PER_MINUTE = 10
    api, node = joined
    other, other_node = _join(cluster, "n2")
    message = telemetry(node, [sample("GPU-n1-0", 1, 500)])
    answers = [_send(api, "telemetry", message) for _ in range(100)]

    statuses = [answer.status_code for answer in answers]
    # A minute may begin in between.
    assert 10 <= statuses.count(200) <= 20
    assert set(statuses) == {200, 429}
    assert int(answers[-1]["Retry-After"]) <= 60
    assert _sync(api, node) == 200
    assert _sync(other, other_node) == 200
    theirs = telemetry(other_node, [sample("GPU-n2-0", 1, 5)])
    assert _send(other, "telemetry", theirs).status_code == 200
    samples_digest()
    assert Sample.objects.count() == 2


def test_a_flood_of_logs_spends_its_own_budget(
    joined: tuple[Api, Node], settings: LazySettings
) -> None:
    settings.NODE_LOGS_PER_MINUTE = 3
    api, node = joined
    chunk = LogPiece(1, 1, Stream.STDOUT, 0, b"x" * 60_000)
    statuses = [_send(api, "logs", Logs(node.epoch, (chunk,))).status_code for _ in range(10)]
    assert set(statuses) == {200, 429}
    assert _sync(api, node) == 200
    message = telemetry(node, [sample("GPU-n1-0", 1, 500)])
    assert _send(api, "telemetry", message).status_code == 200


def test_too_many_syncs_are_shed_too(joined: tuple[Api, Node], settings: LazySettings) -> None:
    settings.NODE_SYNCS_PER_MINUTE = 5
    api, node = joined
    assert {_sync(api, node, number) for number in range(20)} == {200, 429}


def test_uploads_leave_a_thread_to_the_syncs(joined: tuple[Api, Node]) -> None:
    api, node = joined
    taken = 0
    try:
        while views._UPLOADS.acquire(blocking=False):
            taken += 1
        answer = _send(api, "telemetry", telemetry(node, [sample("GPU-n1-0", 1, 500)]))
        assert (answer.status_code, answer["Retry-After"]) == (503, "1")
        assert _sync(api, node) == 200
    finally:
        for _ in range(taken):
            views._UPLOADS.release()
    assert not SampleInbox.objects.exists()


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"power_mw": 10**15}, "/samples/0/power_mw"),
        ({"energy_mj": -5}, "/samples/0/energy_mj"),
        ({"energy_mj": 10**30}, "/samples/0/energy_mj"),
        ({"temperature_c": "hot"}, "/samples/0/temperature_c"),
        ({"uuid": "../etc"}, "/samples/0/uuid"),
        ({"surprise": 1}, "/samples/0"),
    ],
)
def test_what_cannot_be_is_refused_whole_and_by_place(
    joined: tuple[Api, Node], changes: dict[str, Any], pointer: str
) -> None:
    api, node = joined
    body = json.loads(encode(telemetry(node, [sample("GPU-n1-0", 1, 500)])))
    body["samples"][0].update(changes)
    answer = api.send("POST", f"{PATH}telemetry", json.dumps(body).encode())
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == pointer
    assert not SampleInbox.objects.exists()


def test_not_a_number_is_refused(joined: tuple[Api, Node]) -> None:
    api, node = joined
    body = encode(telemetry(node, [sample("GPU-n1-0", 1, 500)])).replace(b"500", b"NaN")
    assert api.send("POST", f"{PATH}telemetry", body).status_code == 400


@pytest.mark.parametrize("way", ["telemetry", "logs", "sync"])
def test_a_body_beyond_all_bounds_is_refused_unread(joined: tuple[Api, Node], way: str) -> None:
    answer = joined[0].send("POST", f"{PATH}{way}", b" " * (MAX_BODY_BYTES + 1))
    assert answer.status_code == 413


@pytest.mark.parametrize("way", ["telemetry", "logs", "sync", "register"])
def test_only_posts_are_answered(joined: tuple[Api, Node], way: str) -> None:
    assert joined[0].get(f"{PATH}{way}").status_code == 405


def test_an_agent_of_an_older_epoch_uploads_nothing(joined: tuple[Api, Node]) -> None:
    api, node = joined
    Node.objects.update(epoch=2)
    message = telemetry(node, [sample("GPU-n1-0", 1, 500)])
    for way, told in (("telemetry", message), ("logs", Logs(node.epoch, ()))):
        answer = _send(api, way, told)
        assert (answer.status_code, answer.json()["code"]) == (409, "stale_epoch")


def test_a_token_of_no_node_is_told_so(joined: tuple[Api, Node]) -> None:
    api, node = joined
    Node.objects.update(token=None)
    message = telemetry(node, [sample("GPU-n1-0", 1, 500)])
    for way, told in (("telemetry", message), ("sync", Sync(node.epoch, 1, BOOT))):
        answer = _send(api, way, told)
        assert (answer.status_code, answer.json()["code"]) == (403, "no_node")
