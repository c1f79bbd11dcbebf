"""Log upload: the offset the service acknowledges rules, wherever it points."""

from pathlib import Path

import pytest

from agent.logbook import Logbook, Source
from agent.wire import MAX_CHUNK_BYTES, MAX_CHUNKS, AttemptRef, LogOffset, LogsTaken, Stream

REF = AttemptRef(7, 70)


@pytest.fixture
def source(tmp_path: Path) -> Source:
    (tmp_path / "stdout.log").write_bytes(b"0123456789")
    (tmp_path / "stderr.log").write_bytes(b"")
    return Source(REF, tmp_path, ended=False)


def answer(offset: int, closed: bool = False) -> LogsTaken:
    return LogsTaken((LogOffset(7, Stream.STDOUT, offset, closed),))


def test_what_is_acknowledged_is_not_sent_again(source: Source) -> None:
    book = Logbook()
    (chunk,) = book.chunks([source])
    assert (chunk.offset, chunk.data, chunk.final) == (0, b"0123456789", False)
    book.taken((chunk,), answer(10))
    assert book.chunks([source]) == ()
    (source.directory / "stdout.log").write_bytes(b"0123456789ab")
    (chunk,) = book.chunks([source])
    assert (chunk.offset, chunk.data) == (10, b"ab")


@pytest.mark.parametrize(("offset", "data"), [(4, b"456789"), (0, b"0123456789")])
def test_the_service_may_ask_again_from_anywhere(source: Source, offset: int, data: bytes) -> None:
    book = Logbook()
    sent = book.chunks([source])
    book.taken(sent, answer(offset))
    (chunk,) = book.chunks([source])
    assert (chunk.offset, chunk.data) == (offset, data)


def test_an_offset_past_the_end_sends_nothing_that_is_not_there(source: Source) -> None:
    book = Logbook()
    book.taken(book.chunks([source]), answer(5000))
    assert book.chunks([source]) == ()


def test_an_answer_that_never_came_means_the_same_chunk_again(source: Source) -> None:
    book = Logbook()
    assert book.chunks([source]) == book.chunks([source])


def test_an_ended_attempt_closes_both_streams_with_a_final_chunk(source: Source) -> None:
    book = Logbook()
    over = Source(REF, source.directory, ended=True)
    sent = book.chunks([over])
    assert [(chunk.stream, chunk.data, chunk.final) for chunk in sent] == [
        (Stream.STDOUT, b"0123456789", True),
        (Stream.STDERR, b"", True),
    ]
    assert not book.finished(REF)
    offsets = (LogOffset(7, Stream.STDOUT, 10), LogOffset(7, Stream.STDERR, 0))
    book.taken(sent, LogsTaken(offsets))
    assert book.finished(REF)
    assert book.chunks([over]) == ()


def test_a_final_chunk_not_taken_whole_comes_again(source: Source) -> None:
    book = Logbook()
    over = Source(REF, source.directory, ended=True)
    book.taken(book.chunks([over]), answer(3))
    assert not book.finished(REF)
    chunk = book.chunks([over])[0]
    assert (chunk.offset, chunk.final) == (3, True)


def test_an_attempt_that_never_printed_closes_too(tmp_path: Path) -> None:
    sent = Logbook().chunks([Source(REF, tmp_path, ended=True)])
    assert [(chunk.data, chunk.final) for chunk in sent] == [(b"", True)] * 2


def test_a_closed_stream_is_left_alone(source: Source) -> None:
    book = Logbook()
    book.taken(book.chunks([source]), answer(2, closed=True))
    assert book.chunks([source]) == ()


def test_requests_are_bounded(tmp_path: Path) -> None:
    sources = []
    for number in range(1, 20):
        directory = tmp_path / str(number)
        directory.mkdir()
        (directory / "stdout.log").write_bytes(b"x" * (MAX_CHUNK_BYTES + 1))
        sources.append(Source(AttemptRef(number, 1), directory, ended=False))
    chunks = Logbook().chunks(sources)
    assert len(chunks) == MAX_CHUNKS
    assert max(len(chunk.data) for chunk in chunks) == MAX_CHUNK_BYTES
