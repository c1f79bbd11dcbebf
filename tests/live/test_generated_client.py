"""Strangers use us through a client generated from our schema, as it comes out of the generator."""

import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.live.conftest import Live
from tests.live.operations import operations

PACKAGE = "fairwatt_client"
Imported = Callable[[str], Any]


@pytest.fixture(scope="module")
def generated(changing_live: Live, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """From the schema that the service publishes; a warning of the generator is a failure."""
    there = tmp_path_factory.mktemp("client")
    schema = there / "schema.json"
    published = changing_live.send("none", "GET", "/api/v1/schema/?format=json")
    schema.write_bytes(published.content)
    tools = Path(sys.executable).parent
    done = subprocess.run(
        [
            *(tools / "openapi-python-client", "generate", "--fail-on-warning", "--meta", "none"),
            *("--path", schema, "--output-path", there / PACKAGE),
        ],
        # The generator formats what it wrote with ruff, which it looks for on the path.
        env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in (done.stdout + done.stderr).lower()
    return there


@pytest.fixture
def imported(generated: Path, monkeypatch: pytest.MonkeyPatch) -> Imported:
    monkeypatch.syspath_prepend(generated)
    return lambda name: importlib.import_module(f"{PACKAGE}.{name}")


@pytest.fixture
def client(imported: Imported, changing_live: Live) -> Any:
    token = changing_live.world.secrets["member"]
    return imported("client").AuthenticatedClient(base_url=changing_live.url, token=token)


def test_every_operation_has_a_function(imported: Imported) -> None:
    for operation in operations():
        assert imported(f"api.{operation.room}.{operation.id}").sync_detailed


def test_submit_poll_and_cancel(imported: Imported, client: Any) -> None:
    models = imported("models")
    jobs = {name: imported(f"api.jobs.jobs_{name}") for name in ("create", "retrieve", "cancel")}
    body = models.JobSpec(name="hello", cluster="demo", argv=["true"], gpus=1)

    submitted = jobs["create"].sync(client=client, body=body, idempotency_key="once")
    again = jobs["create"].sync(client=client, body=body, idempotency_key="once")
    assert isinstance(submitted, models.JobMadeOut)
    assert again.id == submitted.id

    polled = jobs["retrieve"].sync(submitted.id, client=client)
    assert (polled.state, polled.name) == ("queued", "hello")

    cancelled = jobs["cancel"].sync(submitted.id, client=client)
    assert cancelled.state == "cancelled"
    assert jobs["retrieve"].sync(submitted.id, client=client).ended_at is not None


def test_a_list_is_paged_to_its_end(imported: Imported, client: Any) -> None:
    listed, cursor, unset = [], None, imported("types").UNSET
    while True:
        page = imported("api.jobs.jobs_list").sync(client=client, limit=2, cursor=cursor or unset)
        listed += [job.id for job in page.items]
        cursor = page.next_
        if cursor is None:
            break
    assert listed == sorted(set(listed), reverse=True)
    assert len(listed) >= 4


def test_a_refusal_is_a_problem(imported: Imported, client: Any) -> None:
    models = imported("models")
    body = models.JobSpec(name="hello", cluster="nowhere", argv=["true"])
    refused = imported("api.jobs.jobs_create").sync(client=client, body=body)
    assert isinstance(refused, models.Problem)
    assert (refused.status, refused.errors[0].pointer) == (409, "/cluster")


def test_a_strangers_token_is_a_problem_too(imported: Imported, changing_live: Live) -> None:
    stranger = imported("client").AuthenticatedClient(base_url=changing_live.url, token="x")
    answer = imported("api.jobs.jobs_list").sync_detailed(client=stranger)
    assert (answer.status_code, answer.parsed.code) == (401, "unauthenticated")
