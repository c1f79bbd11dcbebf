"""A container that needs more memory than it has, by real podman and by the kernel's own words."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.run.kernel_log import ended_for_memory
from agent.wire import DesiredAttempt
from tests.agent.conftest import Ground, attempt, ground_at
from tests.agent.podman import IMAGE, podman_environment
from tests.agent.process import gpu_uuid
from tests.agent.service import until

LOG = (
    "3,1,1,-;tail invoked oom-killer\n"
    "6,2,2,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=c,mems_allowed=0,"
    "oom_memcg=/machine.slice/libpod-aa11.scope,task_memcg=/machine.slice/libpod-bb22.scope,"
    "task=tail,pid=7,uid=0\n"
    "6,3,3,-;oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,"
    "global_oom,task_memcg=/docker/cc33,task=tail,pid=8,uid=0\n"
)


def contained(number: int, script: str) -> DesiredAttempt:
    return attempt(
        argv=("/bin/sh", "-c", script),
        attempt_id=number,
        fence=10 * number,
        gpu_uuids=(gpu_uuid(number - 7),),
        tenant_id=5,
        image=IMAGE,
        memory_mib=64,
        pids_limit=64,
    )


@pytest.fixture
def ground() -> Iterator[Ground]:
    with tempfile.TemporaryDirectory(prefix="fairwatt-memory-") as name:
        directory = Path(name)
        directory.chmod(0o711)
        env = podman_environment(directory)
        with ground_at(directory) as made:
            made.agent(**env).start("--container", "--tenant-uids", "200000-200999")
            yield made


@pytest.mark.process
@pytest.mark.skipif(os.geteuid() != 0, reason="podman is tried as root")
def test_podman_ends_it_and_the_report_says_why(ground: Ground) -> None:
    service = ground.service
    service.want(contained(7, "tail /dev/zero; exit 3"))
    service.want(contained(8, "sh -c 'kill -9 $$'; exit 4"))
    until(lambda: {7, 8} <= service.ended.keys(), "both ends", 60)
    assert service.ended[7].out_of_memory, service.ended[7]
    assert service.ended[7].exit_code == 3
    assert service.ended[7].detail.startswith("out of memory: more than its 64 MiB; exit code 3")
    assert service.ended[8].exit_code == 4
    assert not service.ended[8].out_of_memory, "killed, but not for its memory"


def test_only_the_group_whose_limit_it_was_counts(tmp_path: Path) -> None:
    log = tmp_path / "kmsg"
    log.write_text(LOG)
    found = {each: ended_for_memory([each], log) for each in ("aa11", "bb22", "cc33")}
    assert found == {"aa11": True, "bb22": False, "cc33": False}
    assert not ended_for_memory([], log)
    assert not ended_for_memory(["aa11"], tmp_path / "none")
