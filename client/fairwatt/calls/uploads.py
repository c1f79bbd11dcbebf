"""Uploads: a folder for the working directory of jobs."""

from collections.abc import Callable
from pathlib import Path

from fairwatt.call import Call, Flow, get, post
from fairwatt.errors import FairwattError, Unreachable
from fairwatt.folder import PackedFolder, packed
from fairwatt.operation import Asker, procedure
from fairwatt.retry import ask
from fairwatt.structs.jobs import Workdir
from fairwatt.structs.uploads import Upload

BYTES = "application/octet-stream"
BROKEN_MOST = 10


class UploadCalls(Asker):
    @procedure
    def upload_folder(
        self, folder: str | Path, *, on_progress: Callable[[int, int], object] | None = None
    ) -> Flow[Workdir]:
        """Upload a folder; what is there already is not sent again.

        `on_progress` hears how many bytes of how many are there.

        >>> workdir = client.upload_folder(folder)
        >>> job = client.submit(fairwatt.JobSpec(argv=["python3", "hello.py"], workdir=workdir))
        >>> client.wait(job.id).exit_code
        0
        """
        archive = packed(Path(folder))
        hear = on_progress or (lambda done, total: None)
        body = {"digest": archive.digest, "size": len(archive.data), "format": "tar.gz"}
        begun = yield from self.ask(post("uploads/", Upload, body))
        yield from _sent(self, begun, archive, hear)
        return Workdir(archive=archive.digest)


def _sent(
    asker: Asker, upload: Upload, archive: PackedFolder, hear: Callable[[int, int], object]
) -> Flow[None]:
    """Part after part; after a broken connection the service says where to go on."""
    broken = 0
    while not upload.stored:
        hear(upload.offset, len(archive.data))
        place = f"uploads/{upload.id}/"
        try:
            upload = yield from ask(_part(place, upload, archive), asker.rules)
        except Unreachable:
            broken += 1
            if broken > BROKEN_MOST:
                raise
            upload = yield from ask(get(place, Upload), asker.following)
    hear(len(archive.data), len(archive.data))
    if upload.digest != archive.digest:
        raise FairwattError("The service stored another folder.", "Upload it again.")


def _part(place: str, upload: Upload, archive: PackedFolder) -> Call[Upload]:
    piece = archive.data[upload.offset : upload.offset + upload.part_bytes]
    query = {"offset": upload.offset}
    return Call("PATCH", place, Upload, query=query, body=piece, headers={"Content-Type": BYTES})
