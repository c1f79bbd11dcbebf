"""Files of attempts on the real agent: brought before they begin, kept after they end."""

import functools
import http.server
import io
import os
import subprocess
import tarfile
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.wire import (
    Archive,
    ArtifactPath,
    AttemptReport,
    End,
    Fetched,
    Fetching,
    GitCommit,
    State,
    Workdir,
)
from tests.agent.conftest import Ground, attempt, ground_at
from tests.agent.process import AgentProcess, gpu_uuid
from tests.agent.service import ScriptedService, until
from tests.storage.packing import digest, file, special, tar_gz

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can give tenants uids of their own"),
]
FIRST_UID = 200_000
CODE = tar_gz(file("run.sh", b"id -u; stat -c %a:%u . run.sh; mkdir out; echo 42 > out/x\n"))


@pytest.fixture(scope="module", params=[0o711, 0o700], ids=["open", "closed"])
def directory(request: pytest.FixtureRequest) -> Iterator[Path]:
    """Which others may pass through, or may not, as a home."""
    with tempfile.TemporaryDirectory(prefix="fairwatt-files-") as name:
        path = Path(name)
        path.chmod(request.param)
        yield path


@pytest.fixture(scope="module")
def ground(directory: Path) -> Iterator[Ground]:
    """One node for all tests here; each uses an attempt id of its own."""
    with ground_at(directory) as made:
        started(made)
        yield made


def started(ground: Ground) -> AgentProcess:
    return ground.agent().start("--tenant-uids", f"{FIRST_UID}-{FIRST_UID + 999}")


@pytest.fixture
def agent(ground: Ground) -> AgentProcess:
    return ground.agents[-1]


def want(service: ScriptedService, number: int, data: bytes, **changes: object) -> None:
    service.archives[number] = data
    archive = Archive(digest(data), len(data))
    facts: dict[str, object] = {
        "attempt_id": number,
        "fence": 10 * number,
        "tenant_id": 5,
        "argv": ("/bin/sh", "run.sh"),
        "workdir": Workdir(archive=archive),
    }
    service.want(attempt(**(facts | changes)))  # type: ignore[arg-type]


def ended(service: ScriptedService, number: int) -> AttemptReport:
    report: AttemptReport = until(lambda: service.ended.get(number), f"{number} ended")
    return report


def test_code_comes_as_the_tenants_own_and_results_go_back(
    agent: AgentProcess, service: ScriptedService
) -> None:
    kept = (ArtifactPath("all", "out"), ArtifactPath("x", "out/x"), ArtifactPath("no", "none"))
    service.fate.break_downloads = 1
    want(service, 1, CODE, artifacts=kept)
    assert ended(service, 1).exit_code == 0
    until(lambda: len(service.closed) == 3, "three artifacts closed")
    uid = FIRST_UID + 5
    assert service.text(1) == f"{uid}\n700:{uid}\n644:{uid}\n"
    assert service.ranges == ["", f"bytes={len(CODE) // 2}-"]
    assert bytes(service.artifacts[1, "x"]) == b"42\n"
    with tarfile.open(fileobj=io.BytesIO(bytes(service.artifacts[1, "all"]))) as archive:
        assert archive.getnames() == ["out", "out/x"]
    assert service.closed[1, "all"].packed
    assert service.closed[1, "no"].fault == "there is nothing at none"
    until(lambda: agent.run_dir(1) is None, "nothing left on the node")

    want(service, 2, CODE)
    assert ended(service, 2).exit_code == 0
    assert len(service.ranges) == 2, "an archive that is here is not fetched again"
    want(service, 3, CODE, tenant_id=6)
    assert ended(service, 3).exit_code == 0
    assert len(service.ranges) == 3, "tenants share no archive"


HOSTILE = {
    "link": (special("l", tarfile.SYMTYPE, "/etc"), "'l' is a link out of the folder"),
    "device": (special("null", tarfile.CHRTYPE), "'null' is neither file, folder nor link"),
    "bomb": (file("zeros", bytes(5 * 2**20)), "it unpacks to more than 4 MiB"),
}


def test_a_hostile_archive_is_one_clear_end_and_harms_no_neighbour(
    agent: AgentProcess, service: ScriptedService
) -> None:
    # The limit on scratch is the attempt's own; the neighbour is of another tenant.
    want(service, 10, tar_gz(file("run.sh", b"sleep 600")), tenant_id=6, gpu_uuids=(gpu_uuid(1),))
    until(lambda: state_of(service, 10) is State.RUNNING, "the neighbour running")
    for number, (member, why) in enumerate(HOSTILE.values(), start=11):
        want(service, number, tar_gz(file("run.sh"), member), scratch_mib=4)
        report = ended(service, number)
        assert report.end is End.INPUT_FAILED
        assert report.detail.endswith(why)
    assert state_of(service, 10) is State.RUNNING
    service.cancel(10, "test over", 0.0)
    ended(service, 10)


def state_of(service: ScriptedService, number: int) -> State | None:
    return service.latest[number].state if number in service.latest else None


def test_bytes_that_the_service_no_longer_has_end_it(
    agent: AgentProcess, service: ScriptedService
) -> None:
    want(service, 20, tar_gz(file("run.sh", b"true")))
    del service.archives[20]
    report = ended(service, 20)
    assert (report.end, "The bytes are gone" in report.detail) == (End.INPUT_FAILED, True)


