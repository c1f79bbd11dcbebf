"""The two refusals an agent acts upon, as fields of the service's problem+json."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from agent.wire.bounds import MAX_ATTEMPTS, Detail, Short
from agent.wire.codec import Items
from agent.wire.sync import AttemptRef


class Code(StrEnum):
    STALE_EPOCH = "stale_epoch"  # another agent has registered as this node: stop all and leave
    STALE_FENCE = "stale_fence"  # the attempts in `stale` are no longer this node's: kill them


@dataclass(frozen=True, slots=True)
class Problem:
    """Whatever else the problem document says is for people."""

    code: Short = ""
    title: Short = ""
    detail: Detail = ""
    stale: Annotated[tuple[AttemptRef, ...], Items(MAX_ATTEMPTS)] = ()
