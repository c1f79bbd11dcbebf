"""One node floods the running service; the others, and its own heartbeats, are served as ever."""

import threading
from collections import Counter
from dataclasses import dataclass

import httpx
import pytest

from agent.wire import LogPiece, Logs, Register, SampleReport, Stream, Sync, Telemetry, encode
from tests.engines.agents.nodes import BOOT, inventory
from tests.live.conftest import Live

# An agent sends its samples every five seconds and has a budget of 120 batches a minute.
FLOODERS, TIMES, HEARTBEATS = 6, 50, 15
_LOGS = """
SELECT count(*) FROM jobs_log JOIN clusters_node node ON node.id = node_id WHERE name = 'hostile'
"""


@dataclass
class Node:
    url: str
    name: str
    token: str
    epoch: int
    sequence: int = 0

    def post(self, http: httpx.Client, way: str, body: bytes) -> int:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        path = f"{self.url}/api/v1/agent/{way}"
        return http.post(path, content=body, headers=headers).status_code

    def sync(self, http: httpx.Client) -> int:
        self.sequence += 1
        return self.post(http, "sync", encode(Sync(self.epoch, self.sequence, BOOT)))

    def samples(self, count: int) -> bytes:
        uuid = f"GPU-{self.name}-0"
        told = tuple(
            SampleReport(uuid, number, 1000 * number, 50, 50_000) for number in range(count)
        )
        return encode(Telemetry(self.epoch, BOOT, 1000 * count, samples=told))

    def flood(self, answers: Counter[str]) -> None:
        chunk = LogPiece(1, 1, Stream.STDOUT, 0, b"x" * 60_000)
        logs, samples = encode(Logs(self.epoch, (chunk,) * 4)), self.samples(500)
        with httpx.Client(trust_env=False, timeout=30) as http:
            for way, body in (("telemetry", samples), ("logs", logs)) * TIMES:
                try:
                    answers[f"{way} {self.post(http, way, body)}"] += 1
                except httpx.HTTPError:  # shed before its body was read
                    answers[f"{way} cut"] += 1


def _join(live: Live, name: str) -> Node:
    asked = {"cluster": "demo", "lifetime_s": 3600}
    made = live.send("operator", "POST", "/api/v1/join-tokens/", json=asked).json()
    body = encode(Register(f"install-{name}", inventory(name), made["secret"]))
    answer = live.http.post("/api/v1/agent/register", content=body)
    assert answer.is_success, answer.text
    return Node(live.url, name, answer.json()["node_token"], answer.json()["epoch"])


def test_a_flood_of_samples_and_logs_keeps_nobody_from_speaking(changing_live: Live) -> None:
    hostile, honest = _join(changing_live, "hostile"), _join(changing_live, "honest")
    answers: Counter[str] = Counter()
    flooders = [threading.Thread(target=hostile.flood, args=(answers,)) for _ in range(FLOODERS)]
    for flooder in flooders:
        flooder.start()
    with httpx.Client(trust_env=False, timeout=30) as http:
        heard = [(honest.sync(http), hostile.sync(http)) for _ in range(HEARTBEATS)]
        for flooder in flooders:
            flooder.join()
        taken = honest.post(http, "telemetry", honest.samples(1))

    assert set(heard) == {(200, 200)}
    assert taken == 200
    assert {answer.split()[1] for answer in answers} <= {"200", "429", "503", "cut"}
    # A minute may begin in between.
    assert answers["telemetry 200"] <= 2 * 120
    assert _rows(changing_live, _LOGS) == 0
    assert _rows(changing_live, "SELECT count(*) FROM energy_sampleinbox") <= 2 * 120 * 500 + 1


def _rows(live: Live, query: str) -> int:
    with live.database.connect() as connection:
        row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return int(str(row[0]))


@pytest.mark.parametrize("stranger", ["member", "node", "attempt", "unknown"])
def test_nobody_speaks_for_a_node_but_its_own_token(changing_live: Live, stranger: str) -> None:
    node = Node(changing_live.url, "none", changing_live.world.secrets[stranger], epoch=1)
    with httpx.Client(trust_env=False, timeout=30) as http:
        assert node.sync(http) in (401, 403)
        assert node.post(http, "telemetry", node.samples(1)) in (401, 403)
