"""What is wrong with a given value, and where: the shape of an entry in a problem's `errors`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ValueFault:
    code: str
    pointer: str
    message: str


def pointer(*parts: str | int) -> str:
    """RFC 6901: `/` separates, so `~` and `/` inside a part are escaped."""
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in parts)