def test_other_bytes_than_announced_are_never_run(
    agent: AgentProcess, service: ScriptedService
) -> None:
    want(service, 21, tar_gz(file("run.sh", b"echo good")))
    evil = tar_gz(file("run.sh", b"echo evil"))
    service.archives[21] = evil[: len(service.archives[21])].ljust(len(service.archives[21]))
    report = ended(service, 21)
    assert (report.end, report.exit_code) == (End.REFUSED, None)
    assert "not those of" in report.detail


def test_a_slow_download_delays_no_sync_and_can_be_cancelled(
    agent: AgentProcess, service: ScriptedService
) -> None:
    service.fate.break_downloads, service.fate.hold_downloads = 1, threading.Event()
    try:
        want(service, 30, tar_gz(file("run.sh", os.urandom(5000))))
        until(lambda: "fetching its working" in said(service, 30), "the download under way")
        before = len(service.syncs)
        until(lambda: len(service.syncs) > before + 10, "ten syncs meanwhile", 10)
        assert state_of(service, 30) is State.STARTING
        size = len(service.archives[30])
        assert service.latest[30].fetching == Fetching(Fetched.ARCHIVE, size // 2, size)
        service.cancel(30, "cancel_requested", 0.0)
        report = ended(service, 30)
        assert (report.end, report.detail) == (End.STOPPED, "cancel_requested")
    finally:
        service.fate.hold_downloads.set()
        service.fate.hold_downloads = None


def said(service: ScriptedService, number: int) -> str:
    return service.latest[number].detail if number in service.latest else ""


@pytest.fixture(scope="module")
def repository(directory: Path) -> Iterator[tuple[str, str]]:
    """Its address and its one commit; a server without any talent, which gives no single commit."""
    bare, work = directory / "www" / "code.git", directory / "checkout"
    run = functools.partial(subprocess.run, check=True, capture_output=True, text=True)
    who = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    run(["git", "init", "-q", "--bare", str(bare)])
    run(["git", "clone", "-q", str(bare), str(work)])
    (work / "run.sh").write_text("echo from git\n")
    run(["git", "-C", str(work), "add", "."])
    run(["git", *who, "-C", str(work), "commit", "-q", "-m", "first"])
    run(["git", "-C", str(work), "push", "-q", "origin", "HEAD"])
    run(["git", "-C", str(bare), "update-server-info"])
    commit = run(["git", "-C", str(work), "rev-parse", "HEAD"]).stdout.strip()
    handler = functools.partial(_Quiet, directory=str(bare.parent))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/code.git", commit
        server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Quiet."""


def test_a_commit_is_checked_out_or_said_not_to_be_there(
    agent: AgentProcess, service: ScriptedService, repository: tuple[str, str]
) -> None:
    url, commit = repository
    want(service, 40, b"", workdir=Workdir(git=GitCommit(url, commit)))
    assert ended(service, 40).exit_code == 0
    until(lambda: service.text(40) == "from git\n", "what it printed")

    want(service, 41, b"", workdir=Workdir(git=GitCommit(url, "0" * 40)))
    report = ended(service, 41)
    assert report.end is End.INPUT_FAILED
    assert report.detail == f"its working directory: {url} has no commit {'0' * 40}"

    want(service, 42, b"", workdir=Workdir(git=GitCommit(url + "x", commit)))
    report = ended(service, 42)
    assert report.end is End.REFUSED
    assert "cannot be fetched" in report.detail

    want(service, 43, b"", network=False, workdir=Workdir(git=GitCommit(url, commit)))
    assert ended(service, 43).detail.startswith("this cluster keeps jobs from the network")


def test_an_agent_that_dies_at_any_of_it_leaves_it_to_the_next(
    ground: Ground, agent: AgentProcess, service: ScriptedService
) -> None:
    """Last here: it puts another agent on the node."""
    hold = service.fate.hold_downloads = threading.Event()
    service.fate.break_downloads, service.ranges[:] = 1, []
    data = tar_gz(file("run.sh", b"echo kept > x"), file("large", os.urandom(50_000)))
    want(service, 50, data, artifacts=(ArtifactPath("x", "x"),))
    part = agent.state / "archives" / f"5-{digest(data)}.part"
    until(lambda: part.exists() and part.stat().st_size == len(data) // 2, "half of it")
    agent.kill()
    hold.set()
    service.fate.hold_downloads = None
    service.fate.refuse_artifacts = True
    second = started(ground)
    assert ended(service, 50).exit_code == 0, "told without waiting for the artifact"
    assert service.ranges == ["", f"bytes={len(data) // 2}-"]
    directory = second.run_dir(50)
    assert directory is not None
    until((directory / "packed.json").exists, "packed")
    until(lambda: not (directory / "work").exists(), "no scratch left")
    second.kill()
    service.fate.refuse_artifacts = False
    third = started(ground)
    until(lambda: (50, "x") in service.closed, "sent by the third agent")
    assert bytes(service.artifacts[50, "x"]) == b"kept\n"
    until(lambda: third.run_dir(50) is None, "nothing left on the node")
