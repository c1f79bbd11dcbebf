"""What jobs leave behind."""

from datetime import datetime

from msgspec import Struct

from fairwatt.structs.words import ArtifactState


class Artifact(Struct, frozen=True):
    """Of one node of an attempt; `pending` until the node has sent it."""

    id: int
    job_id: int
    attempt: int
    node: str
    name: str
    path: str
    file_name: str
    state: ArtifactState
    detail: str
    packed: bool
    size: int | None
    digest: str | None
    created_at: datetime
