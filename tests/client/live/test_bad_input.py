"""Wrong addresses, dead services, stale tokens, broken files, Ctrl-C: a sentence, a next step."""

import http.server
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import fairwatt
import pytest

from scheduler_service.embedded.ports import free_port
from tests.client.live.conftest import Cli, Service, command, command_env, heard_sigint, run_command
from tests.scheduler_service.embedded.processes import eventually

pytestmark = pytest.mark.process


@contextmanager
def other_program(status: int, body: bytes, kind: str) -> Iterator[str]:
    """A server that is not ours, or not of our time."""

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            return

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def test_nothing_is_known_yet(tmp_path: Path) -> None:
    said = run_command(["ls"], {}, tmp_path)
    assert said.code == 2
    assert "No service is known yet." in said.err
    assert "fairwatt login URL" in said.err


def test_what_is_no_token(cli: Cli) -> None:
    said = cli("ls", FAIRWATT_TOKEN="fw_m_\u00e4\n")
    assert said.code == 1
    assert "characters that no token has" in said.err


@pytest.mark.parametrize("url", ["ftp://x", "http://", "::", "http://a:b"])
def test_what_is_no_address(url: str, tmp_path: Path) -> None:
    said = run_command(["ls"], {"FAIRWATT_URL": url}, tmp_path)
    assert said.code == 1
    assert "is no address of a service" in said.err


def test_a_dead_service(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    said = run_command(["ls"], {"FAIRWATT_URL": url}, tmp_path)
    assert said.code == 3
    assert f"{url} does not answer: nobody listens there." in said.err
    assert f"curl {url}/healthz" in said.err


def test_an_unknown_host(tmp_path: Path) -> None:
    said = run_command(["ls"], {"FAIRWATT_URL": "http://no-such-host.invalid"}, tmp_path)
    assert said.code == 3
    assert "does not answer" in said.err


def test_another_program_at_the_address(tmp_path: Path) -> None:
    with other_program(200, b"<html>hello</html>", "text/html") as url:
        said = run_command(["login", url, "--token", "fw_m_x"], {}, tmp_path)
    assert said.code == 3
    assert f"No Fairwatt API at {url}" in said.err
    assert not (tmp_path / "config").exists()


def test_an_old_service(tmp_path: Path) -> None:
    gone = b'{"status": 404, "code": "not_found", "detail": "No.", "request_id": "r"}'
    with other_program(404, gone, "application/problem+json") as url:
        said = run_command(["policy", "ls"], {"FAIRWATT_URL": url}, tmp_path)
    assert said.code == 3
    assert "older than this client" in said.err
    assert "Upgrade the service" in said.err


def test_an_answer_of_another_shape(tmp_path: Path) -> None:
    with other_program(200, b'{"name": "x"}', "application/json") as url:
        said = run_command(["login", url, "--token", "x"], {}, tmp_path)
    assert said.code == 3
    assert "in a shape that this client does not know" in said.err


def test_an_expired_token(cli: Cli) -> None:
    said = cli("ls", FAIRWATT_TOKEN="fw_m_expired")
    assert said.code == 4
    assert "fairwatt login" in said.err
    assert "fw_m_expired" not in said.said


def test_a_role_that_may_not(cli: Cli) -> None:
    said = cli("join")
    assert said.code == 4
    assert "operator" in said.err


def test_what_is_not_there(cli: Cli) -> None:
    said = cli("show", "999999999")
    assert said.code == 5
    assert "fairwatt ls" in said.err
    nowhere = cli("drain", "node-x", who="operator")
    assert "no node 'node-x'" in nowhere.err
    assert "node-1" in nowhere.err


def test_a_broken_job_file(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text("argv: [true\ngpus: 1\n")
    said = cli("submit", "job.yaml")
    assert (said.code, said.out) == (2, "")
    assert "job.yaml:2:5:" in said.err
    (tmp_path / "job.yaml").write_text("argv: ['true']\ngpuss: 1\n")
    assert "Did you mean `gpus`?" in cli("submit", "job.yaml").err


def test_a_broken_trace(cli: Cli, tmp_path: Path) -> None:
    sound = '{"submitted_s": 0, "duration_s": 60, "gpus": 1}\n'
    (tmp_path / "trace.jsonl").write_text(sound + sound.replace("gpus", "gpu"))
    said = cli("simulate", "trace.jsonl", "-p", "fifo", "--nodes", "2")
    assert said.code == 1
    assert "trace.jsonl:2: " in said.err


def test_what_the_service_refuses_of_a_file_has_its_line(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text("argv: ['true']\n\ngpus: 5000\n")
    said = cli("submit", "job.yaml")
    assert said.code == 2
    assert "job.yaml:3:1:" in said.err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("sbumit",), 2, "Did you mean 'submit'"),
        (("ls", "--sate", "x"), 2, "--state"),
        (("why", "x"), 2, "is not a valid int"),
        (("run",), 1, "There is nothing to run."),
        (("cancel",), 1, "Name the jobs to cancel"),
        (("run", "--gpus", "many", "--", "true"), 1, "no number of GPUs"),
        (("run", "-e", "A", "--", "true"), 1, "has no value"),
        (("run", "--deadline", "soon", "--", "true"), 1, "is no time"),
        (("run", "--cluster", "nowhere", "--", "true"), 1, "cluster"),
        (("ls", "-s", "quued"), 1, "queued"),
        (("whatif",), 1, "Ask about a power budget or about policies"),
        (("-P", "nobody", "ls"), 2, "There is no profile 'nobody'."),
        (("simulate", "none.jsonl"), 1, "cannot be read"),
        (("simulate", "--nodes", "2", "--gpu-type", "B1"), 1, "There are: A100, V100."),
        (("simulate", "-p", "fairwatt:dial"), 1, "has no value"),
        (("hold",), 1, "Name the jobs, or a filter"),
        (("release", "1", "--array", "1"), 1, "Name the jobs, or a filter"),
        (("tariff", "import", "x", "none.csv"), 1, "cannot be read"),
    ],
)
def test_wrong_words(words: tuple[str, ...], code: int, said: str, cli: Cli) -> None:
    found = cli(*words)
    assert said in found.said
    assert found.code == code


def test_ctrl_c_while_following(service: Service, tmp_path: Path) -> None:
    env = {"FAIRWATT_URL": service.url, "FAIRWATT_TOKEN": service.demo["tenant_token"]}
    sleeps = "import time; print('up', flush=True); time.sleep(600)"
    log = tmp_path / "out"
    with heard_sigint(), log.open("wb") as output:
        run = subprocess.Popen(
            command("run", "--label", "ctrl=c", "--", "python3", "-c", sleeps),
            env=command_env(tmp_path, env),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    eventually(lambda: "up\n" in log.read_text(), "it runs", 120)
    os.kill(run.pid, signal.SIGINT)
    assert run.wait(30) == 130
    said = log.read_text()
    assert "Traceback" not in said
    assert "goes on" in said
    assert "fairwatt cancel" in said
    with service.client() as client:
        (job,) = client.jobs(label="ctrl=c", state="running")
        client.cancel(job.id)
        with pytest.raises(fairwatt.JobFailed):
            client.wait(job.id, check=True)
