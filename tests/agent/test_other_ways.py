"""Attempts run as somebody else, and in containers."""

import os
from pathlib import Path

import pytest

from agent.wire import ContainerTool, End, Fetched, Fetching, Gang, Stream
from tests.agent.conftest import Ground, attempt
from tests.agent.service import ScriptedService, until

# Stands in for podman: runs what follows the image, and notes whom it was told to kill.
PODMAN = """#!/bin/sh
case "$1" in
info) exit 0 ;;
kill) shift; echo "killed $@" >> FAKE_PODMAN_LOG ;;
run)
    echo "$@" >> FAKE_PODMAN_LOG
    while [ "$1" != "--" ]; do
        [ "$1" = "--env-file" ] && envs="$2"
        shift
    done
    shift 2
    exec env $(cat "$envs") "$@" ;;
esac
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run attempts as somebody else")
def test_attempts_run_as_the_user_named(ground: Ground, service: ScriptedService) -> None:
    script = 'id -un; echo "{\\"step\\": 5}" >> "$FAIRWATT_PROGRESS"; cat ../exit.json'
    # The test's own directories are closed to others.
    for directory in (ground.directory, *ground.directory.parents[:2]):
        directory.chmod(0o755)
    agent = ground.agent().start("--run-as", "nobody")
    service.want(attempt(argv=("/bin/sh", "-c", script)))
    until(lambda: 7 in service.ended, "the end")
    until(lambda: service.final >= {(7, Stream.STDOUT), (7, Stream.STDERR)}, "the logs")
    assert service.text(7) == "nobody\n"
    assert "Permission denied" in service.text(7, Stream.STDERR)
    assert service.ended[7].progress_step == 5
    assert (agent.state / "checkpoints/3").owner() == "nobody"


def test_an_image_is_run_by_the_container_tool(ground: Ground, service: ScriptedService) -> None:
    tool = ground.directory / "bin" / "podman"
    noted = ground.directory / "podman.log"
    # Its environment is the tool's own: nothing of the agent's or the tenant's would reach it.
    tool.write_text(PODMAN.replace("FAKE_PODMAN_LOG", str(noted)))
    tool.chmod(0o755)
    ground.agent(FAIRWATT_SECRET="x").start("--container")
    script = 'echo "$RANK $LR"; trap "" TERM; sleep 600 & wait; wait'
    service.want(
        attempt(
            argv=("/bin/sh", "-c", script),
            image="example/train:1",
            env={"LR": "0.1"},
            memory_mib=256,
            gang=Gang(0, 2, 2, 0, 1, "127.0.0.1", 29500),
        )
    )
    until(lambda: service.text(7).splitlines() == ["0 0.1", "1 0.1"], "both containers")
    assert service.rank_logs[7, Stream.STDOUT, 1] == b"1 0.1\n"
    assert service.registers[0].inventory.features.containers is ContainerTool.PODMAN
    # The tool says that a container is made by writing its id.
    until(lambda: service.latest[7].fetching == Fetching(Fetched.IMAGE), "the image on its way")
    (ground.agents[0].state / "runs/7-70/container.0").write_text("aa11\n")
    until(lambda: service.latest[7].fetching is None, "the image there")
    service.cancel(7, "cancelled", grace_s=0.1)
    until(lambda: 7 in service.ended, "the end")
    assert service.ended[7].end is End.STOPPED
    _check(noted)


def _check(noted: Path) -> None:
    first, second, *kills = noted.read_text().splitlines()
    names = {line.split("--name ")[1].split()[0] for line in (first, second)}
    assert len(names) == 2
    assert all("--memory 256m" in line and "--cap-drop ALL" in line for line in (first, second))
    assert set(kills[0].split()[1:]) == names
