"""Every command, as a person types it, against the real service and real agents."""

import json
import os
import pty
import signal
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import fairwatt
import pytest
from fairwatt.cli.commands import COMMANDS

from tests.client.live.conftest import Cli, Service, command, command_env, heard_sigint

pytestmark = pytest.mark.process
PRINTS = ("--", "python3", "-c", "import sys; print(1); print('e', file=sys.stderr)")


def only(text: str) -> dict[str, object]:
    (line,) = text.splitlines()
    found: dict[str, object] = json.loads(line)
    return found


def test_five_commands_from_nothing_to_the_bill(cli: Cli, service: Service, tmp_path: Path) -> None:
    """Login, run, why, logs, cost."""
    empty = {"FAIRWATT_URL": "", "FAIRWATT_TOKEN": ""}
    token = service.demo["tenant_token"]
    logged_in = cli("login", service.url, "--token", token, **empty)
    assert (logged_in.code, "acme" in logged_in.out) == (0, True)
    assert token not in logged_in.said
    assert token in (tmp_path / "config" / "fairwatt" / "config.toml").read_text()

    ran = cli("run", "--name", "first", *PRINTS, **empty)
    assert (ran.code, ran.out) == (0, "1\n")
    assert "e\n" in ran.err
    number = ran.err.split()[1].rstrip(":")

    why = cli("why", number, **empty)
    assert "succeeded" in why.out
    assert cli("logs", number, **empty).out == "1\n"
    assert only(cli("cost", number, "--json", **empty).out)["job_id"] == int(number)
    assert cli("cost", number, **empty).out.startswith("job")


def test_run_ends_with_the_jobs_code(cli: Cli) -> None:
    failed = cli("run", "--", "python3", "-c", "raise SystemExit(7)")
    assert failed.code == 7
    assert "failed (exit_7)" in failed.err
    killed = cli("run", "--json", "--", "python3", "-c", "import os; os.kill(os.getpid(), 9)")
    assert killed.code == 137
    # A sandbox around the program tells of its signal by an exit code.
    assert only(killed.out)["reason"] in {"signal_9", "exit_137"}


def test_submit_from_a_file_with_flags_over_it(cli: Cli, tmp_path: Path) -> None:
    label = f"file-{os.getpid()}"
    (tmp_path / "job.yaml").write_text(f"argv: ['true']\nheld: true\nlabels: {{of: {label}}}\n")
    made = only(cli("submit", "job.yaml", "--gpus", "2-4", "--priority", "80", "--json").out)
    assert (made["min_gpus"], made["max_gpus"], made["priority"]) == (2, 4, 80)
    assert made["labels"] == {"of": label}
    number = str(made["id"])
    assert "held" in cli("ls", "--label", f"of={label}").out
    assert number in cli("ls", "-s", "queued", "-n", "5").out
    assert only(cli("ls", "--json", "-l", f"of={label}").out)["id"] == made["id"]
    assert "queued" in cli("release", number).out
    assert cli("cancel", "--label", f"of={label}").code == 0


def test_watch_many(cli: Cli, service: Service, tmp_path: Path) -> None:
    """What moves while somebody looks stands below what was there."""
    label = f"watch-{os.getpid()}"
    env = {"FAIRWATT_URL": service.url, "FAIRWATT_TOKEN": service.demo["tenant_token"]}
    made = only(cli("submit", "--hold", "--json", "-l", f"of={label}", "--", "true").out)
    number = str(made["id"])
    with ExitStack() as stack:
        followers = []
        for words in (("ls", "-w"), ("events", "-f")):
            with heard_sigint():
                follower = subprocess.Popen(
                    command(*words, "--label", f"of={label}", "--json"),
                    env=command_env(tmp_path, env),
                    stdout=subprocess.PIPE,
                    text=True,
                )
            followers.append(stack.enter_context(follower))
            stack.callback(follower.kill)
        outputs = [follower.stdout for follower in followers]
        seen = [json.loads(output.readline()) for output in outputs if output]
        cli("cancel", number)
        after = [json.loads(output.readline()) for output in outputs if output]
        for follower in followers:
            follower.send_signal(signal.SIGINT)
            assert follower.wait(60) == 130
    assert [seen[0]["state"], seen[1]["to_state"]] == ["queued", "queued"]
    assert [after[0]["state"], after[1]["to_state"]] == ["cancelled", "cancelled"]
    assert "cancelled" in cli("events", number).out
    assert number in cli("events", "-l", f"of={label}", "--cluster", "demo", who="operator").out


