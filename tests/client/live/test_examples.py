"""Every public method's example, run against the real service and real agents, by both clients."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import fairwatt
import pytest
from django.utils import timezone
from fairwatt.calls import Calls
from fairwatt.calls.webhooks import WebhookCalls
from fairwatt.operation import _Described
from fairwatt.structs.webhooks import WebhookDelivery

from tests.client.examples import run_examples
from tests.client.live.conftest import Service
from tests.client.live.receiver import receiver
from tests.scheduler_service.embedded.processes import eventually

pytestmark = pytest.mark.process
GROUPS = [group for group in Calls.__mro__ if group.__module__.startswith("fairwatt.calls.")]
PRINTS = ["python3", "-c", "print(1)"]
GREETS = "print(1); open('greeting', 'w').write('hello\\n')"


class Awaited:
    """An AsyncClient that is spoken to as if it were a Client, so that examples fit both."""

    def __init__(self, client: fairwatt.AsyncClient) -> None:
        self._client, self._loop = client, asyncio.new_event_loop()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            made = method(*args, **kwargs)
            if inspect.iscoroutine(made):
                return self._loop.run_until_complete(made)
            return self._iterated(made)

        return call

    def _iterated(self, items: AsyncIterator[Any]) -> Iterator[Any]:
        while True:
            try:
                yield self._loop.run_until_complete(anext(items))
            except StopAsyncIteration:
                return

    def close(self) -> None:
        self._loop.run_until_complete(self._client.aclose())
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()


def described(group: type) -> dict[str, Any]:
    return {name: each for name, each in vars(group).items() if isinstance(each, _Described)}


def public() -> set[str]:
    return {name for group in GROUPS for name in described(group)}


@pytest.fixture(scope="module")
def done(service: Service) -> fairwatt.Job:
    with service.client() as client:
        kept = [fairwatt.ArtifactPath(name="greeting", path="greeting")]
        spec = fairwatt.JobSpec(argv=["python3", "-c", GREETS], artifacts=kept)
        return client.wait(client.submit(spec).id, check=True)


@pytest.fixture(scope="module")
def waiting(service: Service) -> fairwatt.Job:
    """Of 64 GPUs, of which there are 32; a round has said so."""
    with service.client() as client:
        job = client.submit(fairwatt.JobSpec(argv=["true"], gpus=64, gpu_types=["A100"]))
        eventually(
            lambda: client.explain(job.id).reason == "larger_than_partition", "a round spoke", 120
        )
        return job


@pytest.fixture
def told(service: Service) -> Iterator[WebhookDelivery]:
    """A delivery that has reached its receiver."""
    with receiver() as heard, service.client() as client:
        hook = client.make_webhook(heard.url, ["job.queued"])
        client.submit(fairwatt.JobSpec(argv=["true"], held=True))

        def arrived() -> list[WebhookDelivery]:
            return list(client.deliveries(webhook_id=hook.id, state="delivered"))

        eventually(lambda: bool(arrived()), "the receiver was told", 60)
        yield arrived()[-1]
        client.delete_webhook(hook.id)


@pytest.fixture(params=["blocking", "awaited"])
def names(
    request: pytest.FixtureRequest,
    service: Service,
    done: fairwatt.Job,
    waiting: fairwatt.Job,
) -> Iterator[dict[str, Any]]:
    made: list[Any] = []

    def client(who: str) -> Any:
        if request.param == "blocking":
            made.append(service.client(who))
        else:
            token = service.demo[f"{who}_token"]
            made.append(Awaited(fairwatt.AsyncClient(service.url, token)))
        return made[-1]

    tenant, operator = client("tenant"), client("operator")
    name = f"x-{uuid4().hex[:12]}"
    point = fairwatt.PointSpec(gpu_type="A100", gpus=1, steps_per_s=11.5)
    yield {
        "fairwatt": fairwatt,
        "client": tenant,
        "operator": operator,
        "url": service.url,
        "token": service.demo["tenant_token"],
        "name": name,
        "done": done,
        "waiting": waiting,
        "held": tenant.submit(fairwatt.JobSpec(argv=["true"], held=True)),
        "job": tenant.submit(fairwatt.JobSpec(argv=PRINTS)),
        "node": next(iter(tenant.nodes())),
        "profile": tenant.make_profile(fairwatt.ProfileSpec(name=f"{name}/p", points=[point])),
        "now": timezone.now(),
        "timedelta": timedelta,
    }
    for each in made:
        each.close()


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.__name__)
def test_every_example_of_a_group_runs(
    group: type, names: dict[str, Any], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    (tmp_path / "hello.py").write_text("print(1)")
    names["folder"] = tmp_path
    if group is WebhookCalls:
        names["told"] = request.getfixturevalue("told")
    for name, each in described(group).items():
        doc = inspect.getdoc(each.describe)
        assert run_examples(doc, names), f"{name} has no example"
        assert f".{name}(" in (doc or ""), f"the example of {name} does not call it"


def test_the_example_of_the_client_itself_runs(names: dict[str, Any]) -> None:
    assert run_examples(inspect.getdoc(fairwatt.Client), names)


def test_both_clients_have_the_same_methods() -> None:
    for client in (fairwatt.Client, fairwatt.AsyncClient):
        assert public() <= {name for name in dir(client) if name[0] != "_"}
