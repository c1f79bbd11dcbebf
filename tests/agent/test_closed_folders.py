"""A node whose state lies in a folder closed to others: its attempts are still the tenants' own."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.cli import main
from agent.run import closed_folders
from agent.wire import Mount, SecretValue, Stream, Wall
from tests.agent.conftest import Ground, attempt, ground_at
from tests.agent.process import outside_environment
from tests.agent.service import until

UID = 200_005
SCRIPT = (
    'id -u; cat "$FAIRWATT_SECRETS_DIR/key"; cat {home}/shown/word {home}/data/word; '
    'echo 1 > note; echo 2 > "$FAIRWATT_CHECKPOINT_DIR/saved"; pwd; ls {home}; '
    "cat {home}/private {home}/state/identity.json; echo x > {home}/new; exit 0"
)

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can give tenants uids of their own"),
]


@pytest.fixture
def ground() -> Iterator[Ground]:
    with tempfile.TemporaryDirectory(prefix="fairwatt-home-", dir="/var/tmp") as name:
        for folder in ("shown", "data"):
            Path(name, folder).mkdir()
            Path(name, folder, "word").write_text(f"{folder}\n")
        Path(name, "private").write_text("secret")
        Path(name, "private").chmod(0o644)
        with ground_at(Path(name)) as made:
            yield made


@pytest.fixture
def no_bubblewrap() -> Iterator[str]:
    """A PATH whose first folder every user can enter."""
    with tempfile.TemporaryDirectory(prefix="fairwatt-path-") as name:
        Path(name).chmod(0o755)
        yield outside_environment(Path(name), "")["PATH"]


def options(ground: Ground) -> tuple[str, ...]:
    return ("--tenant-uids", "200000-200999", "--show", str(ground.directory / "shown"))


@pytest.mark.parametrize("walled", [False, True], ids=["uid", "bubblewrap"])
def test_an_attempt_reaches_what_it_needs_and_nothing_else(
    ground: Ground, no_bubblewrap: str, walled: bool
) -> None:
    if walled and shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    home, service = ground.directory, ground.service
    agent = ground.agent(PATH=os.environ["PATH"] if walled else no_bubblewrap).start(
        *options(ground)
    )
    argv = ("/bin/sh", "-c", SCRIPT.format(home=home))
    secret = SecretValue("key", "sesame\n", file="key")
    data = Mount("data", str(home / "data"), str(home / "data"))
    service.want(attempt(argv=argv, tenant_id=5, secrets=(secret,), mounts=(data,)))
    until(lambda: 7 in service.ended, "the end", 30)
    until(lambda: service.final >= {(7, Stream.STDOUT), (7, Stream.STDERR)}, "the logs")
    printed, complained = service.text(7).splitlines(), service.text(7, Stream.STDERR)
    assert printed[:4] == [str(UID), "sesame", "shown", "data"], (service.ended[7], complained)
    assert printed[4] == str(agent.state / "runs/7-70/work")
    assert printed[5:] == ["data", "shown", "state"]
    for hidden in (home / "private", agent.state / "identity.json"):
        assert f"{hidden}: No such file or directory" in complained
    features = service.registers[0].inventory.features
    assert features.wall is (Wall.NAMESPACES if walled else Wall.UID)
    assert (agent.state / "checkpoints/3/saved").stat().st_uid == UID
    assert (home.stat().st_mode & 0o777, home.stat().st_uid) == (0o700, 0)
    assert not (home / "new").exists()


def test_without_a_way_the_agent_ends_and_says_why(
    ground: Ground, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.cli.can_open_ways", lambda: False)
    place = ("--server", "http://127.0.0.1:1", "--name", "n", "--join-token", "x")
    state = ("--state-dir", str(ground.directory / "state"))
    assert (
        main([*place, *state, "--devices", f"emulated:{ground.catalogue}", *options(ground)]) == 4
    )
    assert f"{ground.directory} is closed to others (chmod o+x), and this host lets" in (
        capsys.readouterr().err
    )


def test_only_the_outermost_closed_folder_is_put_together(tmp_path: Path) -> None:
    for folder in ("home/inner/a", "home/b", "own/c"):
        (tmp_path / folder).mkdir(parents=True)
    for each in (tmp_path, *tmp_path.parents):
        each.chmod(each.stat().st_mode | 0o001)
    for closed in ("home", "home/inner", "own"):
        (tmp_path / closed).chmod(0o700)
    os.chown(tmp_path / "own", UID, UID)
    wanted = [tmp_path / name for name in ("home/inner/a", "home/b", "own/c", "missing")]
    home = tmp_path / "home"
    assert closed_folders.ways(wanted, UID) == {str(home): [str(home / "b"), str(home / "inner/a")]}
