"""Logs come in from where they left off, up to a cap, and are read by their tenant."""

from typing import Any

import pytest
from django.conf import LazySettings, settings

from agent.wire import LogOffset, LogPiece, Logs, LogsTaken, Stream
from engines.agents.log_intake import TAIL_BYTES, logs_take
from engines.agents.stale import StaleEpoch
from jobs.logs import page
from jobs.models import Log, LogChunk
from scheduler_service.factories import NOW
from tests.energy.ledger.attempts import Metered
from tests.energy.telemetry.readings import sender
from tests.engines.agents.nodes import join

pytestmark = pytest.mark.django_db


@pytest.fixture
def metered() -> Metered:
    return Metered.place()


def _send(metered: Metered, *chunks: tuple[int, bytes, bool], fence: int = 0) -> LogsTaken:
    wanted = metered.wanted
    sent = tuple(
        LogPiece(wanted.attempt_id, fence or wanted.fence, Stream.STDOUT, offset, data, final)
        for offset, data, final in chunks
    )
    return logs_take(sender(metered.agent.node), Logs(metered.agent.epoch, sent), now=NOW)


def _answer(metered: Metered, *chunks: tuple[int, bytes, bool], fence: int = 0) -> tuple[int, bool]:
    offset: LogOffset = _send(metered, *chunks, fence=fence).offsets[-1]
    return offset.offset, offset.closed


def _text() -> str:
    return page(Log.objects.get(), offset=0, limit=10**9).text


def test_chunks_follow_one_another(metered: Metered) -> None:
    assert _answer(metered, (0, b"one ", False)) == (4, False)
    assert _answer(metered, (4, b"two", False)) == (7, False)
    assert _answer(metered, (7, b"", True)) == (7, True)
    assert _text() == "one two"


def test_what_is_known_is_not_taken_twice(metered: Metered) -> None:
    _send(metered, (0, b"one two", False))
    assert _answer(metered, (0, b"one two", False)) == (7, False)
    assert _answer(metered, (4, b"two three", False)) == (13, False)
    assert _text() == "one two three"


def test_a_hole_sends_the_agent_back(metered: Metered) -> None:
    _send(metered, (0, b"one", False))
    assert _answer(metered, (10, b"later", True)) == (3, False)
    assert _text() == "one"


def test_small_additions_share_a_row(metered: Metered) -> None:
    for number in range(100):
        _send(metered, (number * 10, b"ten bytes\n", False))
    assert LogChunk.objects.count() == 1
    _send(metered, (1000, b"x" * 5000, False))
    _send(metered, (6000, b"y" * 10, False))
    assert LogChunk.objects.count() == 2
    assert _text() == "ten bytes\n" * 100 + "x" * 5000 + "y" * 10


def test_a_flood_ends_at_the_cap(metered: Metered, settings: LazySettings) -> None:
    settings.LOG_CAP_BYTES = 100_000
    most, offset, closed = 100_000 + TAIL_BYTES, 0, False
    while not closed:
        offset, closed = _answer(metered, (offset, b"z" * 65_536, False))
    assert offset == Log.objects.get().size == most
    assert _answer(metered, (offset, b"more", False)) == (most, True)
    assert sum(len(chunk.data) for chunk in LogChunk.objects.all()) == most


@pytest.mark.parametrize("lie", ["fence", "attempt", "node"])
def test_logs_of_others_attempts_are_not_wanted(metered: Metered, lie: str) -> None:
    wanted = metered.wanted
    attempt = wanted.attempt_id + (lie == "attempt")
    fence = wanted.fence + (lie == "fence")
    node = join(metered.job.cluster, "n2").node if lie == "node" else metered.agent.node
    chunk = LogPiece(attempt, fence, Stream.STDERR, 0, b"forged")
    taken = logs_take(sender(node), Logs(node.epoch, (chunk,)), now=NOW)

    assert taken.offsets == (LogOffset(attempt, Stream.STDERR, 0, closed=True),)
    assert not Log.objects.exists()


def test_an_older_epoch_is_fenced(metered: Metered) -> None:
    with pytest.raises(StaleEpoch):
        logs_take(sender(metered.agent.node), Logs(metered.agent.epoch + 1, ()), now=NOW)


def test_last_words_come_after_the_end(metered: Metered) -> None:
    metered.start()
    metered.end()
    assert metered.job.state == "succeeded"
    assert _answer(metered, (0, b"goodbye", True)) == (7, True)


def test_a_stream_without_a_byte_is_closed_and_stays_so(metered: Metered) -> None:
    assert _answer(metered, (0, b"", True)) == (0, True)
    assert _answer(metered, (0, b"", True)) == (0, True)
    assert (_text(), Log.objects.get().closed) == ("", True)


def test_an_agent_that_forgot_what_it_sent_closes_the_stream_where_it_ended(
    metered: Metered,
) -> None:
    """Its file is gone; what was printed is not."""
    _send(metered, (0, b"one", False))
    assert _answer(metered, (0, b"", True)) == (3, True)
    assert _text() == "one"


def test_pages_never_cut_a_letter_in_two(metered: Metered) -> None:
    text = "größe → ж 🙂 " * 50
    _send(metered, (0, text.encode(), True))
    log, read, offset = Log.objects.get(), "", 0
    while offset < log.size:
        shown = page(log, offset=offset, limit=7)
        assert shown.next_offset > offset
        read, offset = read + shown.text, shown.next_offset
    assert read == text


def test_bytes_that_are_no_text_are_shown_as_such(metered: Metered) -> None:
    _send(metered, (0, b"\xff\xfe ok \xf0\x9f", True))
    assert _text() == "\ufffd\ufffd ok \ufffd"


def test_pages_reach_over_chunks(metered: Metered) -> None:
    data = bytes(range(32, 127)) * 200
    for first in range(0, len(data), 5000):
        _send(metered, (first, data[first : first + 5000], False))
    log = Log.objects.get()
    assert LogChunk.objects.count() > 2
    for offset in (0, 1, 4999, 5000, 9_990, len(data) - 1):
        assert page(log, offset=offset, limit=6000).text.encode() == data[offset : offset + 6000]
    assert page(log, offset=10**9, limit=5).text == ""


def test_a_gigabyte_is_turned_away_at_the_cost_of_a_few_reads(
    metered: Metered, django_assert_max_num_queries: Any
) -> None:
    """The cap is kept as it is in production; what comes beyond is neither stored nor locked."""
    offset, closed = 0, False
    while not closed:
        offset, closed = _answer(
            metered, *((offset + n * 65_536, b"z" * 65_536, False) for n in range(16))
        )
    most = settings.LOG_CAP_BYTES + TAIL_BYTES
    assert offset == most
    beyond = [(most + n * 65_536, b"z" * 65_536, False) for n in range(16)]

    # A message holds a megabyte at most: a thousand of these are a gigabyte.
    with django_assert_max_num_queries(8):
        assert _answer(metered, *beyond) == (most, True)

    assert Log.objects.get().size == most
    assert sum(len(chunk.data) for chunk in LogChunk.objects.all()) == most
