"""`make up` to Ctrl-C and back, with every program real."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg
import pytest

from scheduler_service.embedded import ports, stack, up
from scheduler_service.settings import BASE_DIR
from tests.scheduler_service.embedded.processes import alive, all_end, descendants, eventually

COMMAND = (sys.executable, "-m", "scheduler_service.embedded", "up")
READY = "Fairwatt is ready."


class Stack:
    def __init__(self, home: Path, number: int, port: int, more: dict[str, str]) -> None:
        self.var, self.port = home / "var", port
        self._log = home / f"log-{number}"
        with self._log.open("wb") as output:
            self.process = subprocess.Popen(
                COMMAND,
                cwd=BASE_DIR,
                env=environment(home, port) | more,
                stdout=output,
                stderr=output,
            )

    @property
    def log(self) -> str:
        return self._log.read_text()

    def wait_for(self, text: str) -> None:
        def said_or_ended() -> bool:
            return text in self.log or self.process.poll() is not None

        eventually(said_or_ended, f"{text!r} is said", patience_s=120)
        assert text in self.log, self.log

    def get(self, path: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection(ports.LOOPBACK, self.port, timeout=10)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except OSError:
            return 0, ""
        finally:
            connection.close()

    def child(self, name: str) -> psutil.Process:
        children = psutil.Process(self.process.pid).children()
        (found,) = (each for each in children if each.name() == name)
        return found


def environment(home: Path, port: int) -> dict[str, str]:
    ours = ("DATABASE_URL", "BROKER_URL", "CACHE_URL", "FAIRWATT_ENV")
    outer = {name: value for name, value in os.environ.items() if name not in ours}
    return {
        **outer,
        "FAIRWATT_VAR": str(home / "var"),
        "FAIRWATT_PORT": str(port),
        "FAIRWATT_DOOR_PORT": str(ports.free_port()),
    }


def run(*command: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env=env, cwd=BASE_DIR, capture_output=True, text=True, check=False
    )


@contextmanager
def running_stack(
    home: Path, number: int = 1, port: int | None = None, more: dict[str, str] | None = None
) -> Iterator[Stack]:
    """With `more` in its environment."""
    started = Stack(home, number, port or ports.free_port(), more or {})
    try:
        yield started
    finally:
        if started.process.poll() is None:
            started.process.kill()
        started.process.wait()


@pytest.mark.process
def test_the_whole_story(lived_in: Path) -> None:
    """One start is dear, so one test walks through a day of a stack's life."""
    home = lived_in
    with running_stack(home) as first:
        first.wait_for(READY)
        assert f"curl -sS -X POST http://127.0.0.1:{first.port}/api/v1/jobs/" in first.log
        demo = json.loads((first.var / "demo.json").read_text())
        assert demo["url"] == f"http://127.0.0.1:{first.port}"
        assert first.get("/healthz")[0] == 200

        refused = run(*COMMAND, env=environment(home, ports.free_port()))
        assert refused.returncode == 1
        assert f"held by process {first.process.pid}" in refused.stderr

        remember(first, "kept")
        first.child("postgres").kill()
        first.wait_for("postgres | was killed by SIGKILL; starting it again")
        eventually(lambda: first.get("/readyz")[0] == 200, "ready again")
        first.child("valkey-server").kill()
        first.wait_for("broker   | was killed by SIGKILL; starting it again")
        eventually(lambda: first.get("/readyz")[0] == 200, "ready again")
        assert remembered(first) == ["kept"]

        family = descendants(first.process.pid)
        first.process.send_signal(signal.SIGINT)
        assert first.process.wait() == 0, first.log
        assert not alive(family)
        assert "is killed" not in first.log
        assert "database system is shut down" in first.log

    own = {"FAIRWATT_POLICIES": "doubling", "PYTHONPATH": str(worked_example(home))}
    with running_stack(home, 2, more=own) as second:
        second.wait_for(READY)
        assert remembered(second) == ["kept"]
        runs_under(second, "doubling")
        family = descendants(second.process.pid)
        second.process.kill()
        second.process.wait()
        all_end(family)


