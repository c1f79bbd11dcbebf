"""Messages to JSON and back; whatever breaks the protocol is a `WireError` that names the place."""

import json
from functools import cache
from typing import Any, NamedTuple, TypeVar

import msgspec

from agent.wire.faults import check
from agent.wire.message import ServiceMessage, WireError
from agent.wire.sync import AttemptRef, Desired, DesiredAttempt

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


class Unreadable(NamedTuple):
    """An attempt that this agent cannot make out, and why."""

    ref: AttemptRef
    why: str


def decode_desired(body: bytes) -> tuple[Desired, tuple[Unreadable, ...]]:
    """One attempt that cannot be read must not make the node deaf to all the others."""
    try:
        return decode(Desired, body), ()
    except WireError:
        plain = _plain(body)
        if not isinstance(plain, dict) or not isinstance(plain.get("attempts"), list):
            raise
    readable, unreadable = [], []
    for each in plain["attempts"]:
        try:
            check(DesiredAttempt, each)
        except WireError as error:
            unreadable.append(Unreadable(_ref_of(each), str(error)))
        else:
            readable.append(each)
    return decode(Desired, encode({**plain, "attempts": readable})), tuple(unreadable)


def _ref_of(attempt: Any) -> AttemptRef:
    """Of one without even a number and a fence nothing can be said to the service."""
    check(AttemptRef, attempt)
    return AttemptRef(attempt["attempt_id"], attempt["fence"])


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