def test_submit_and_follow(cli: Cli) -> None:
    followed = cli("submit", "--follow", *PRINTS)
    assert (followed.code, followed.out) == (0, "1\n")


def test_every_flag_of_a_job_arrives(cli: Cli, service: Service) -> None:
    made = only(
        cli(
            *("submit", "--json", "--hold", "--name", "all", "--cluster", "demo", "--gpus", "1"),
            *("--gpu-type", "A100", "--gpu-type", "V100", "--cpus-per-gpu", "2"),
            *("--memory-mib-per-gpu", "2048", "--span", "node", "-e", "A=1", "-l", "x=y"),
            *("--deadline", "+2h", "--lateness-price", "0.05", "--estimate", "1h30m"),
            *("--key", f"all-flags-{os.getpid()}", "--", "prog", "--its", "-own"),
        ).out
    )
    assert made["argv"] == ["prog", "--its", "-own"]
    assert made["gpu_types"] == ["A100", "V100"]
    assert made["estimated_run_s"] == 5400
    assert made["env_keys"] == ["A"]
    with service.client() as client:
        client.cancel(int(str(made["id"])))


def test_show_hold_cancel_and_arrays(cli: Cli) -> None:
    made = only(
        cli("array", "--size", "3", "--hold", "--name", "sweep", "--json", "--", "true").out
    )
    number = str(made["id"])
    assert len(cli("ls", "--array", number, "--json").out.splitlines()) == 3
    first = json.loads(cli("ls", "--array", number, "--json").out.splitlines()[0])["id"]
    shown = cli("show", str(first))
    assert "submitted" in shown.out
    assert only(cli("show", str(first), "--json").out)["job"]
    assert cli("hold", str(first)).code == 0
    assert "cancelled" in cli("cancel", str(first)).out
    assert "cancelled 2" in cli("cancel", "--array", number).out
    assert cli("array", "--size", "1", "--hold", "-l", "t=1", "--", "true").out.startswith("array")
    assert cli("cancel", "--label", "t=1", "--json").code == 0


def test_why_and_when_of_a_job_that_waits(cli: Cli, service: Service) -> None:
    with service.client() as client:
        job = client.submit(fairwatt.JobSpec(argv=["true"], gpus=64, gpu_types=["A100"]))
        try:
            when = cli("when", str(job.id), "--fresh")
            assert "starts" in when.out
            assert cli("when", str(job.id), "--json").code == 0
            why = cli("why", str(job.id))
            for word in ("queued", "larger_than_partition", "ask for ", "starts"):
                assert word in why.out
            assert len(why.out.splitlines()) <= 24
            assert only(cli("why", str(job.id), "--json").out)["explanation"]
        finally:
            client.cancel(job.id)


def test_logs_of_a_job_and_of_one_that_printed_nothing(cli: Cli, service: Service) -> None:
    with service.client() as client:
        job = client.submit(fairwatt.JobSpec(argv=list(PRINTS[1:])))
    followed = cli("logs", "-f", str(job.id))
    assert (followed.out, followed.err) == ("1\n", "e\n")
    assert cli("logs", str(job.id), "--stream", "stderr").err == "e\n"
    assert json.loads(cli("logs", str(job.id), "--json").out.splitlines()[0])["text"] == "1\n"
    with service.client() as client:
        silent = client.submit(fairwatt.JobSpec(argv=["true"], held=True))
        assert "printed nothing yet" in cli("logs", str(silent.id)).err
        client.cancel(silent.id)


