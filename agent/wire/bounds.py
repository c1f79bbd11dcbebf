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
# What jobs give: the service refuses at submit what an agent could not read.
IMAGE = r"[A-Za-z0-9][A-Za-z0-9._:/@-]*"
ENV_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
MOST_ARGUMENTS, LONGEST_ARGUMENT, LONGEST_IMAGE, LONGEST_ENV_NAME = 1024, 32_768, 512, 256
# No dot first and no slash: it is a name in a folder, never a way out of it.
FILE_NAME = r"[A-Za-z0-9_][A-Za-z0-9._-]*"
# Neither empty, `.` nor `..` between two slashes, and neither root nor working directory itself.
_STEP = r"(?!\.{1,2}(?:/|$))[A-Za-z0-9._@+-]+"
ABSOLUTE_PATH = rf"(?:/{_STEP})+"
RELATIVE_PATH = rf"{_STEP}(?:/{_STEP})*"
LONGEST_FILE_NAME, LONGEST_PATH, LONGEST_URL, LONGEST_SECRET = 128, 1024, 2048, 65_536
MOST_MOUNTS, MOST_ARTIFACTS, MOST_SECRETS = 32, 32, 64
COMMIT = r"[0-9a-f]{40}(?:[0-9a-f]{24})?"
# No name and password in it: those would stand in every listing.
GIT_URL = r"https?://[A-Za-z0-9][A-Za-z0-9._:-]*/[A-Za-z0-9._~/+-]+"
AbsolutePath = Annotated[str, text(LONGEST_PATH, ABSOLUTE_PATH)]
Short = Annotated[str, text(200)]
Detail = Annotated[str, text(2000)]

MAX_GPUS = 64  # a node's free GPUs are one 64-bit mask in the service
MAX_ATTEMPTS = 256
MAX_BLOB_BYTES = 2**40  # 1 TiB; a setting of the service is far below
MAX_RANK = 2**20
