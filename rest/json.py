"""JSON text to values and back, refusing what a database or a reader would stumble over."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import IO, Any

import msgspec
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from rest.pointers import pointer

MAX_DEPTH = 64
_encode = msgspec.json.Encoder(decimal_format="string").encode
_decode = msgspec.json.Decoder().decode
# Matches every member's colon, and look-alikes inside texts: never too few.
_MEMBER = re.compile(rb'"[ \t\r\n]*:')
_PLAIN_ACCEPT = frozenset({"", "*/*", "application/json"})


class UnreadableError(Exception):
    """Why a text is not JSON that we accept."""

    def __init__(self, code: str, detail: str, at: str = "") -> None:
        super().__init__(detail)
        self.code, self.detail, self.at = code, detail, at


def encode(value: Any) -> bytes:
    """Decimals become strings, so that no reader rounds money; instants end in Z."""
    return _encode(value)


def decode(text: bytes) -> Any:
    try:
        value = _decode(text)
    except UnicodeDecodeError as error:
        raise UnreadableError("invalid_utf8", f"The body is not UTF-8: {error.reason}.") from None
    except msgspec.MsgspecError as error:
        raise UnreadableError("invalid_json", f"The body is not JSON: {error}.") from None
    except RecursionError:
        raise _too_deep("") from None
    if b"\\u0000" in text:
        _refuse_nul(value)
    if _members(value) < len(_MEMBER.findall(text)):
        _refuse_duplicates(text)
    return value


def _refuse_duplicates(text: bytes) -> None:
    """The exact and slow look, for the few texts in which counting colons was not enough."""

    def no_twins(pairs: list[tuple[str, Any]]) -> None:
        for name, times in Counter(name for name, _ in pairs).items():
            if times > 1:
                detail = f"An object in the body names the member {name!r} twice."
                raise UnreadableError("duplicate_key", detail)

    json.loads(text, object_pairs_hook=no_twins)


def _members(value: Any) -> int:
    """How many object members there are, refusing deep nesting on the way down."""
    members, level, depth = 0, [value], 0
    while level:
        depth += 1
        below: list[Any] = []
        for container in level:
            if type(container) is dict:
                members += len(container)
                below += [v for v in container.values() if type(v) is dict or type(v) is list]
            elif type(container) is list:
                below += [v for v in container if type(v) is dict or type(v) is list]
        if below and depth >= MAX_DEPTH:
            raise _too_deep("")
        level = below
    return members


def _too_deep(at: str) -> UnreadableError:
    return UnreadableError("too_deep", f"The body is nested deeper than {MAX_DEPTH} levels.", at)


def _refuse_nul(value: Any) -> None:
    for path, text in _strings(value, ()):
        if "\x00" in text:
            detail = "Text may not contain the character U+0000."
            raise UnreadableError("nul_character", detail, pointer(path))


def _strings(
    value: Any,
    path: tuple[str | int, ...],
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if len(path) > MAX_DEPTH:
        raise _too_deep("")
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield path, key
            yield from _strings(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _strings(item, (*path, index))


class JSONParser(BaseParser):
    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        # Django keeps `body`, which the idempotency digest reads again.
        return decode((parser_context or {})["request"]._request.body)


class JSONRenderer(BaseRenderer):
    media_type = "application/json"
    format = "json"
    charset = None
    render_style = "binary"

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        return b"" if data is None else encode(data)


class JSONNegotiation(DefaultContentNegotiation):
    """Content negotiation for a service that only speaks JSON."""

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[Any, str]:
        """What nearly every client sends is answered without parsing media types."""
        if request.META.get("HTTP_ACCEPT", "") in _PLAIN_ACCEPT:
            return renderers[0], renderers[0].media_type
        return super().select_renderer(request, renderers, format_suffix)  # type: ignore[no-any-return]

    def filter_renderers(self, renderers: Any, format: str) -> Any:  # noqa: A002
        """`?format=` means nothing here; strict parameters refuse it later."""
        return renderers