def worked_example(home: Path) -> Path:
    """A folder with the policy of docs/add-a-policy.md as a module."""
    page = (BASE_DIR / "docs/add-a-policy.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (home / "doubling.py").write_text(code)
    return home


def runs_under(started: Stack, policy: str) -> None:
    """Give the cluster the policy, and see a job through."""
    demo = json.loads((started.var / "demo.json").read_text())
    with httpx.Client(base_url=f"{demo['url']}/api/v1", timeout=30, trust_env=False) as api:

        def ask(method: str, path: str, token: str, **more: Any) -> Any:
            headers = {"Authorization": f"Bearer {demo[token]}", "If-Match": "*"}
            answer = api.request(method, path, headers=headers, **more)
            assert answer.is_success, answer.text
            return answer.json()

        (cluster,) = ask("GET", "/clusters/", "operator_token")["items"]
        ask("PATCH", f"/clusters/{cluster['id']}/", "operator_token", json={"policy": policy})
        job = {"name": "own", "cluster": cluster["name"], "argv": ["true"]}
        made = ask("POST", "/jobs/", "tenant_token", json=job)

        def state() -> str:
            found: str = ask("GET", f"/jobs/{made['id']}/", "tenant_token")["state"]
            return found

        eventually(lambda: state() == "succeeded", "the job is done", patience_s=60)
        rounds = ask("GET", f"/rounds/?cluster={cluster['name']}", "operator_token")["items"]
        assert policy in {each["policy"] for each in rounds}


def database(started: Stack) -> str:
    worker = next(each for each in descendants(started.process.pid) if "celery" in each.cmdline())
    return worker.environ()["DATABASE_URL"]


def remember(started: Stack, word: str) -> None:
    with psycopg.connect(database(started)) as connection:
        connection.execute("CREATE TABLE remembered AS SELECT %s::text AS word", (word,))


def remembered(started: Stack) -> list[str]:
    with psycopg.connect(database(started)) as connection:
        return [row[0] for row in connection.execute("SELECT word FROM remembered")]


@pytest.mark.process
def test_a_taken_port_is_named_before_anything_is_started(home: Path) -> None:
    with (
        socket.create_server((ports.LOOPBACK, 0)) as squatter,
        running_stack(home, port=squatter.getsockname()[1]) as started,
    ):
        assert started.process.wait() == 1
        taken = started.port
    assert f"Port {taken} on 127.0.0.1 is taken" in started.log
    assert f"FAIRWATT_PORT={taken + 2} make up" in started.log
    assert not (started.var / "postgres").exists()


@pytest.mark.process
def test_a_stop_before_it_is_ready_leaves_nothing(home: Path) -> None:
    with running_stack(home) as started:
        started.wait_for("database system is ready")
        family = descendants(started.process.pid)
        started.process.send_signal(signal.SIGINT)
        assert started.process.wait() == 0
        assert not alive(family)
    assert READY not in started.log


def test_named_servers_replace_the_embedded_ones(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://db/fairwatt")
    monkeypatch.setenv("BROKER_URL", "amqp://broker")
    with ExitStack() as resources:
        assert up._servers(resources, home, held=0) == ([], {})


@pytest.mark.process
def test_the_printed_submit_is_one_line_for_a_shell(home: Path) -> None:
    demo = home / "demo.json"
    demo.write_text(json.dumps({"tenant_token": "fw_abc"}))
    site = stack.Site(home, home, "0.0.0.0", 8000, 8001, {}, lock=0)
    (line,) = (line for line in up.welcome(site, demo).splitlines() if "curl" in line)
    shell = f'curl() {{ printf "%s\\n" "$@"; }}; {line}'
    words = run("bash", "-c", shell, env=dict(os.environ)).stdout.splitlines()
    assert "http://127.0.0.1:8000/api/v1/jobs/" in words
    assert "Authorization: Bearer fw_abc" in words
    assert json.loads(words[-1])["argv"] == ["python3", "-c", "print(1)"]


def test_the_command_is_printed_before_curl(home: Path) -> None:
    demo = home / "demo.json"
    demo.write_text(json.dumps({"tenant_token": "fw_abc"}))
    said = up.welcome(stack.Site(home, home, "127.0.0.1", 8000, 8001, {}, lock=0), demo)
    login, run_line = (line.split() for line in said.splitlines() if "/fairwatt " in line)
    assert login[1:] == ["login", "http://127.0.0.1:8000", "--token", "fw_abc"]
    assert Path(login[0]).exists()
    assert run_line[1] == "run"
    assert said.index("/fairwatt ") < said.index("curl")


@pytest.mark.process
@pytest.mark.parametrize("arguments", [(), ("down",), ("up", "now")])
def test_other_words_get_the_usage(arguments: tuple[str, ...]) -> None:
    answer = run(*COMMAND[:-1], *arguments, env=dict(os.environ))
    assert answer.returncode == 2
    assert "Usage:" in answer.stderr
