"""The ranges every message shares; a value outside is refused, never clipped by the reader."""

from typing import Annotated

from agent.wire.codec import Range, Text

BIGGEST = 2**63 - 1  # what a Postgres bigint holds

Id = Annotated[int, Range(1, BIGGEST)]
Count = Annotated[int, Range(0, BIGGEST)]
Fence = Annotated[int, Range(1, BIGGEST)]
Millijoules = Annotated[int, Range(0, BIGGEST)]
Milliwatts = Annotated[int, Range(0, 10_000_000)]  # 10 kW: no single GPU draws more
Watts = Annotated[int, Range(0, 10_000)]
Megahertz = Annotated[int, Range(1, 20_000)]
Mebibytes = Annotated[int, Range(0, 2**26)]  # 64 TiB
Seconds = Annotated[float, Range(0, 10**9)]
Interval = Annotated[float, Range(0, 3600)]
Lease = Annotated[float, Range(0.1, 7 * 24 * 3600)]
Cpus = Annotated[int, Range(0, 4096)]
ExitCode = Annotated[int, Range(0, 255)]
Signal = Annotated[int, Range(1, 64)]

Uuid = Annotated[str, Text(96, r"[A-Za-z0-9][A-Za-z0-9-]*")]
BootId = Annotated[str, Text(64, r"[0-9A-Za-z-]{1,64}")]
Slug = Annotated[str, Text(64, r"[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?")]
TypeName = Annotated[str, Text(64, r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")]
Key = Annotated[str, Text(64, r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")]
Token = Annotated[str, Text(256, r"[A-Za-z0-9_.~-]{8,256}")]
Short = Annotated[str, Text(200)]
Detail = Annotated[str, Text(2000)]

MAX_GPUS = 64  # a node's free GPUs are one 64-bit mask in the service
MAX_ATTEMPTS = 256
