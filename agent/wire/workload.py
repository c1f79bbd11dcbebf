"""What an attempt brings along and leaves behind: code, volumes, secrets, limits, artifacts."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from agent.wire.bounds import (
    COMMIT,
    ENV_NAME,
    FILE_NAME,
    GIT_URL,
    LONGEST_ENV_NAME,
    LONGEST_FILE_NAME,
    LONGEST_PATH,
    LONGEST_SECRET,
    LONGEST_URL,
    MAX_BLOB_BYTES,
    RELATIVE_PATH,
    AbsolutePath,
    Count,
    Fence,
    Id,
    Short,
    Slug,
    text,
)
from agent.wire.message import AgentMessage, ServiceMessage, WireError

Digest = Annotated[str, text(64, r"[0-9a-f]{64}")]
Bytes = Annotated[int, Meta(ge=0, le=MAX_BLOB_BYTES)]
SecretText = Annotated[str, text(LONGEST_SECRET)]
# Below the working directory; that it stays there is checked on the node too, after links.
RelativePath = Annotated[str, text(LONGEST_PATH, RELATIVE_PATH)]
FileName = Annotated[str, text(LONGEST_FILE_NAME, FILE_NAME)]
Variable = Annotated[str, text(LONGEST_ENV_NAME, ENV_NAME)]


class Processes(StrEnum):
    """How many processes an attempt is, whatever nodes it lies on."""

    ONE = "one"
    PER_NODE = "per_node"
    PER_GPU = "per_gpu"


class ArchiveFormat(StrEnum):
    TAR_GZ = "tar.gz"
    ZIP = "zip"


class Archive(ServiceMessage, frozen=True):
    """Fetched from WORKDIR_PATH; the agent checks size and digest before it unpacks."""

    digest: Digest  # SHA-256
    size: Bytes
    format: ArchiveFormat = ArchiveFormat.TAR_GZ


class GitCommit(ServiceMessage, frozen=True):
    """Cloned by the node; the commit is the whole object name, so that it cannot move."""

    url: Annotated[str, text(LONGEST_URL, GIT_URL)]
    commit: Annotated[str, text(64, COMMIT)]


class Workdir(ServiceMessage, frozen=True):
    """What the working directory holds when the attempt starts: one of the two."""

    archive: Archive | None = None
    git: GitCommit | None = None

    def __post_init__(self) -> None:
        if (self.archive is None) == (self.git is None):
            raise WireError("", "an archive or a git commit, not both")


class Mount(ServiceMessage, frozen=True):
    """A volume: `path` on the node, seen by the attempt at `target`."""

    name: Slug
    path: AbsolutePath
    target: AbsolutePath
    read_only: bool = True


class ArtifactPath(ServiceMessage, frozen=True):
    """A file or folder below the working directory that is kept after the end."""

    name: FileName
    path: RelativePath


class SecretValue(ServiceMessage, frozen=True):
    """Given as a variable, or as a file in the folder that FAIRWATT_SECRETS_DIR names."""

    name: Slug
    value: SecretText
    variable: Variable | None = None
    file: FileName | None = None

    def __post_init__(self) -> None:
        if (self.variable is None) == (self.file is None):
            raise WireError("", "a variable or a file, not both")


class ArtifactPart(AgentMessage, frozen=True):
    """The query of a PUT to ARTIFACT_PATH, whose body are the bytes from `offset` on.

    The answer's offset rules, as with logs. `fault` says why there is nothing to send; then there
    is no body, and the artifact is closed.
    """

    epoch: Id
    fence: Fence
    offset: Count = 0
    size: Bytes = 0  # of the whole artifact
    digest: Digest | None = None
    packed: bool = False  # a folder, as tar.gz
    fault: Short = ""

    def __post_init__(self) -> None:
        if (self.digest is None) != bool(self.fault):
            raise WireError("/digest", "given unless there is a fault")
        if self.offset > self.size:
            raise WireError("/offset", "above size")


class ArtifactTaken(ServiceMessage, frozen=True):
    """The next byte the service wants; `closed`: it wants no more, and `detail` may say why."""

    offset: Count
    closed: bool = False
    detail: Short = ""
