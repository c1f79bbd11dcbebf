"""The messages between agent and service: the one thing of the agent that the service imports."""

from agent.wire.bounds import MAX_ATTEMPTS, MAX_GPUS
from agent.wire.encoding import decode, decode_answer, encode
from agent.wire.logs import (
    MAX_CHUNK_BYTES,
    MAX_CHUNKS,
    LogChunk,
    LogOffset,
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
    Gang,
    GpuStatus,
    Power,
    Problem,
    Speed,
    State,
    Sync,
)
from agent.wire.telemetry import MAX_SAMPLES, HostReading, Sample, Telemetry, TelemetryTaken

REGISTER_PATH = "/api/v1/agent/register"
SYNC_PATH = "/api/v1/agent/sync"
TELEMETRY_PATH = "/api/v1/agent/telemetry"
LOGS_PATH = "/api/v1/agent/logs"

# The largest body of a request the agent sends; the service may refuse anything longer unread.
MAX_BODY_BYTES = 2 * 2**20

__all__ = [
    "LOGS_PATH",
    "MAX_ATTEMPTS",
    "MAX_BODY_BYTES",
    "MAX_CHUNKS",
    "MAX_CHUNK_BYTES",
    "MAX_GPUS",
    "MAX_SAMPLES",
    "NODE_TOKEN_PREFIX",
    "REGISTER_PATH",
    "SYNC_PATH",
    "TELEMETRY_PATH",
    "AgentMessage",
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
    "Gang",
    "GpuInventory",
    "GpuStatus",
    "HostReading",
    "Inventory",
    "LogChunk",
    "LogOffset",
    "Logs",
    "LogsTaken",
    "MemoryLimit",
    "NumaNode",
    "Power",
    "Problem",
    "Register",
    "Registered",
    "Sample",
    "ServiceMessage",
    "Speed",
    "State",
    "Stream",
    "Sync",
    "Telemetry",
    "TelemetryTaken",
    "WireError",
    "decode",
    "decode_answer",
    "encode",
]
