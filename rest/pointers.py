"""RFC 6901 JSON pointers: where in the body something is."""

from collections.abc import Iterable


def pointer(parts: Iterable[str | int]) -> str:
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in parts)