def test_the_operators_commands(cli: Cli) -> None:
    assert "node-1" in cli("nodes").out
    assert len(cli("nodes", "--json").out.splitlines()) == 4
    drained = cli("drain", "node-4", "--reason", "new fan", who="operator")
    assert "drain" in drained.out
    assert "new fan" in cli("nodes").out
    assert "ready" in cli("resume", "node-4", who="operator").out
    joined = cli("join", "node-9", "--rack", "rack-1", who="operator")
    assert joined.out.startswith("FAIRWATT_JOIN_TOKEN=fw_j_")
    assert "fairwatt-agent --server" in joined.out
    assert only(cli("join", "--json", who="operator").out)["command"]


def test_policies(cli: Cli) -> None:
    before = json.loads(cli("policy", "ls", "--json").out)["clusters"][0]
    assert "srtf" in cli("policy", "ls").out
    assert "PARAMETER" in cli("policy", "show", "priority").out
    changed = cli("policy", "set", "priority", "-p", "preempt=true", who="operator")
    assert "preempt=True" in changed.out
    settings = [f"-p{name}={json.dumps(value)}" for name, value in
                before["policy_parameters"].items()]  # fmt: skip
    assert cli("policy", "set", before["policy"], *settings, who="operator").code == 0
    assert (
        json.loads(cli("policy", "ls", "--json").out)["clusters"][0]["policy"] == before["policy"]
    )
    assert cli("policy", "show", "priority", "--json").code == 0


def test_tariffs(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "spot.csv").write_text("starts_at,price_per_kwh\n2026-01-01T00:00:00Z,0.21\n")
    name = f"spot-{os.getpid()}"
    imported = cli("tariff", "import", name, "spot.csv", "--create", who="operator")
    assert "hours" in imported.out
    again = cli("tariff", "import", name, "spot.csv", "--replace", "--json", who="operator")
    assert only(again.out)["hours"] == 1
    assert name in cli("tariff", "ls").out
    assert "0.16" in cli("tariff", "prices", "day-night", "--ahead", "1d").out
    assert cli("tariff", "prices", "day-night", "--json").code == 0


def test_profiles(cli: Cli, service: Service) -> None:
    name = f"cli/{os.getpid()}"
    point = fairwatt.PointSpec(gpu_type="A100", gpus=1, steps_per_s=11.5)
    with service.client() as client:
        client.make_profile(fairwatt.ProfileSpec(name=name, points=[point]))
    assert name in cli("profile", "ls").out
    assert "11.5" in cli("profile", "show", name).out
    assert "11.5 steps/s" in cli("profile", "predict", name, "A100", "1").out
    measured = cli("profile", "measure", f"{name}-new", "--gpu-type", "A100", "--", "true")
    assert measured.out.startswith("profiling run")
    for words in (("ls",), ("show", name), ("predict", name, "A100", "1")):
        assert cli("profile", *words, "--json").code == 0


def test_what_if_and_simulations(cli: Cli, tmp_path: Path) -> None:
    assert "with it" in cli("whatif", "--watts", "9000", "--for", "2h", who="operator").out
    assert cli("whatif", "--watts", "9000", "--json", who="operator").code == 0
    assert "srtf" in cli("whatif", "-p", "srtf", who="operator").out
    trace = '{"submitted_s": 0, "duration_s": 60, "gpus": 1}\n' * 3
    (tmp_path / "trace.jsonl").write_text(trace)
    asked = ("-p", "fifo", "--nodes", "2", "--report", "report.html")
    assert "fifo" in cli("simulate", "trace.jsonl", *asked).out
    assert "<html" in (tmp_path / "report.html").read_text()
    assert cli("simulate", "--jobs", "5", "-p", "fifo", "--json").code == 0


def test_machines_that_need_not_exist_have_watts_prices_and_parameters(
    cli: Cli, tmp_path: Path
) -> None:
    asked = ("--jobs", "5", "--nodes", "2", "--gpu-type", "A100", "--tariff", "day-night")
    dials = ("-p", "fairwatt:wait_price_per_h=1,preempt=false", "-p", "fairwatt")
    found = only(cli("simulate", *asked, *dials, "--json").out)
    assert isinstance(found["rows"], list)
    labels = {row["label"]: row["figures"] for row in found["rows"]}
    assert set(labels) == {"fairwatt:wait_price_per_h=1,preempt=false", "fairwatt"}
    assert labels["fairwatt"]["energy_kwh"] > 0
    assert labels["fairwatt"]["energy_cost"] > 0
    nowhere = cli("simulate", *asked, "-p", "fifo", "--report", "none/report.html")
    assert (nowhere.code, "none/report.html: No such file" in nowhere.err) == (1, True)


