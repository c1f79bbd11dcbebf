"""The ranges every message shares; a value outside is refused, never clipped by the reader."""

from typing import Annotated

from msgspec import Meta

# msgspec searches; a bound is about all of the text.
_BEGIN, _END = r"\A(?:", r")\Z"


def text(longest: int, pattern: str = r"[^\0]*") -> Meta:
    """Without a pattern anything that Postgres can store."""
    return Meta(max_length=longest, pattern=rf"{_BEGIN}{pattern}{_END}")


def bare_pattern(pattern: str) -> str:
    """As it was given to `text`, for people to read."""
    return pattern.removeprefix(_BEGIN).removesuffix(_END)


BIGGEST = 2**63 - 1  # what a Postgres bigint holds

Id = Annotated[int, Meta(ge=1, le=BIGGEST)]
Count = Annotated[int, Meta(ge=0, le=BIGGEST)]
Fence = Annotated[int, Meta(ge=1, le=BIGGEST)]
Millijoules = Annotated[int, Meta(ge=0, le=BIGGEST)]
Milliwatts = Annotated[int, Meta(ge=0, le=10_000_000)]  # 10 kW: no single GPU draws more
Watts = Annotated[int, Meta(ge=0, le=10_000)]
Megahertz = Annotated[int, Meta(ge=1, le=20_000)]
Mebibytes = Annotated[int, Meta(ge=0, le=2**26)]  # 64 TiB
Seconds = Annotated[float, Meta(ge=0, le=10**9)]
Interval = Annotated[float, Meta(ge=0, le=3600)]
Lease = Annotated[float, Meta(ge=0.1, le=7 * 24 * 3600)]
Cpus = Annotated[int, Meta(ge=0, le=4096)]
ExitCode = Annotated[int, Meta(ge=0, le=255)]
Signal = Annotated[int, Meta(ge=1, le=64)]

Uuid = Annotated[str, text(96, r"[A-Za-z0-9][A-Za-z0-9-]*")]
BootId = Annotated[str, text(64, r"[0-9A-Za-z-]{1,64}")]
Slug = Annotated[str, text(64, r"[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?")]
TypeName = Annotated[str, text(64, r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")]
Key = Annotated[str, text(64, r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")]
Token = Annotated[str, text(256, r"[A-Za-z0-9_.~-]{8,256}")]
Short = Annotated[str, text(200)]
Detail = Annotated[str, text(2000)]

MAX_GPUS = 64  # a node's free GPUs are one 64-bit mask in the service
MAX_ATTEMPTS = 256
