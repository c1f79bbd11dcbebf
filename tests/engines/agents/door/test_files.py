"""Archives and artifacts pass the door too: it is all that agents behind a proxy ever see."""

from pathlib import Path
from urllib.parse import urlencode

import pytest
from pytest_django import Settings

from agent.wire import ARTIFACT_PATH, WORKDIR_PATH, ArtifactTaken, decode_answer
from jobs.models import Artifact, Job
from scheduler_service.door import Door
from tests.asgi import Client
from tests.engines.agents.door.conftest import with_door
from tests.engines.agents.test_workload import BROUGHT, ended, scene, stored
from tests.storage.packing import digest, file, tar_gz

pytestmark = pytest.mark.django_db(transaction=True)
ARCHIVE = tar_gz(file("weights", bytes(range(256)) * 4096))


@pytest.fixture(autouse=True)
def _store(settings: Settings, tmp_path: Path) -> None:
    settings.STORAGE_URL, settings.CACHE_URL = str(tmp_path / "storage"), "local:"


def test_files_pass_the_door(tmp_path: Path) -> None:
    made = scene(**BROUGHT)
    Job.objects.update(workdir=stored(made.tenant, ARCHIVE))
    wanted = ended(made, exit_code=0)
    fenced = {"epoch": made.agent.epoch, "fence": wanted.fence}
    workdir = WORKDIR_PATH.format(attempt_id=wanted.attempt_id)
    model = ARTIFACT_PATH.format(attempt_id=wanted.attempt_id, name="model")
    said = urlencode({**fenced, "size": 5, "digest": digest(b"model")})

    async def pass_by(door: Door) -> None:
        client = Client(door, made.agent.secret)
        whole = await client.send("GET", f"{workdir}?{urlencode(fenced)}")
        assert (whole.status, whole.content) == (200, ARCHIVE)
        assert whole.headers["content-length"] == str(len(ARCHIVE))
        rest = await client.send(
            "GET", f"{workdir}?{urlencode(fenced)}", headers={"Range": "bytes=10-"}
        )
        assert (rest.status, rest.content) == (206, ARCHIVE[10:])
        sent = await client.send("PUT", f"{model}?{said}", b"model")
        assert decode_answer(ArtifactTaken, sent.content).closed
        assert (await client.send("POST", workdir)).status == 405
        stranger = await Client(door, None).send("GET", f"{workdir}?{urlencode(fenced)}")
        assert stranger.status == 401

    with_door(pass_by)
    assert Artifact.objects.get().state == Artifact.State.STORED
