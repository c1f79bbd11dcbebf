"""At the door nobody's body is read before it is known who sends it, or that it is small."""

import time

import pytest
from django.conf import LazySettings
from django.utils import timezone

from agent.wire import REGISTER_PATH, TELEMETRY_PATH, Register, encode
from clusters.models import Cluster
from engines.agents.door.uploads import STRANGER_BYTES
from scheduler_service.door import Door
from scheduler_service.factories import make_cluster
from tenancy.roles import Role
from tenancy.token_text import new_secret
from tests.asgi import Client, Exchange
from tests.engines.agents.door.conftest import in_thread, with_door
from tests.engines.agents.nodes import inventory, join_token

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def _refused(path: str, body: bytes, token: str | None) -> Exchange:
    async def act(door: Door) -> Exchange:
        return await Client(door, token).send("POST", path, body)

    return with_door(act)


@pytest.mark.parametrize(
    ("path", "size"), [(REGISTER_PATH, 10), (TELEMETRY_PATH, STRANGER_BYTES + 1)]
)
def test_under_a_token_that_is_not_live_nothing_is_read(path: str, size: int) -> None:
    answer = _refused(path, b" " * size, new_secret(Role.NODE))
    assert (answer.status, answer.asked) == (401, False)


@pytest.mark.parametrize("path", [REGISTER_PATH, TELEMETRY_PATH])
def test_what_a_stranger_says_is_bounded(path: str) -> None:
    answer = _refused(path, b" " * (STRANGER_BYTES + 1), None)
    assert (answer.status, answer.asked) == (413, False)


def test_who_guessed_join_tokens_is_not_read_any_more(
    cluster: Cluster, settings: LazySettings
) -> None:
    settings.CACHE_URL, settings.WRONG_SECRETS_PER_MINUTE = f"local:{time.monotonic_ns()}", 1

    async def act(door: Door) -> list[tuple[int, bool]]:
        answers = []
        good = await in_thread(join_token, cluster, timezone.now())
        for token in (good, "fw_j_0123456789abcdef", good):
            message = encode(Register("install-1", inventory("n1"), token))
            answer = await Client(door).send("POST", REGISTER_PATH, message)
            answers.append((answer.status, answer.asked))
        return answers

    assert with_door(act) == [(200, True), (403, True), (429, False)]
