"""The API is killed while somebody follows and waits: both go on when it is back."""

import asyncio
import socket
import threading
from collections.abc import Callable
from typing import Any

import fairwatt
import pytest
from fairwatt.feeds.logs import LogChunk

from tests.client.live.conftest import Service
from tests.scheduler_service.embedded.processes import eventually

pytestmark = pytest.mark.process
# Prints before and after the API was away; goes on when the test hangs up.
TALKS = """
import socket, sys
print("before", flush=True)
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as gate:
    gate.recv(1)
print("after", flush=True)
"""


class Background:
    """A follower in a thread of its own, whose end or error is kept."""

    def __init__(self, follow: Callable[[], Any]) -> None:
        self.result: Any = None
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(follow,), daemon=True)
        self._thread.start()

    def _run(self, follow: Callable[[], Any]) -> None:
        try:
            self.result = follow()
        except BaseException as error:  # noqa: BLE001 - handed to the test
            self.error = error

    def ended(self, longest_s: float = 240.0) -> Any:
        self._thread.join(longest_s)
        assert not self._thread.is_alive(), "it still follows"
        if self.error is not None:
            raise self.error
        return self.result


def test_followers_outlive_the_api(service: Service) -> None:
    gate = socket.create_server(("127.0.0.1", 0))
    retries: list[Any] = []
    spec = fairwatt.JobSpec(argv=["python3", "-c", TALKS, str(gate.getsockname()[1])])
    texts: list[str] = []

    def follow() -> None:
        with service.client(on_retry=retries.append) as client:
            texts.extend(each.text for each in client.follow(job.id) if isinstance(each, LogChunk))

    def wait() -> fairwatt.Job:
        with service.client(on_retry=retries.append) as client:
            return client.wait(job.id)

    async def events() -> list[str]:
        token = service.demo["tenant_token"]
        async with fairwatt.AsyncClient(service.url, token, on_retry=retries.append) as client:
            return [event.to_state.value async for event in client.events(job.id)]

    with service.client() as client, gate:
        job = client.submit(spec)
        followers = [
            Background(follow),
            Background(wait),
            Background(lambda: asyncio.run(events())),
        ]
        eventually(lambda: "before" in "".join(texts), "it has printed", 120)
        service.kill_api()
        eventually(lambda: bool(retries), "somebody noticed", 60)
        gate.accept()[0].close()
        _, ended, moves = (follower.ended() for follower in followers)
    assert "".join(texts) == "before\nafter\n"
    assert ended.state is fairwatt.JobState.SUCCEEDED
    assert moves == ["queued", "placed", "running", "succeeded"]


def test_waiting_ends_when_its_time_is_over(service: Service) -> None:
    with service.client() as client:
        held = client.submit(fairwatt.JobSpec(argv=["true"], held=True))
        with pytest.raises(fairwatt.WaitedTooLong):
            client.wait(held.id, timeout_s=0.5)
        client.cancel(held.id)
        with pytest.raises(fairwatt.JobFailed, match="cancelled"):
            client.wait(held.id, check=True)


def test_the_same_key_makes_one_job(service: Service) -> None:
    spec = fairwatt.JobSpec(argv=["true"], held=True, labels={"key": "twice"})
    with service.client() as client:
        first, second = (client.submit(spec, key="once-only-7") for _ in range(2))
        assert first.id == second.id
        client.cancel(first.id)


def test_bad_ones_among_many_are_named(service: Service) -> None:
    good = fairwatt.JobSpec(argv=["true"], held=True, labels={"many": "7"})
    bad = fairwatt.JobSpec(argv=["true"], gpus=0)
    with service.client() as client:
        done = client.submit_many([good, bad, good])
        assert (done.stored, done.refused) == (2, 1)
        (refused,) = (item for item in done.items if item.problem)
        assert refused.index == 1
        assert refused.problem is not None
        assert refused.problem.errors[0].pointer == "/jobs/1/gpus"
        assert client.cancel_many(label="many=7").cancelled == 2
