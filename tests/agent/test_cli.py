"""The command line: clear words before anything is started."""

from pathlib import Path

import pytest

from agent.cli import main
from tests.agent.conftest import Ground
from tests.agent.service import ScriptedService, until


def given(ground: Ground, **changes: str) -> list[str]:
    options = {
        "--server": "http://127.0.0.1:1",
        "--name": "node-1",
        "--state-dir": str(ground.directory / "state"),
        "--devices": f"emulated:{ground.catalogue}",
    } | changes
    return [word for pair in options.items() for word in pair]


def test_check_says_what_the_host_can(ground: Ground, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*given(ground), "--check"]) == 0
    said = capsys.readouterr().out
    assert "node node-1 at 127.0.0.1, driver emulated\n8 CPUs, 65536 MiB" in said
    assert "gpu 1 A100-SXM4-80GB 81920 MiB, 55-400 W, 4 clocks, energy by counter" in said
    for feature in ("memory limit", "cpu affinity", "cgroup", "bubblewrap", "containers"):
        assert f"\n{feature}: " in said


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"--name": "Node One"}, "--name 'Node One': small letters"),
        ({"--server": "fairwatt.example"}, "--server 'fairwatt.example': expected http"),
    ],
)
def test_what_is_mistyped_is_named(
    ground: Ground, capsys: pytest.CaptureFixture[str], changes: dict[str, str], problem: str
) -> None:
    with pytest.raises(SystemExit) as end:
        main(given(ground, **changes))
    assert end.value.code == 2
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"--devices": "emulated:/no/such.toml"}, "/no/such.toml: no such file"),
        ({"--devices": "abacus"}, "'abacus': expected nvml or emulated:FILE"),
        ({"--join-token": ""}, "this node has not joined yet: give --join-token"),
        ({"--run-as": "nobody-of-that-name"}, "no user 'nobody-of-that-name' on this host"),
    ],
)
def test_what_cannot_work_is_one_line(
    ground: Ground,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, str],
    problem: str,
) -> None:
    monkeypatch.delenv("FAIRWATT_JOIN_TOKEN", raising=False)
    token = {} if "--join-token" in changes else {"--join-token": "fw_j_0123456789"}
    assert main(given(ground, **token, **changes)) == 4
    assert f"fairwatt-agent: {problem}\n" in capsys.readouterr().err


def test_checkpoints_may_lie_where_other_nodes_see_them(
    ground: Ground, service: ScriptedService, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    ground.agent().start("--checkpoint-dir", str(shared), "--address", "10.9.8.7")
    until(lambda: service.syncs, "a first sync")
    assert shared.is_dir()
    assert service.registers[0].inventory.address == "10.9.8.7"
