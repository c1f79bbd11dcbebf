"""The demo is made once, and its tokens open the door."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from clusters.models import JoinToken
from scheduler_service.seed import seed
from tenancy.authentication import login
from tenancy.models import ApiToken
from tenancy.token_text import hash_of

NOW = datetime(2026, 1, 5, tzinfo=UTC)
URL = "http://localhost:8000"

pytestmark = pytest.mark.django_db


def test_seeding_twice_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "var" / "demo.json"
    seed(path, url=URL, now=NOW)
    first = json.loads(path.read_text())
    seed(path, url="http://localhost:9000", now=NOW)
    second = json.loads(path.read_text())

    assert second == {**first, "url": "http://localhost:9000"}
    assert (ApiToken.objects.count(), JoinToken.objects.count()) == (3, 5)
    assert path.stat().st_mode & 0o777 == 0o600


def test_tokens_of_the_file_are_alive(tmp_path: Path) -> None:
    path = tmp_path / "demo.json"
    seed(path, url=URL, now=NOW)
    written = json.loads(path.read_text())

    callers = {
        name: login(hash_of(written[name]))
        for name in ("operator_token", "tenant_token", "other_tenant_token")
    }
    assert [caller and caller.tenant_name for caller in callers.values()] == [
        None,
        "acme",
        "globex",
    ]


def test_a_file_of_another_database_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "demo.json"
    path.write_text(json.dumps({"operator_token": "fw_o_" + "x" * 43}))

    seed(path, url=URL, now=NOW)

    assert login(hash_of(json.loads(path.read_text())["operator_token"])) is not None


def test_every_agent_of_the_demo_has_its_token_rack_and_devices(tmp_path: Path) -> None:
    path = tmp_path / "demo.json"
    seed(path, url=URL, now=NOW)

    agents = json.loads(path.read_text())["agents"]

    assert [agent["name"] for agent in agents] == ["node-1", "node-2", "node-3", "node-4"]
    files = Path(__file__).parents[2] / "examples" / "nodes"
    for agent in agents:
        assert (files / f"{agent['devices']}.toml").is_file()
        token = JoinToken.objects.get(hash=hash_of(agent["join_token"]))
        assert token.rack is not None