def test_many_are_held_and_released_at_once(cli: Cli) -> None:
    made = only(cli("array", "--size", "3", "--gpus", "64", "--json", "--", "true").out)
    number = str(made["id"])
    assert len(cli("hold", "--array", number).out.splitlines()) == 3
    assert "No queued job fits" in cli("hold", "--array", number).err
    assert len(cli("release", "--array", number, "--json").out.splitlines()) == 3
    assert "queued  3" in cli("arrays", number).out
    assert number in cli("arrays").out
    assert only(cli("arrays", number, "--json").out)["size"] == 3
    assert "cancelled 3" in cli("cancel", "--array", number).out


def test_what_takes_long_shows_a_bar_to_people(service: Service, tmp_path: Path) -> None:
    env = {"FAIRWATT_URL": service.url, "FAIRWATT_TOKEN": service.demo["tenant_token"]}
    with service.client() as client:
        job = client.submit(fairwatt.JobSpec(argv=["true"], gpus=64, gpu_types=["A100"]))
        asked = command("when", str(job.id), "--fresh", "--json")
        shown = on_terminal("stderr", asked, command_env(tmp_path, env))
        client.cancel(job.id)
    assert b"forecasting" in shown


def test_top_and_the_statement(cli: Cli) -> None:
    screen = cli("top", "--once", who="operator").out
    for word in ("demo by", "32 GPUs", "price now", "node-1", "JOB"):
        assert word in screen
    assert only(cli("top", "--json").out)["cluster"] == "demo"
    assert "tenant" in cli("cost").out
    assert only(cli("cost", "--since", "2026-01-01T00:00", "--json").out)["tenant"] == "acme"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str, cli: Cli) -> None:
    asked = cli(name, "--help")
    assert asked.code == 0
    assert "Usage:" in asked.out
    assert "--json" in asked.out or name in {"policy", "tariff", "profile", "webhook"}


def test_completion_knows_commands_and_flags(cli: Cli) -> None:
    def completed(*words: str) -> list[str]:
        asked = {"_FAIRWATT_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(words)}
        return cli(**asked, COMP_CWORD=str(len(words) - 1)).out.split()

    assert completed("fairwatt", "wh") == ["why", "when", "whatif"]
    assert "--gpu-type" in completed("fairwatt", "run", "--gpu")


def test_a_closed_pipe_is_no_error(service: Service, tmp_path: Path) -> None:
    env = {"FAIRWATT_URL": service.url, "FAIRWATT_TOKEN": service.demo["tenant_token"]}
    first = subprocess.Popen(
        command("ls", "--json"),
        env=command_env(tmp_path, env),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert first.stdout is not None
    first.stdout.close()
    _, said = first.communicate()
    assert said == b""


def test_colours_on_a_terminal_only(service: Service, tmp_path: Path) -> None:
    env = {"FAIRWATT_URL": service.url, "FAIRWATT_TOKEN": service.demo["tenant_token"]}
    shown = on_terminal("stdout", command("nodes"), command_env(tmp_path, env))
    assert b"\x1b[32mready\x1b[0m" in shown


def on_terminal(name: str, words: list[str], env: dict[str, str]) -> bytes:
    """What it writes to a terminal; read while it writes, or a bar that goes on long fills it."""
    ours, theirs = pty.openpty()
    streams: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, name: theirs}
    with subprocess.Popen(words, env={**env, "TERM": "xterm"}, **streams) as process:
        os.close(theirs)
        shown = b"".join(iter(lambda: _read(ours), b""))
    os.close(ours)
    assert process.returncode == 0
    return shown


def _read(terminal: int) -> bytes:
    """Linux says that the other side is closed by an error."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""
