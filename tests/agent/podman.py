"""A podman of the tests' own, with an image of one static program; or a reason to skip."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

IMAGE = "localhost/busybox:1"
BUSYBOX = shutil.which("busybox")


def podman_environment(directory: Path) -> dict[str, str]:
    """A podman of the test's own, with an image of one static program; its environment."""
    if shutil.which("podman") is None or BUSYBOX is None:
        pytest.skip("podman or a static busybox is not installed")
    runtime = next(
        (path for path in ("/usr/sbin/runc", "/usr/bin/runc") if Path(path).exists()), ""
    )
    conf, storage = directory / "containers.conf", directory / "storage.conf"
    conf.write_text(
        '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=512:512"]\n'
        '[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "none"\n'
        + (f'runtime = "{runtime}"\n' if runtime else "")
    )
    storage.write_text(
        f'[storage]\ndriver = "vfs"\ngraphroot = "{directory}/graph"\nrunroot = "{directory}/run"\n'
    )
    env = {"CONTAINERS_CONF": str(conf), "CONTAINERS_STORAGE_CONF": str(storage)}
    root = directory / "root"
    for name in ("bin", "tmp", "usr", "etc", "mnt"):
        (root / name).mkdir(parents=True)
    shutil.copy(BUSYBOX, root / "bin/busybox")
    for applet in ("sh", "cat", "ls", "dd", "grep", "kill", "mkdir", "touch", "cp", "chmod", "test",
                   "mount", "stat", "sleep", "wc", "id", "cut", "echo", "tail"):  # fmt: skip
        (root / "bin" / applet).symlink_to("busybox")
    packed = subprocess.run(("tar", "-C", str(root), "-c", "."), check=True, capture_output=True)
    made = subprocess.run(
        ("podman", "import", "-", IMAGE),
        input=packed.stdout,
        env={**os.environ, **env},
        check=False,
        capture_output=True,
    )
    if made.returncode:
        pytest.skip(f"podman does not work here: {made.stderr.decode()[-200:]}")
    return env
