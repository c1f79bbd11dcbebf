"""The training of examples/training by the very commands of docs/jobs.md, preempted on its way."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent.process import ROOT
from tests.agent.service import until
from tests.live.conftest import Seeded
from tests.live.station import Station, station

CLUSTER = "training"
POLICY = {"policy": "priority", "policy_parameters": {"preempt": True, "min_run_s": 0}}
WALL = ("bwrap", "--ro-bind", "/", "/", "--unshare-user", "--unshare-pid", "true")


def _walled() -> bool:
    return bool(shutil.which("bwrap")) and subprocess.run(WALL, check=False).returncode == 0


pytestmark = [
    pytest.mark.skipif(not _walled(), reason="/data is mounted by bubblewrap, which is not here"),
    pytest.mark.skipif(not shutil.which("curl"), reason="the docs declare the volume by curl"),
]


@pytest.fixture
def place(seeded: Seeded, tmp_path: Path) -> Iterator[Station]:
    database, _ = seeded.clone("training")
    with station(tmp_path, database, seeded.world.secrets["operator"]) as made:
        made.call("POST", "clusters/", json={"name": CLUSTER, "round_interval_s": 1, **POLICY})
        made.join(CLUSTER, "trainer", PATH=os.environ["PATH"])
        yield made


def test_the_training_of_the_docs(place: Station, tmp_path: Path) -> None:
    assert place.node("trainer")["workloads"]
    work = tmp_path / "work"
    with _documented(place, tmp_path, work) as commands:
        job_id = until(lambda: _training(place), "the training submitted", 60)
        until(lambda: place.job(job_id)["work_done"] >= 3, "three epochs", 60)
        urgent = place.submit(CLUSTER, "print(1)", gpus=2, priority=90)
        assert place.over(urgent)["state"] == "succeeded"
        said, _ = commands.communicate(timeout=120)
    assert commands.returncode == 0, said
    moves = place.moves(job_id)
    assert moves.count("preempting") == 1
    assert moves[-1] == "succeeded"
    starts = [line for line in said.splitlines() if line.startswith("starting")]
    assert starts[0].startswith("starting at epoch 0 ")
    assert not starts[1].startswith("starting at epoch 0 ")
    model = json.loads((work / "results" / "model").read_text())
    assert model["epochs"] == 40
    assert model["accuracy"] > 0.9


def _documented(place: Station, home: Path, work: Path) -> subprocess.Popen[str]:
    """The commands as they stand in the docs, run by a shell that ends at the first that fails."""
    text = (ROOT / "docs" / "jobs.md").read_text()
    (commands,) = re.findall(r"```bash\n(.*?)```", text, re.DOTALL)
    fairwatt = home / "bin" / "fairwatt"
    fairwatt.write_text(f'#!/bin/sh\nexec {sys.executable} -m fairwatt.cli.main "$@"\n')
    fairwatt.chmod(0o755)
    env = {
        "PATH": f"{fairwatt.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "client"),
        "HOME": str(home),
        "NO_PROXY": "127.0.0.1",
        "FAIRWATT_URL": place.site.url,
        "FAIRWATT_TOKEN": _member(place),
        "FAIRWATT_CLUSTER": CLUSTER,
        "OPERATOR": place.secret,
        "WORK": str(work),
    }
    shell = ["bash", "-euo", "pipefail", "-c", commands]
    said = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.Popen(shell, cwd=ROOT, env=env, text=True, **said)  # type: ignore[call-overload,no-any-return]


def _member(place: Station) -> str:
    (tenant,) = place.call("GET", "tenants/?name=faults")["items"]
    body = {"name": "example", "role": "member", "tenant_id": tenant["id"]}
    return str(place.call("POST", "tokens/", json=body)["secret"])


def _training(place: Station) -> int | None:
    found: list[dict[str, Any]] = place.call("GET", "jobs/?name=training-example")["items"]
    return int(found[0]["id"]) if found else None
