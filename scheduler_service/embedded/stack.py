"""The programs of the service itself, in the order in which they start."""

import http.client
import json
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from scheduler_service.embedded.program import Program

API_WORKERS = 2
# Connections, most of them idle: every agent keeps two open between its requests.
API_CONNECTIONS_PER_WORKER = 16_384
# More than one only on more than two cores: each has an event loop, threads and connections.
DOOR_WORKERS = 1
DOOR_CONNECTIONS_PER_WORKER = 65_536
# For the head of a request, and for the pause between two of one connection.
API_HEADERS_MS = 30_000
TENANT_UIDS = "200000-299999"
CELERY = ("-m", "celery", "-A", "scheduler_service", "--quiet")


@dataclass(frozen=True)
class Site:
    """Where the service lives: source, state, address, and the environment of its programs."""

    source: Path
    var: Path
    host: str
    port: int
    door_port: int
    env: Mapping[str, str]
    lock: int

    @property
    def url(self) -> str:
        return self._url(self.port)

    @property
    def door_url(self) -> str:
        """Of agents, and of whoever follows jobs and logs."""
        return self._url(self.door_port)

    def _url(self, port: int) -> str:
        # A server bound to every address is reached at the nearest one.
        return f"http://{'127.0.0.1' if self.host == '0.0.0.0' else self.host}:{port}"  # noqa: S104


def steps(site: Site) -> tuple[Program, ...]:
    """What runs to its end before the service starts."""
    return (
        _python(site, "migrate", "manage.py", "migrate", "--verbosity", "1"),
        _python(site, "seed", "manage.py", "seed_demo", "--url", site.url),
    )


def services(site: Site) -> tuple[Program, ...]:
    """What is kept alive; a further program is one more line here.

    API and door follow what they need, agents follow the door; on the way down it is the reverse.
    """
    return (
        _worker(site),
        _whatif(site),
        _beat(site),
        _ticker(site),
        _api(site),
        _door(site),
        *_agents(site),
    )


def _api(site: Site) -> Program:
    arguments = (
        *("-m", "granian", "--interface", "rsgi", "scheduler_service.api:application"),
        *("--host", site.host, "--port", str(site.port), "--no-ws"),
        # Threads are the front's: scheduler_service/front/lanes.py.
        *("--workers", str(API_WORKERS), "--http1-header-read-timeout", str(API_HEADERS_MS)),
        *("--backlog", "4096", "--backpressure", str(API_CONNECTIONS_PER_WORKER)),
        *("--respawn-failed-workers", "--workers-kill-timeout", "5"),
    )
    return replace(_python(site, "api", *arguments), ready=lambda pid: _answers_ready(site.url))


def _door(site: Site) -> Program:
    arguments = (
        *("-m", "granian", "--interface", "asgi", "scheduler_service.asgi:application"),
        *("--host", site.host, "--port", str(site.door_port), "--no-ws", "--http", "1"),
        *("--workers", str(DOOR_WORKERS), "--log-level", "warning"),
        *("--backlog", "4096", "--backpressure", str(DOOR_CONNECTIONS_PER_WORKER)),
        *("--respawn-failed-workers", "--workers-kill-timeout", "5"),
    )
    door = _python(site, "door", *arguments)
    return replace(door, ready=lambda pid: _answers_ready(site.door_url))


def _worker(site: Site) -> Program:
    arguments = (*CELERY, "worker", "--concurrency", "2", "--loglevel", _log_level(site))
    # No farewell: it would wait for a broker that has gone as well. The tasks are delivered again.
    return replace(_python(site, "worker", *arguments), orphan_signal=signal.SIGKILL)


def _whatif(site: Site) -> Program:
    """A worker for what may take its time: a round never waits behind a simulation or a bound."""
    queues = ("--queues", "forecasts,gaps,simulations", "--hostname", "whatif@%h")
    options = ("--concurrency", "1", "--loglevel", _log_level(site))
    arguments = (*CELERY, "worker", *queues, *options)
    return replace(_python(site, "whatif", *arguments), orphan_signal=signal.SIGKILL)


def _beat(site: Site) -> Program:
    schedule = str(site.var / "beat-schedule")
    # The supervisor is the only one to start it: a pid file could only be stale.
    options = ("--schedule", schedule, "--pidfile", "", "--loglevel", _log_level(site))
    return _python(site, "beat", *CELERY, "beat", *options)


def _ticker(site: Site) -> Program:
    """For the times in which one of the three above, or the broker, is away."""
    return _python(site, "ticker", "manage.py", "ticker")


def _log_level(site: Site) -> str:
    """Celery has a default of its own, with which it would overrule ours."""
    return site.env.get("LOG_LEVEL") or "INFO"


def _agents(site: Site) -> tuple[Program, ...]:
    """The demo's nodes, emulated; none where the file of the demo names none."""
    known = json.loads((site.var / "demo.json").read_text())
    return tuple(
        replace(
            _python(
                site,
                *(agent["name"], "-m", "agent"),
                *("--server", site.door_url, "--name", agent["name"], "--address", "127.0.0.1"),
                *("--state-dir", str(site.var / "agents" / agent["name"])),
                *("--checkpoint-dir", str(site.var / "agents" / "checkpoints")),
                *("--devices", f"emulated:{site.source}/examples/nodes/{agent['devices']}.toml"),
                # The demo's jobs are scripts of the checkout, wherever that lies.
                *("--show", f"{site.source}/examples"),
                *_whom(),
            ),
            env={**site.env, "FAIRWATT_JOIN_TOKEN": agent["join_token"]},
        )
        for agent in known.get("agents", [])
    )


def _whom() -> tuple[str, ...]:
    """Only root can run attempts as somebody else, and then always does; the agent finds a way."""
    return ("--tenant-uids", TENANT_UIDS) if os.geteuid() == 0 else ("--trust-tenants",)


def _python(site: Site, name: str, *arguments: str) -> Program:
    argv = (sys.executable, *arguments)
    return Program(
        name, argv, cwd=site.source, env=site.env, inherit=(site.lock,), stops_together=True
    )


def _answers_ready(url: str) -> bool:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=2)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.HTTPStatus.OK
    except OSError:
        return False
    finally:
        connection.close()
