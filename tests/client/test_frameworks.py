"""The callbacks, with trainers that only look like those of the frameworks.

The frameworks themselves are too large for this project's environment; what is held here is that
the documented hooks are called with what they are documented to get.
"""

import importlib
import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from fairwatt import in_job


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("FAIRWATT_PROGRESS", str(tmp_path / "progress"))
    monkeypatch.setenv("FAIRWATT_CHECKPOINT_DIR", str(tmp_path))
    monkeypatch.setattr(in_job, "_callbacks", [])
    before = signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield tmp_path
    signal.signal(signal.SIGTERM, before)
    in_job._asked.clear()


def said(job: Path) -> list[tuple[str, int]]:
    lines = (job / "progress").read_text().splitlines()
    known = ("step", "checkpoint")
    return [(k, v) for line in lines for k, v in json.loads(line).items() if k in known]


def callback(name: str, monkeypatch: pytest.MonkeyPatch, **modules: Any) -> Any:
    for path, base in modules.items():
        module = ModuleType(path)
        setattr(module, base, type(base, (), {}))
        monkeypatch.setitem(sys.modules, path, module)
    monkeypatch.delitem(sys.modules, f"fairwatt.frameworks.{name}", raising=False)
    loaded = importlib.import_module(f"fairwatt.frameworks.{name}")
    return getattr(loaded, f"{name.capitalize()}Callback")


class Lightning:
    """What the hooks use of a Lightning trainer."""

    def __init__(self) -> None:
        self.is_global_zero, self.global_step, self.should_stop = True, 0, False

    def save_checkpoint(self, path: Path) -> None:
        path.write_text(str(self.global_step))

    def fit(self, callback: Any, steps: int, preempted_at: int | None = None) -> None:
        callback.on_train_start(self, None)
        while self.global_step < steps and not self.should_stop:
            self.global_step += 1
            if self.global_step == preempted_at:
                signal.raise_signal(signal.SIGTERM)
            callback.on_train_batch_end(self, None, None, None, self.global_step)
        callback.on_train_end(self, None)


def test_lightning(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = "lightning.pytorch.callbacks"
    monkeypatch.setitem(sys.modules, "lightning", ModuleType("lightning"))
    monkeypatch.setitem(sys.modules, "lightning.pytorch", ModuleType("lightning.pytorch"))
    made = callback("lightning", monkeypatch, **{path: "Callback"})
    assert made.last_checkpoint() is None
    trainer = Lightning()
    trainer.fit(made(every_s=0), steps=10, preempted_at=3)
    assert trainer.should_stop
    assert said(job) == [("step", 1), ("step", 2), ("step", 3), ("checkpoint", 3), ("step", 3)]
    assert Path(made.last_checkpoint()).read_text() == "3"


def test_lightning_speaks_seldom_and_once_per_gang(
    job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "lightning", ModuleType("lightning"))
    monkeypatch.setitem(sys.modules, "lightning.pytorch", ModuleType("lightning.pytorch"))
    made = callback("lightning", monkeypatch, **{"lightning.pytorch.callbacks": "Callback"})
    Lightning().fit(made(every_s=3600), steps=50)
    assert said(job) == [("step", 1), ("step", 50)]
    other = Lightning()
    other.is_global_zero = False
    other.fit(made(every_s=0), steps=50)
    assert len(said(job)) == 2


def test_hugging_face(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = callback("transformers", monkeypatch, transformers="TrainerCallback")
    assert not made.has_checkpoint()
    each = made(every_s=0)
    state = SimpleNamespace(is_world_process_zero=True, global_step=0)
    control = SimpleNamespace(should_save=False, should_training_stop=False)
    each.on_train_begin(None, state, control)
    while not control.should_training_stop:
        state.global_step += 1
        if state.global_step == 2:
            signal.raise_signal(signal.SIGTERM)
        control = each.on_step_end(None, state, control)
        if control.should_save:
            (job / f"checkpoint-{state.global_step}").mkdir()
            each.on_save(None, state, control)
    each.on_train_end(None, state, control)
    assert said(job) == [("step", 1), ("step", 2), ("checkpoint", 2), ("step", 2)]
    assert made.has_checkpoint()
