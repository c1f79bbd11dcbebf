"""Where binaries are found, and the copy for a user that cannot reach them."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from scheduler_service.embedded import binaries
from scheduler_service.embedded.errors import EmbeddedError
from scheduler_service.embedded.program import Account

NOBODY = Account(65534, 65534)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can run as another user")


@pytest.fixture
def open_temporary(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary directory that everybody may enter, as /tmp is."""
    with tempfile.TemporaryDirectory(prefix="fairwatt-test-open-", dir="/tmp") as directory:
        Path(directory).chmod(0o755)
        monkeypatch.setattr(tempfile, "tempdir", directory)
        yield Path(directory)


@pytest.fixture
def closed_wheel(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The wheel as installed by somebody with a private umask below a closed directory."""
    wheel = binaries.package_directory(binaries.WHEEL)
    assert wheel
    for name in (wheel.name, f"{wheel.name}.libs"):
        shutil.copytree(wheel.parent / name, home / name)
    for path in home.rglob("*"):
        path.chmod(path.stat().st_mode & 0o700)
    monkeypatch.setattr(binaries, "package_directory", lambda name: home / name)
    return home / wheel.name


@pytest.mark.process
def test_the_wheels_binaries_are_used_where_they_are() -> None:
    wheel = binaries.package_directory(binaries.WHEEL)
    assert wheel
    assert binaries.postgres_bin(None) == wheel / "pginstall" / "bin"


@pytest.mark.process
@needs_root
def test_a_wheel_out_of_reach_is_copied_once_with_its_modes_untouched(
    closed_wheel: Path, open_temporary: Path
) -> None:
    found = binaries.postgres_bin(NOBODY)
    assert open_temporary in found.parents
    inode = found.stat().st_ino
    assert binaries.postgres_bin(NOBODY).stat().st_ino == inode
    assert closed_wheel.stat().st_mode & 0o077 == 0
    assert len(list(open_temporary.iterdir())) == 1


@pytest.mark.process
@needs_root
def test_a_broken_copy_is_made_again(closed_wheel: Path, open_temporary: Path) -> None:
    (binaries.postgres_bin(NOBODY) / "postgres").unlink()
    assert (binaries.postgres_bin(NOBODY) / "postgres").exists()


@pytest.mark.process
@needs_root
@pytest.mark.parametrize("mode_or_owner", ["writable", "foreign"])
def test_a_copy_that_somebody_else_could_have_made_is_refused(
    closed_wheel: Path, open_temporary: Path, mode_or_owner: str
) -> None:
    place = binaries.postgres_bin(NOBODY).parents[2]
    place.chmod(0o777) if mode_or_owner == "writable" else os.chown(place, 65534, 65534)
    with pytest.raises(EmbeddedError, match="belongs to somebody else"):
        binaries.postgres_bin(NOBODY)


@needs_root
def test_roots_servers_run_as_the_owner_of_their_data(home: Path) -> None:
    data = home / "data"
    assert binaries.server_account(data) == NOBODY
    data.mkdir()
    assert binaries.server_account(data) == NOBODY
    os.chown(data, 4711, 4712)
    assert binaries.server_account(data) == Account(4711, 4712)


@pytest.mark.skipif(os.geteuid() == 0, reason="root changes users instead")
def test_other_users_servers_run_as_themselves(home: Path) -> None:
    assert binaries.server_account(home / "data") is None


def test_without_wheel_and_system_the_message_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PG_BIN_DIR", raising=False)
    monkeypatch.setattr(binaries, "package_directory", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(EmbeddedError, match="DATABASE_URL"):
        binaries.postgres_bin(None)
