"""What a probe found out."""

from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "warning", "failed"]


@dataclass(frozen=True, slots=True)
class ProbeResult:
    status: Status
    detail: str
    next_step: str = ""
    """What whoever installs should do; nothing where all is well."""


def ok(detail: str) -> ProbeResult:
    return ProbeResult("ok", detail)


def warning(detail: str, next_step: str) -> ProbeResult:
    return ProbeResult("warning", detail, next_step)


def failed(detail: str, next_step: str) -> ProbeResult:
    return ProbeResult("failed", detail, next_step)
