"""The messages between agent and service: the one thing of the agent that the service imports."""

from agent.wire.bounds import MAX_ATTEMPTS, MAX_GPUS
from agent.wire.encoding import Unreadable, decode, decode_answer, decode_desired, encode
from agent.wire.logs import (
    MAX_CHUNK_BYTES,
    MAX_CHUNKS,
    LogOffset,
    LogPiece,
    Logs,
    LogsTaken,
    Stream,
)
from agent.wire.message import AgentMessage, ServiceMessage, WireError
from agent.wire.register import (
    NODE_TOKEN_PREFIX,
    ContainerTool,
    EnergyMethod,
    Features,
    GpuInventory,
    Inventory,
    MemoryLimit,
    NumaNode,
    Register,
    Registered,
    Wall,
)
from agent.wire.sync import (
    AttemptEnergy,
    AttemptRef,
    AttemptReport,
    Cancel,
    Code,
    Desired,
    DesiredAttempt,
    End,
    Fetched,
    Fetching,
    Gang,
    GpuStatus,
    Power,
    ReportedProblem,
    Speed,
    State,
    Sync,
)
from agent.wire.telemetry import MAX_SAMPLES, HostReading, SampleReport, Telemetry, TelemetryTaken
from agent.wire.workload import (
    Archive,
    ArchiveFormat,
    ArtifactPart,
    ArtifactPath,
    ArtifactTaken,
    GitCommit,
    Mount,
    Processes,
    SecretValue,
    Workdir,
)

REGISTER_PATH = "/api/v1/agent/register"
SYNC_PATH = "/api/v1/agent/sync"
TELEMETRY_PATH = "/api/v1/agent/telemetry"
LOGS_PATH = "/api/v1/agent/logs"
# Not a message: lines for as long as the agent listens, `ring` when it should sync at once.
BELL_PATH = "/api/v1/agent/bell"
# GET ?epoch=…&fence=…, with Range; PUT, with the fields of `ArtifactPart` as its query.
WORKDIR_PATH = "/api/v1/agent/attempts/{attempt_id}/workdir"
ARTIFACT_PATH = "/api/v1/agent/attempts/{attempt_id}/artifacts/{name}"

# The largest body of a request the agent sends; the service may refuse anything longer unread.
MAX_BODY_BYTES = 2 * 2**20
MAX_PART_BYTES = 2**20  # of an artifact, in one request

__all__ = [
    "ARTIFACT_PATH",
    "BELL_PATH",
    "LOGS_PATH",
    "MAX_ATTEMPTS",
    "MAX_BODY_BYTES",
    "MAX_CHUNKS",
    "MAX_CHUNK_BYTES",
    "MAX_GPUS",
    "MAX_PART_BYTES",
    "MAX_SAMPLES",
    "NODE_TOKEN_PREFIX",
    "REGISTER_PATH",
    "SYNC_PATH",
    "TELEMETRY_PATH",
    "WORKDIR_PATH",
    "AgentMessage",
    "Archive",
    "ArchiveFormat",
    "ArtifactPart",
    "ArtifactPath",
    "ArtifactTaken",
    "AttemptEnergy",
    "AttemptRef",
    "AttemptReport",
    "Cancel",
    "Code",
    "ContainerTool",
    "Desired",
    "DesiredAttempt",
    "End",
    "EnergyMethod",
    "Features",
    "Fetched",
    "Fetching",
    "Gang",
    "GitCommit",
    "GpuInventory",
    "GpuStatus",
    "HostReading",
    "Inventory",
    "LogOffset",
    "LogPiece",
    "Logs",
    "LogsTaken",
    "MemoryLimit",
    "Mount",
    "NumaNode",
    "Power",
    "Processes",
    "Register",
    "Registered",
    "ReportedProblem",
    "SampleReport",
    "SecretValue",
    "ServiceMessage",
    "Speed",
    "State",
    "Stream",
    "Sync",
    "Telemetry",
    "TelemetryTaken",
    "Unreadable",
    "Wall",
    "WireError",
    "Workdir",
    "decode",
    "decode_answer",
    "decode_desired",
    "encode",
]
