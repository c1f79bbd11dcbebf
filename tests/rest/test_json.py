"""What counts as JSON here."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rest.json import MAX_DEPTH, UnreadableError, decode, encode


@pytest.mark.parametrize(
    ("text", "code", "at"),
    [
        (b"", "invalid_json", ""),
        (b"{", "invalid_json", ""),
        (b"{'a': 1}", "invalid_json", ""),
        (b"[NaN]", "invalid_json", ""),
        (b"[Infinity]", "invalid_json", ""),
        (b"1e400", "invalid_json", ""),
        (b"1" * 5000, "invalid_json", ""),
        (b'"\xff"', "invalid_utf8", ""),
        (b'"\xed\xa0\x80"', "invalid_utf8", ""),
        (b'["\\ud800 alone"]', "invalid_json", ""),
        (b'["\\udc00 alone"]', "invalid_json", ""),
        (b'["raw \x00 nul"]', "invalid_json", ""),
        (b'{"a": [1, "x\\u0000y"]}', "nul_character", "/a/1"),
        (b'{"a": {"k\\u0000": 1}}', "nul_character", "/a"),
        (b'{"a/b": {"c~d": "\\u0000"}}', "nul_character", "/a~1b/c~0d"),
        (b'{"a": 1, "a": 2}', "duplicate_key", ""),
        (b'[{"b": {"a": 1, "a" : 1}}]', "duplicate_key", ""),
    ],
)
def test_refused(text: bytes, code: str, at: str) -> None:
    with pytest.raises(UnreadableError) as refused:
        decode(text)
    assert (refused.value.code, refused.value.at) == (code, at)


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 500, 10_000, 1_000_000])
@pytest.mark.parametrize("pair", [(b"[", b"]"), (b'{"a":', b"}")])
def test_deep_nesting_is_refused_not_a_crash(depth: int, pair: tuple[bytes, bytes]) -> None:
    text = pair[0] * depth + b'"\\u0000"' + pair[1] * depth
    with pytest.raises(UnreadableError) as refused:
        decode(text)
    assert refused.value.code in {"too_deep", "nul_character"}


def test_the_deepest_allowed() -> None:
    text = b"[" * MAX_DEPTH + b"]" * MAX_DEPTH
    assert encode(decode(text)) == text


@pytest.mark.parametrize(
    "text",
    [b'{"a\\":": 1}', b'{"a": "\\":"}', b'{"a\\\\": 1}', b'["\\\\u0000"]', b'{"": {"": 0}}'],
)
def test_look_alikes_are_accepted(text: bytes) -> None:
    decode(text)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.text().filter(lambda t: "\x00" not in t and not any(0xD800 <= ord(c) < 0xE000 for c in t)),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text('ab\\":~/ '), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(json_values)
def test_round_trip(value: object) -> None:
    assert decode(encode(value)) == value


def test_money_and_time_are_written_exactly() -> None:
    at = datetime(2026, 1, 31, 8, 0, tzinfo=UTC)
    assert encode({"p": Decimal("0.10"), "at": at}) == b'{"p":"0.10","at":"2026-01-31T08:00:00Z"}'
