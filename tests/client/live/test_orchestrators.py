"""The examples for orchestrators: the script as it is, the operator with look-alikes of Airflow."""

import asyncio
import importlib.util
import logging
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import fairwatt
import pytest

from scheduler_service.settings import BASE_DIR
from tests.client.live.conftest import Service, command_env

pytestmark = pytest.mark.process


class Deferred(Exception):
    """How Airflow leaves a task that waits."""


class BaseOperator:
    def __init__(self, *, task_id: str) -> None:
        self.task_id, self.log = task_id, logging.getLogger("task")

    def defer(self, *, trigger: Any, method_name: str) -> None:
        raise Deferred(trigger, method_name)


@pytest.fixture
def operator(monkeypatch: pytest.MonkeyPatch) -> Any:
    sdk, base = ModuleType("airflow.sdk"), ModuleType("airflow.triggers.base")
    for module, names in (
        (sdk, {"BaseOperator": BaseOperator}),
        (base, {"BaseTrigger": type("BaseTrigger", (), {}), "TriggerEvent": SimpleEvent}),
    ):
        for name, value in names.items():
            setattr(module, name, value)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    for name in ("airflow", "airflow.triggers"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    path = BASE_DIR / "examples/airflow/fairwatt_operator.py"
    spec = importlib.util.spec_from_file_location("fairwatt_operator", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class SimpleEvent:
    def __init__(self, payload: dict[str, Any]) -> None:
        self.payload = payload


def context(run: str) -> dict[str, Any]:
    task = SimpleNamespace(dag_id="d", task_id="t", run_id=run, map_index=-1)
    return {"task_instance": task}


def deferred(task: Any, run: str) -> Any:
    with pytest.raises(Deferred) as left:
        task.execute(context(run))
    trigger, method = left.value.args
    assert method == "resume"
    return trigger


async def fired(trigger: Any) -> dict[str, Any]:
    kind, facts = trigger.serialize()
    assert kind.endswith("FairwattTrigger")
    async for event in type(trigger)(**facts).run():
        payload: dict[str, Any] = event.payload
        return payload
    raise AssertionError("it never fired")


def test_the_operator(operator: Any, service: Service) -> None:
    known = {"url": service.url, "token": service.demo["tenant_token"]}
    run = f"run-{os.getpid()}"
    argv = ["python3", "-c", "print('trained')"]
    task = operator.FairwattOperator(task_id="t", spec={"argv": argv}, **known)
    trigger = deferred(task, run)
    assert deferred(task, run).job_id == trigger.job_id
    returned = task.resume({}, asyncio.run(fired(trigger)))
    assert returned["job_id"] == trigger.job_id

    bad = operator.FairwattOperator(task_id="t", spec={"argv": ["false"]}, **known)
    trigger = deferred(bad, f"{run}-bad")
    with pytest.raises(fairwatt.JobFailed, match="exit_1"):
        bad.resume({}, asyncio.run(fired(trigger)))


def test_clearing_a_task_cancels_its_job(operator: Any, service: Service) -> None:
    known = {"url": service.url, "token": service.demo["tenant_token"]}
    spec = {"argv": ["true"], "held": True}
    task = operator.FairwattOperator(task_id="t", spec=spec, **known)
    trigger = deferred(task, f"killed-{os.getpid()}")
    task.on_kill()
    with service.client() as client:
        assert client.job(trigger.job_id).state is fairwatt.JobState.CANCELLED


@pytest.mark.parametrize(("code", "ends"), [(0, 0), (3, 1)])
def test_the_script_of_a_pipeline(code: int, ends: int, service: Service, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(
        f"argv: [python3, -c, \"print('trained'); raise SystemExit({code})\"]\n"
    )
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "fairwatt").write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -m fairwatt.cli.main "$@"\n'
    )
    (tools / "fairwatt").chmod(0o755)
    env = {
        "FAIRWATT_URL": service.url,
        "FAIRWATT_TOKEN": service.demo["tenant_token"],
        "PATH": f"{tools}:{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        "GITHUB_RUN_ID": f"{os.getpid()}-{code}",
    }
    done = subprocess.run(
        [str(BASE_DIR / "examples/ci/train.sh"), "job.yaml"],
        env=command_env(tmp_path, env),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == ends, done.stderr
    assert done.stdout == "trained\n"
    summary = (tmp_path / "summary").read_text()
    assert ("succeeded" if code == 0 else "failed") in summary
    assert "total" in summary
