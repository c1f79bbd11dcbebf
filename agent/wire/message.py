"""What every message is: a frozen struct whose annotations hold its bounds."""

from msgspec import Struct


class WireError(ValueError):
    """A message that does not hold to the protocol; `pointer` is the JSON pointer of the fault."""

    def __init__(self, pointer: str, problem: str) -> None:
        super().__init__(f"{pointer or '/'}: {problem}")
        self.pointer = pointer
        self.problem = problem


class AgentMessage(Struct, frozen=True, forbid_unknown_fields=True):
    """Said by an agent: a field nobody knows is refused, for it may be a misspelt one."""


class ServiceMessage(Struct, frozen=True):
    """Said by the service: unknown fields are ignored, so that the service is upgraded first."""
