"""The whole service as `make up` runs it, and real agents that join it over HTTP.

Leases are a fifth of what they are in production, so that the tests need not wait for minutes.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx

from agent.book import double_holds
from scheduler_service.embedded import broker
from scheduler_service.embedded.ports import LOOPBACK, free_port
from scheduler_service.embedded.program import Program, running
from scheduler_service.embedded.stack import Site, services
from tests.agent.process import ROOT, TWO_GPUS, AgentProcess, outside_environment
from tests.agent.service import until
from tests.live.database import Database

NODE_LEASE_S, RUN_LEASE_S, RUN_MARGIN_S = 3.0, 24.0, 2.0
LEASES = {
    "SYNC_INTERVAL_S": "0.2",
    "SAMPLE_INTERVAL_S": "0.2",
    "NODE_LEASE_S": str(NODE_LEASE_S),
    "RUN_LEASE_S": str(RUN_LEASE_S),
    "RUN_MARGIN_S": str(RUN_MARGIN_S),
}
TERMINAL = ("succeeded", "failed", "cancelled")
SLEEP = "import time; time.sleep(600)"


@dataclass
class Station:
    """An API that can be taken away and brought back, its workers, and the agents of the tests."""

    directory: Path
    database: Database
    site: Site
    secret: str
    agents: list[AgentProcess] = field(default_factory=list)
    _api: ExitStack = field(default_factory=ExitStack)

    @property
    def programs(self) -> dict[str, Program]:
        (self.site.var / "demo.json").write_text('{"agents": []}')
        # Nothing of theirs is kept, so nobody waits for them to tidy up.
        made = (replace(each, stop_signal=signal.SIGKILL) for each in services(self.site))
        return {program.name: program for program in made}

    def api_up(self) -> None:
        api = self.programs["api"]
        workers = api.argv.index("--workers") + 1
        api = replace(api, argv=(*api.argv[:workers], "1", *api.argv[workers + 1 :]))
        self._api.enter_context(running(api, self.directory / "api.log"))

    def api_down(self) -> None:
        self._api.close()

    def call(self, method: str, path: str, **more: Any) -> Any:
        bearer = {"Authorization": f"Bearer {self.secret}"}
        with httpx.Client(trust_env=False, headers=bearer, timeout=30) as http:
            answer = http.request(method, f"{self.site.url}/api/v1/{path}", **more)
        assert answer.is_success, answer.text
        return answer.json()

    def cluster(self, name: str) -> None:
        self.call("POST", "clusters/", json={"name": name, "round_interval_s": 1})

    def join(self, cluster: str, name: str, *, url: str | None = None, **env: str) -> AgentProcess:
        body = {"cluster": cluster, "lifetime_s": 3600}
        token = self.call("POST", "join-tokens/", json=body)["secret"]
        agent = self.agent(name, name, token, url, **env).start()
        until(lambda: self.node(name)["state"] == "ready", f"{name} ready", 30)
        return agent

    def agent(
        self, state: str, name: str, token: str = "", url: str | None = None, **env: str
    ) -> AgentProcess:
        catalogue = self.directory / "node.toml"
        catalogue.write_text(TWO_GPUS)
        base = outside_environment(self.directory, token)
        made = AgentProcess(
            url or self.site.url, self.directory / state, catalogue, base | env, name
        )
        self.agents.append(made)
        return made

    def node(self, name: str) -> dict[str, Any]:
        nodes = self.call("GET", "nodes/?limit=100")["items"]
        return next((node for node in nodes if node["name"] == name), {"state": "unknown"})

    def submit(self, cluster: str, code: str = SLEEP, **more: Any) -> int:
        argv = [sys.executable, "-c", code]
        body = {"name": "train", "cluster": cluster, "tenant": "faults", "argv": argv, "gpus": 1}
        return int(self.call("POST", "jobs/", json=body | more)["id"])

    def run(self, cluster: str, agent: AgentProcess, code: str = SLEEP, **more: Any) -> "Running":
        """A job, once the service knows that it runs, and its one process."""
        job_id = self.submit(cluster, code, **more)
        until(lambda: self.job(job_id)["state"] == "running", "the job running", 30)
        (attempt,) = self.attempts(job_id)
        (pid,) = until(lambda: agent.job_pids(attempt["id"]), "its process")
        return Running(job_id, attempt["id"], pid)

    def job(self, job_id: int) -> dict[str, Any]:
        found: dict[str, Any] = self.call("GET", f"jobs/{job_id}/")
        return found

    def over(self, job_id: int) -> dict[str, Any]:
        until(lambda: self.job(job_id)["state"] in TERMINAL, "the job's end", 30)
        return self.job(job_id)

    def attempts(self, job_id: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.call("GET", f"attempts/?job={job_id}")["items"]
        return sorted(found, key=lambda attempt: int(attempt["number"]))

    def moves(self, job_id: int) -> list[str]:
        events = self.call("GET", f"jobs/{job_id}/events/?limit=100")["items"]
        return [event["to_state"] for event in sorted(events, key=lambda event: event["id"])]

    def ask(self, query: str, *values: object) -> Any:
        with self.database.connect() as connection:
            return connection.execute(query, values).fetchall()

    def held_twice(self) -> list[str]:
        """From the journals of all agents: GPUs that two attempts held at once."""
        journals = [agent for agent in self.agents if (agent.state / "journal.jsonl").exists()]
        return [each for agent in journals for each in double_holds(agent.journal())]

    def close(self) -> None:
        for agent in self.agents:
            agent.stop()
        self.agents.clear()


@dataclass(frozen=True)
class Running:
    job_id: int
    attempt_id: int
    pid: int


@contextmanager
def station(directory: Path, database: Database, secret: str) -> Iterator[Station]:
    var = directory / "var"
    var.mkdir()
    (var / "static").mkdir()
    with ExitStack() as up:
        queue = up.enter_context(broker.prepared(var / "broker", port=free_port(), durable=False))
        up.enter_context(running(queue.program, directory / "broker.log"))
        urls = {"DATABASE_URL": database.url, "BROKER_URL": queue.url, "CACHE_URL": queue.url}
        env = {**os.environ, **urls, **LEASES, "FAIRWATT_VAR": str(var)}
        site = Site(ROOT, var, LOOPBACK, free_port(), env, lock=sys.stderr.fileno())
        made = Station(directory, database, site, secret)
        up.callback(made.api_down)
        for name in ("worker", "beat"):
            up.enter_context(running(made.programs[name], directory / f"{name}.log"))
        made.api_up()
        up.callback(made.close)
        made.call("POST", "tenants/", json={"name": "faults", "display_name": "Faults"})
        yield made


def for_as_long_as(seconds: float, holds: Callable[[], bool]) -> None:
    """It holds now, and goes on holding."""
    end_s = time.monotonic() + seconds
    while time.monotonic() < end_s:
        assert holds()
        time.sleep(0.2)
