"""The command line: clear words before anything is started."""

from pathlib import Path

import pytest

from agent.cli import main
from agent.run.tenant_users import NoSuchUserError, TenantUsers, UidRange
from tests.agent.conftest import Ground
from tests.agent.service import ScriptedService, until


def given(ground: Ground, **changes: str) -> list[str]:
    options = {
        "--server": "http://127.0.0.1:1",
        "--name": "node-1",
        "--state-dir": str(ground.directory / "state"),
        "--devices": f"emulated:{ground.catalogue}",
    } | changes
    return [*(word for pair in options.items() for word in pair), "--trust-tenants"]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ((), "say whom attempts run as: --tenant-uids FIRST-LAST"),
        (("--run-as", "nobody-at-all"), "no user 'nobody-at-all' on this host"),
    ],
)
def test_attempts_run_as_the_agents_own_user_only_if_that_is_said(
    ground: Ground, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], why: str
) -> None:
    assert main([*given(ground)[:-1], *options]) == 4
    said = capsys.readouterr().err
    assert why in said or "only root can run attempts as somebody else" in said


def test_a_directory_that_tenants_cannot_reach_is_named(
    ground: Ground, capsys: pytest.CaptureFixture[str]
) -> None:
    users = TenantUsers(UidRange(200_000, 200_999))
    ground.directory.chmod(0o700)
    closed = (ground.directory, *ground.directory.parents)  # the first that stops them, from /
    assert users.unreachable(ground.directory) in {
        f"attempts cannot reach {ground.directory}: {path} is closed to others (chmod o+x)"
        for path in closed
    }
    assert TenantUsers(trusted=True).unreachable(ground.directory) == ""


@pytest.mark.parametrize("text", ["200000", "5-1", "a-b", "0-9", "200000-99999999999"])
def test_a_range_of_uids_is_two_numbers(text: str) -> None:
    with pytest.raises(ValueError, match="expected two uids"):
        UidRange.parse(text)


def test_a_tenant_without_a_uid_is_told_so() -> None:
    uids = UidRange.parse("200000-200999")
    assert uids.of(7).uid == 200_007
    with pytest.raises(NoSuchUserError, match="no uid left for tenant 1000"):
        uids.of(1000)


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
