"""The whole service as `make up` runs it, and real agents that join it over HTTP.

Leases are a fifth of what they are in production, so that the tests need not wait for minutes.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx

from agent.remember.attempt_store import double_holds
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
    api: subprocess.Popen[bytes]
    agents: list[AgentProcess] = field(default_factory=list)

    @contextmanager
    def api_down(self) -> Iterator[None]:
        """It answers nobody: requests hang, and those on their way are late."""
        os.killpg(self.api.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.killpg(self.api.pid, signal.SIGCONT)

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

    def printed(self, job_id: int) -> str:
        """What the service has of it so far; an attempt that is over may still upload."""
        chunks = self.ask(
            "SELECT data FROM jobs_logchunk JOIN jobs_log log ON log.id = log_id"
            " JOIN jobs_attempt attempt ON attempt.id = attempt_id"
            " WHERE job_id = %s AND stream = 'stdout' ORDER BY attempt.id, \"offset\"",
            job_id,
        )
        return b"".join(bytes(data) for (data,) in chunks).decode()

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
    (var / "demo.json").write_text('{"agents": []}')
    with ExitStack() as up:
        queue = up.enter_context(broker.prepared(var / "broker", port=free_port(), durable=False))
        up.enter_context(running(queue.program, directory / "broker.log"))
        urls = {"DATABASE_URL": database.url, "BROKER_URL": queue.url, "CACHE_URL": queue.url}
        env = {**os.environ, **urls, **LEASES, "FAIRWATT_VAR": str(var)}
        site = Site(ROOT, var, LOOPBACK, free_port(), free_port(), env, lock=sys.stderr.fileno())
        programs = {program.name: program for program in services(site)}
        processes = {
            name: up.enter_context(running(_at_once(programs[name]), directory / f"{name}.log"))
            for name in ("worker", "beat", "api")
        }
        made = Station(directory, database, site, secret, processes["api"])
        up.callback(made.close)
        made.call("POST", "tenants/", json={"name": "faults", "display_name": "Faults"})
        yield made


def _at_once(program: Program) -> Program:
    """Nothing of theirs is kept, so nobody waits for them to tidy up."""
    return replace(program, stop_signal=signal.SIGKILL)


def for_as_long_as(seconds: float, holds: Callable[[], bool]) -> None:
    """It holds now, and goes on holding."""
    end_s = time.monotonic() + seconds
    while time.monotonic() < end_s:
        assert holds()
        time.sleep(0.2)
