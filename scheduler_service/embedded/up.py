"""`make up`: the whole service on one machine, from nothing to a printed submit."""

import json
import os
import shlex
import shutil
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from scheduler_service import environment
from scheduler_service.embedded import broker, lock, ports, postgres, stack
from scheduler_service.embedded.console import Console
from scheduler_service.embedded.errors import EmbeddedError
from scheduler_service.embedded.program import Program
from scheduler_service.embedded.supervisor import ProgramSupervisor, Stopped
from scheduler_service.settings import BASE_DIR, VAR_DIR

# A busy laptop takes its time; a program that ends instead is noticed at once.
START_PATIENCE_S = 300.0


def up() -> None:
    """Run until Ctrl-C or SIGTERM; everything started here is gone when it returns."""
    console = Console(sys.stdout)
    var = VAR_DIR.resolve()
    # The supervisor leaves first: it stops what the locks protect.
    with ExitStack() as resources, ProgramSupervisor(console) as supervisor:
        held = resources.enter_context(lock.held(var, what="Fairwatt"))
        host = environment.text("FAIRWATT_HOST", ports.LOOPBACK)
        port = environment.integer("FAIRWATT_PORT", 8000)
        door_port = environment.integer("FAIRWATT_DOOR_PORT", port + 1)
        _require_free(host, port, "FAIRWATT_PORT")
        _require_free(host, door_port, "FAIRWATT_DOOR_PORT")
        servers, urls = _servers(resources, var, held)
        env = {**os.environ, **urls, **_fixed_env(var)}
        site = stack.Site(BASE_DIR, var, host, port, door_port, env, held)
        try:
            _start(supervisor, servers, site)
            console.say(welcome(site, var / "demo.json"))
            supervisor.watch()
        except Stopped:
            pass
        console.say("Stopping; a second Ctrl-C kills.")
    console.say(f"Stopped. The data is kept in {var}")


def _start(supervisor: ProgramSupervisor, servers: list[Program], site: stack.Site) -> None:
    for server in servers:
        supervisor.start(server)
    for step in stack.steps(site):
        supervisor.run(step)
    for service in stack.services(site):
        supervisor.start(service, patience_s=START_PATIENCE_S)


def _servers(resources: ExitStack, var: Path, held: int) -> tuple[list[Program], dict[str, str]]:
    """Postgres and the broker, unless the environment names others."""
    programs, urls = [], {}
    if not environment.text("DATABASE_URL", ""):
        port = environment.integer("EMBEDDED_POSTGRES_PORT", 0) or ports.free_port()
        database = resources.enter_context(postgres.prepared(var / "postgres", port=port))
        programs.append(database.program)
        urls["DATABASE_URL"] = database.url
    if not environment.text("BROKER_URL", ""):
        port = environment.integer("EMBEDDED_BROKER_PORT", 0) or ports.free_port()
        queue = resources.enter_context(broker.prepared(var / "broker", port=port))
        programs.append(queue.program)
        urls["BROKER_URL"] = queue.url
    return [replace(program, inherit=(*program.inherit, held)) for program in programs], urls


def _fixed_env(var: Path) -> dict[str, str]:
    # Static files come from the packages here, but their server warns about a missing directory.
    (var / "static").mkdir(exist_ok=True)
    return {
        "FAIRWATT_VAR": str(var),
        "PYTHONUNBUFFERED": "1",
        "PROMETHEUS_MULTIPROC_DIR": str(_empty(var / "metrics")),
    }


def _empty(directory: Path) -> Path:
    """Counters of processes that are gone would be added to those of the living."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    return directory


def _require_free(host: str, port: int, setting: str) -> None:
    if not ports.is_free(port, host):
        raise EmbeddedError(
            f"Port {port} on {host} is taken by another program. Stop that one "
            f"(`ss -ltnp 'sport = :{port}'` names it), or choose another port: "
            f"{setting}={port + 2} make up"
        )


def welcome(site: stack.Site, demo: Path) -> str:
    token = json.loads(demo.read_text())["tenant_token"]
    job = {"name": "hello", "cluster": "demo", "gpus": 1, "argv": ["python3", "-c", "print(1)"]}
    submit = [
        *("curl", "-sS", "-X", "POST", f"{site.url}/api/v1/jobs/"),
        *("-H", f"Authorization: Bearer {token}", "-H", "Content-Type: application/json"),
        *("-d", json.dumps(job)),
    ]
    command = shlex.quote(str(Path(sys.executable).with_name("fairwatt")))
    return f"""
Fairwatt is ready.
  API      {site.url}/api/v1/
  Docs     {site.url}/docs/
  Console  {site.url}/console/ as admin, whose password stands beside the tokens
  Admin    {site.url}/admin/
  Door     {site.door_url}/api/v1/ for agents, and for many followers of events and logs
  Tokens   {demo}

Run a job, and see why it ran where it did, and what it cost:
  {command} login {site.url} --token {token}
  {command} run -- python3 -c 'print(1)'

The same without the command:
  {shlex.join(submit)}

Stop with Ctrl-C.
"""
