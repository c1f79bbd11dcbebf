"""`make demo` with everything real: service, worker, four agents, and the jobs' own processes."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from fairwatt import Client

from agent.remember.attempt_store import double_holds
from scheduler_service.embedded.demo.meters import drawn_by_job
from scheduler_service.embedded.demo.service import DemoError
from scheduler_service.embedded.demo.story import urgent_jobs_preempt
from scheduler_service.embedded.ports import free_port
from scheduler_service.embedded.stack import TENANT_UIDS
from scheduler_service.settings import BASE_DIR
from tests.scheduler_service.embedded.test_up import READY, environment

COMMAND = (sys.executable, "-m", "scheduler_service.embedded", "demo")
LONGEST_S = 300
TENANT_UIDS_FROM = int(TENANT_UIDS.partition("-")[0])


@pytest.mark.process
def test_the_demo_says_what_it_promises(lived_in: Path) -> None:
    """It fails by itself when nobody was preempted, or the bill is not what the meters say."""
    done = subprocess.run(
        COMMAND,
        cwd=BASE_DIR,
        env=environment(lived_in, free_port()),
        capture_output=True,
        text=True,
        check=False,
        timeout=LONGEST_S,
    )
    log = (lived_in / "var" / "demo.log").read_text()
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}\n{log[-5000:]}"

    stopped, resumed = re.findall(
        r"preempted at step (\d+) and went on from step (\d+)", done.stdout
    )[0]
    assert int(stopped) == int(resumed) > 0
    assert re.search(r"The gang of 10 ran on node-\d and node-\d", done.stdout)
    assert "exit code 1: sample 1920 is truncated" in done.stdout
    assert "difference 0 mJ" in done.stdout
    assert READY in log
    assert "Stopped. The data is kept" in log
    if os.geteuid() == 0:
        # Though the directory is closed to others.
        owners = {path.stat().st_uid for path in (lived_in / "var/agents/checkpoints").iterdir()}
        assert owners
        assert min(owners) >= TENANT_UIDS_FROM
    for journal in (lived_in / "var" / "agents").glob("*/journal.jsonl"):
        entries = [json.loads(line) for line in journal.read_text().splitlines()]
        assert double_holds(entries) == []


def test_the_cluster_keeps_its_policy() -> None:
    """Also when the story breaks off."""
    asked: list[tuple[str, dict[str, object]]] = []

    class Operator:
        def cluster_named(self) -> SimpleNamespace:
            return SimpleNamespace(policy="fairwatt", policy_parameters={"max_shift_s": 0})

        def set_policy(self, policy: str, parameters: dict[str, object]) -> None:
            asked.append((policy, parameters))

    with pytest.raises(DemoError), urgent_jobs_preempt(cast(Client, Operator())):
        raise DemoError("nobody was preempted")
    assert [policy for policy, _ in asked] == ["priority", "fairwatt"]
    assert asked[-1][1] == {"max_shift_s": 0}


def test_meters_are_added_up_over_attempts_and_gpus(tmp_path: Path) -> None:
    def hold(attempt: int, job: int, **start_mj: int) -> dict[str, object]:
        told = json.dumps({"attempt_id": attempt, "fence": attempt, "job_id": job})
        return {"event": "hold", "attempt": told, "energy_start_mj": start_mj}

    def release(attempt: int, **now_mj: int) -> dict[str, object]:
        energy = [{"uuid": uuid, "now_mj": mj} for uuid, mj in now_mj.items()]
        told = json.dumps({"attempt_id": attempt, "fence": attempt, "energy": energy})
        return {"event": "release", "report": told}

    journals = {
        "n1": [hold(1, 7, a=10, b=20), release(1, a=15, b=26), hold(2, 7, a=15), release(2, a=115)],
        "n2": [hold(1, 7, c=0), release(1, c=1000), hold(3, 8, c=1000), release(3, c=1001)],
    }
    for node, entries in journals.items():
        (tmp_path / node).mkdir()
        lines = "".join(json.dumps(entry) + "\n" for entry in entries)
        (tmp_path / node / "journal.jsonl").write_text(lines + '{"event": "ho')

    assert drawn_by_job(tmp_path, [7, 9]) == {7: 5 + 6 + 100 + 1000, 9: 0}
