"""Messages to JSON and back; whatever breaks the protocol is a `WireError` that names the place."""

import json
from functools import cache
from typing import Any, TypeVar

import msgspec

from agent.wire.faults import check
from agent.wire.message import ServiceMessage, WireError

Message = TypeVar("Message")
Answer = TypeVar("Answer", bound=ServiceMessage)

_encoder = msgspec.json.Encoder()


def encode(message: Any) -> bytes:
    return _encoder.encode(message)


def decode(kind: type[Message], body: bytes) -> Message:
    """A message, or a `WireError`."""
    hint: Any = kind
    try:
        message: Message = _decoder(hint).decode(body)
    except (ValueError, RecursionError) as error:
        check(kind, _plain(body))
        raise WireError("", f"not JSON: {error}") from None
    # Of two equal names msgspec takes the last. A body that is written the same again has none.
    if encode(message) != body:
        _plain(body)
    return message


def decode_answer(kind: type[Answer], body: bytes) -> Answer:
    """What the service says to an agent that may be older than it."""
    return decode(kind, body)


@cache
def _decoder(hint: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(hint)


def _plain(body: bytes) -> Any:
    try:
        return json.loads(body, object_pairs_hook=_object, parse_constant=_no_constant)
    except WireError:
        raise
    except (ValueError, RecursionError) as error:
        raise WireError("", f"not JSON: {error}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = dict(pairs)
    if len(names) != len(pairs):
        raise WireError("", "a name occurs twice in one object")
    return names


def _no_constant(name: str) -> float:
    raise WireError("", f"{name} is not a number here")
