"""The programs of the service itself, in the order in which they start."""

import http.client
import json
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from scheduler_service.embedded.program import Program

API_WORKERS = 2
# Each thread keeps one database connection; Postgres has 100 of them by default.
API_THREADS_PER_WORKER = 4
# Connections, most of them idle: every agent keeps two open between its requests.
API_CONNECTIONS_PER_WORKER = 16_384
CELERY = ("-m", "celery", "-A", "scheduler_service", "--quiet")


@dataclass(frozen=True)
class Site:
    """Where the service lives: source, state, address, and the environment of its programs."""

    source: Path
    var: Path
    host: str
    port: int
    env: Mapping[str, str]
    lock: int

    @property
    def url(self) -> str:
        # A server bound to every address is reached at the nearest one.
        return f"http://{'127.0.0.1' if self.host == '0.0.0.0' else self.host}:{self.port}"  # noqa: S104


def steps(site: Site) -> tuple[Program, ...]:
    """What runs to its end before the service starts."""
    return (
        _python(site, "migrate", "manage.py", "migrate", "--verbosity", "1"),
        _python(site, "seed", "manage.py", "seed_demo", "--url", site.url),
    )


def services(site: Site) -> tuple[Program, ...]:
    """What is kept alive; a further program is one more line here.

    The API follows what it needs, the agents follow the API; on the way down it is the reverse.
    """
    return (_worker(site), _whatif(site), _beat(site), _api(site), *_agents(site))


def _api(site: Site) -> Program:
    arguments = (
        *("-m", "granian", "--interface", "wsgi", "scheduler_service.wsgi:application"),
        *("--host", site.host, "--port", str(site.port), "--no-ws"),
        *("--workers", str(API_WORKERS), "--blocking-threads", str(API_THREADS_PER_WORKER)),
        *("--backlog", "4096", "--backpressure", str(API_CONNECTIONS_PER_WORKER)),
        *("--respawn-failed-workers", "--workers-kill-timeout", "5"),
    )
    return replace(_python(site, "api", *arguments), ready=lambda pid: _answers_ready(site))


def _worker(site: Site) -> Program:
    arguments = (*CELERY, "worker", "--concurrency", "2", "--loglevel", _log_level(site))
    # Cold shutdown: a task cut short is delivered again, a worker without a parent is not kept.
    return replace(_python(site, "worker", *arguments), orphan_signal=signal.SIGQUIT)


def _whatif(site: Site) -> Program:
    """A worker for what may take its time: a round never waits behind a simulation or a bound."""
    queues = ("--queues", "forecasts,gaps,simulations", "--hostname", "whatif@%h")
    options = ("--concurrency", "1", "--loglevel", _log_level(site))
    arguments = (*CELERY, "worker", *queues, *options)
    return replace(_python(site, "whatif", *arguments), orphan_signal=signal.SIGQUIT)


def _beat(site: Site) -> Program:
    schedule = str(site.var / "beat-schedule")
    # The supervisor is the only one to start it: a pid file could only be stale.
    options = ("--schedule", schedule, "--pidfile", "", "--loglevel", _log_level(site))
    return _python(site, "beat", *CELERY, "beat", *options)


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
                *("--server", site.url, "--name", agent["name"], "--address", "127.0.0.1"),
                *("--state-dir", str(site.var / "agents" / agent["name"])),
                *("--checkpoint-dir", str(site.var / "agents" / "checkpoints")),
                *("--devices", f"emulated:{site.source}/examples/nodes/{agent['devices']}.toml"),
            ),
            env={**site.env, "FAIRWATT_JOIN_TOKEN": agent["join_token"]},
        )
        for agent in known.get("agents", [])
    )


def _python(site: Site, name: str, *arguments: str) -> Program:
    argv = (sys.executable, *arguments)
    return Program(name, argv, cwd=site.source, env=site.env, inherit=(site.lock,))


def _answers_ready(site: Site) -> bool:
    connection = http.client.HTTPConnection(urlsplit(site.url).netloc, timeout=2)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.HTTPStatus.OK
    except OSError:
        return False
    finally:
        connection.close()
