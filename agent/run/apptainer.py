"""Running a command in an image by apptainer, inside bubblewrap.

The wall is bubblewrap's, as for any other attempt: whose it is, processes, devices, the network,
what of the host is there; limits are the attempt's own group. Apptainer only puts the image in the
place of the host's files, as the tenant and in a user namespace within.
"""

import csv
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.run.container import LEFT_TO_THE_IMAGE
from agent.run.sandbox import JobCommand, SandboxPaths, bubblewrapped
from agent.run.tenant_users import User

# What operators may have said about the way to their registry.
PASSED_ON = (
    *("PATH", "APPTAINER_NOHTTPS", "SSL_CERT_FILE"),
    *("http_proxy", "https_proxy", "no_proxy"),
)
# What the wall forbids elsewhere, and apptainer needs.
NO_USER_NAMESPACES = "--disable-userns"
# Of the attempt's own, with the room that it may take; apptainer's would have 64 MiB.
SCRATCH = ("/tmp", "/var/tmp")  # noqa: S108
# It refuses to be told; the user's entry says it.
NOT_TO_BE_GIVEN = LEFT_TO_THE_IMAGE | {"HOME"}


@dataclass(frozen=True, slots=True)
class UserFiles:
    """Apptainer wants a name for its user, and tenants' uids have none on the host."""

    passwd: Path
    group: Path

    @classmethod
    def written(cls, directory: Path, user: User | None, home: Path) -> "UserFiles":
        files = cls(directory / "passwd", directory / "group")
        uid, gid = (user.uid, user.gid) if user else (os.getuid(), os.getgid())
        files.passwd.write_text(f"tenant:x:{uid}:{gid}::{home}:/bin/sh\n")
        files.group.write_text(f"tenant:x:{gid}:\n")
        for path in (files.passwd, files.group):
            path.chmod(0o644)
        return files

    @property
    def replaced(self) -> dict[str, Path]:
        return {"/etc/passwd": self.passwd, "/etc/group": self.group}


def in_image(
    image: str,
    argv: Sequence[str],
    env: Mapping[str, str],
    places: SandboxPaths,
    *,
    user_files: UserFiles,
    by_driver: bool,
    options: Sequence[str],
    tmp_bytes: int,
    network: bool,
) -> JobCommand:
    mounts = [_mount(path, path) for path in (*SCRATCH, *places.writable)]
    mounts += [_mount(path, path, read_only=True) for path in places.readable]
    # The wall has them at their targets already.
    mounts += [_mount(each.target, each.target, each.read_only) for each in places.mounts]
    # The driver's files and libraries: of the GPUs, only its own are inside the wall.
    mounts += [] if by_driver else [_mount(path, path) for path in places.devices]
    return bubblewrapped(
        (
            *("apptainer", "--quiet", "exec", "--userns", "--contain", "--cleanenv", "--no-home"),
            *(("--nv",) if by_driver and places.devices else ()),
            *("--pwd", str(places.work)),
            *(part for mount in mounts for part in ("--mount", mount)),
            *(f"docker://{image}", *argv),
        ),
        _tool_environment(env, places.work),
        places,
        options=[option for option in options if option != NO_USER_NAMESPACES],
        tmp_bytes=tmp_bytes,
        network=network,
        replaced=user_files.replaced,
    )


def _tool_environment(
    env: Mapping[str, str], work: Path, base: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """What is the tenant's reaches the tool under other names, and its program under the right."""
    own = {name: base[name] for name in PASSED_ON if name in base} | {
        "HOME": str(work),
        # Tenants share nothing; what an image is unpacked to goes with the working directory.
        "APPTAINER_DISABLE_CACHE": "1",
        "APPTAINER_TMPDIR": str(work),
    }
    given = {
        f"APPTAINERENV_{name}": value for name, value in env.items() if name not in NOT_TO_BE_GIVEN
    }
    return own | given


def _mount(source: str, target: str, read_only: bool = False) -> str:
    """A line of CSV, so that a comma in a path is part of it."""
    line = io.StringIO()
    fields = ["type=bind", f"source={source}", f"destination={target}"]
    csv.writer(line, lineterminator="").writerow([*fields, "ro"] if read_only else fields)
    return line.getvalue()
