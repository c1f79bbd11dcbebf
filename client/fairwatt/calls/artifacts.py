"""Artifacts: what jobs leave behind, listed and downloaded."""

import hashlib
from collections.abc import Callable
from pathlib import Path

from fairwatt.call import Call, Flow, Pause, Stream, get
from fairwatt.errors import FairwattError
from fairwatt.operation import Asker, procedure, stream
from fairwatt.pages import Page, all_pages
from fairwatt.retry import ask
from fairwatt.structs.artifacts import Artifact
from fairwatt.structs.words import ArtifactState

PART_BYTES = 8 * 2**20
LOOK_S = 1.0
BYTES = "application/octet-stream"


class ArtifactCalls(Asker):
    @stream
    def artifacts(self, job_id: int) -> Stream[Artifact]:
        """What a job left behind, the newest attempt first; some may still be on their way.

        >>> [artifact.name for artifact in client.artifacts(done.id)]
        ['greeting']
        """
        return all_pages(self.rules, f"jobs/{job_id}/artifacts/", Page[Artifact], {})

    @procedure
    def download_artifact(
        self,
        artifact: Artifact,
        to: str | Path,
        *,
        on_progress: Callable[[int, int], object] | None = None,
    ) -> Flow[Path]:
        """Write an artifact to a file, or into a folder; what came before is gone on with.

        One that its node is still sending is waited for. `on_progress` hears how many bytes of how
        many are there.

        >>> artifact = next(client.artifacts(done.id))
        >>> client.download_artifact(artifact, folder).read_text()
        'hello\\n'
        """
        there = yield from _sent(self, artifact)
        target = Path(to) / there.file_name if Path(to).is_dir() else Path(to)
        part = target.with_name(f"{target.name}.part")
        size, hear = there.size or 0, on_progress or (lambda done, total: None)
        done = min(part.stat().st_size, size) if part.exists() else 0
        with part.open("ab") as file:
            file.truncate(done)
            while done < size:
                hear(done, size)
                done += file.write((yield from self.ask(_range(there, done, size))))
        if _digest(part) != there.digest:
            part.unlink()
            raise FairwattError(f"{there.name} came damaged.", "Download it again.")
        part.replace(target)
        return target


def _sent(asker: Asker, artifact: Artifact) -> Flow[Artifact]:
    """Once its node has sent it."""
    while artifact.state is ArtifactState.PENDING:
        artifact = yield from ask(get(f"artifacts/{artifact.id}/", Artifact), asker.following)
        if artifact.state is ArtifactState.PENDING:
            yield Pause(LOOK_S)
    if artifact.state is not ArtifactState.STORED:
        why = f"There is no artifact {artifact.name} of {artifact.node}: {artifact.detail}"
        raise FairwattError(f"{why.rstrip('.')}.", f"`fairwatt logs {artifact.job_id}` may tell.")
    return artifact


def _range(artifact: Artifact, start: int, size: int) -> Call[bytes]:
    last = min(start + PART_BYTES, size) - 1
    headers = {"Range": f"bytes={start}-{last}", "Accept": BYTES}
    return Call("GET", f"artifacts/{artifact.id}/content/", bytes, headers=headers)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
