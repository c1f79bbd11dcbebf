"""IANA time zones as spans of constant UTC offset."""

import zoneinfo
from bisect import bisect_left
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from zoneinfo import ZoneInfo

from policies.value_fault import ValueFault

# Offset changes lie weeks apart in every zone of our century; six hours leaves a wide margin.
PROBE_S = 6 * 3600
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@cache
def timezone_names() -> frozenset[str]:
    """Zones that mean the same everywhere: `localtime` is this host's, `Factory` nobody's."""
    return frozenset(zoneinfo.available_timezones() - {"localtime", "Factory"})


def validate_timezone(name: str) -> list[ValueFault]:
    if name in timezone_names():
        return []
    message = f"{name[:64]!a} is not an IANA time zone, such as Europe/Berlin."
    return [ValueFault("unknown_timezone", "/timezone", message)]


def utc_offset_s(zone: ZoneInfo, at_s: int) -> int:
    local_at = (EPOCH + timedelta(seconds=at_s)).astimezone(zone)
    return int((local_at.utcoffset() or timedelta()).total_seconds())


def offset_spans(zone: ZoneInfo, start_s: int, end_s: int) -> list[tuple[int, int, int]]:
    """[start_s, end_s) cut into (span start, span end, UTC offset), all in seconds."""
    starts, offsets = [start_s], [utc_offset_s(zone, start_s)]
    for low, high in pairwise([*range(start_s, end_s, PROBE_S), end_s]):
        if utc_offset_s(zone, high) == offsets[-1]:
            continue
        before = offsets[-1]
        change = low + bisect_left(
            range(low, high), True, key=lambda at_s: utc_offset_s(zone, at_s) != before
        )
        if change < end_s:
            starts.append(change)
            offsets.append(utc_offset_s(zone, change))
    return list(zip(starts, [*starts[1:], end_s], offsets, strict=True))
