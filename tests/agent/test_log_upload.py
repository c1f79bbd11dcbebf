"""Log upload: the offset the service acknowledges rules, wherever it points."""

from pathlib import Path

import pytest

from agent.talk.log_upload import LogSource, LogUpload
from agent.wire import MAX_CHUNK_BYTES, MAX_CHUNKS, AttemptRef, LogOffset, LogsTaken, Stream

REF = AttemptRef(7, 70)


@pytest.fixture
def source(tmp_path: Path) -> LogSource:
    (tmp_path / "stdout.log").write_bytes(b"0123456789")
    (tmp_path / "stderr.log").write_bytes(b"")
    return LogSource(REF, tmp_path, ended=False)


def answer(offset: int, closed: bool = False) -> LogsTaken:
    return LogsTaken((LogOffset(7, Stream.STDOUT, offset, closed),))


def test_what_is_acknowledged_is_not_sent_again(source: LogSource) -> None:
    upload = LogUpload()
    (chunk,) = upload.chunks([source])
    assert (chunk.offset, chunk.data, chunk.final) == (0, b"0123456789", False)
    upload.taken((chunk,), answer(10))
    assert upload.chunks([source]) == ()
    (source.directory / "stdout.log").write_bytes(b"0123456789ab")
    (chunk,) = upload.chunks([source])
    assert (chunk.offset, chunk.data) == (10, b"ab")


@pytest.mark.parametrize(("offset", "data"), [(4, b"456789"), (0, b"0123456789")])
def test_the_service_may_ask_again_from_anywhere(
    source: LogSource, offset: int, data: bytes
) -> None:
    upload = LogUpload()
    sent = upload.chunks([source])
    upload.taken(sent, answer(offset))
    (chunk,) = upload.chunks([source])
    assert (chunk.offset, chunk.data) == (offset, data)


def test_an_offset_past_the_end_sends_nothing_that_is_not_there(source: LogSource) -> None:
    upload = LogUpload()
    upload.taken(upload.chunks([source]), answer(5000))
    assert upload.chunks([source]) == ()


def test_an_answer_that_never_came_means_the_same_chunk_again(source: LogSource) -> None:
    upload = LogUpload()
    assert upload.chunks([source]) == upload.chunks([source])


def test_an_ended_attempt_closes_both_streams_with_a_final_chunk(source: LogSource) -> None:
    upload = LogUpload()
    over = LogSource(REF, source.directory, ended=True)
    sent = upload.chunks([over])
    assert [(chunk.stream, chunk.data, chunk.final) for chunk in sent] == [
        (Stream.STDOUT, b"0123456789", True),
        (Stream.STDERR, b"", True),
    ]
    assert not upload.finished(REF)
    offsets = (LogOffset(7, Stream.STDOUT, 10), LogOffset(7, Stream.STDERR, 0))
    upload.taken(sent, LogsTaken(offsets))
    assert upload.finished(REF)
    assert upload.chunks([over]) == ()


def test_a_final_chunk_not_taken_whole_comes_again(source: LogSource) -> None:
    upload = LogUpload()
    over = LogSource(REF, source.directory, ended=True)
    upload.taken(upload.chunks([over]), answer(3))
    assert not upload.finished(REF)
    chunk = upload.chunks([over])[0]
    assert (chunk.offset, chunk.final) == (3, True)


def test_an_attempt_that_never_printed_closes_too(tmp_path: Path) -> None:
    sent = LogUpload().chunks([LogSource(REF, tmp_path, ended=True)])
    assert [(chunk.data, chunk.final) for chunk in sent] == [(b"", True)] * 2


def test_a_closed_stream_is_left_alone(source: LogSource) -> None:
    upload = LogUpload()
    upload.taken(upload.chunks([source]), answer(2, closed=True))
    assert upload.chunks([source]) == ()


def test_requests_are_bounded(tmp_path: Path) -> None:
    sources = []
    for number in range(1, 20):
        directory = tmp_path / str(number)
        directory.mkdir()
        (directory / "stdout.log").write_bytes(b"x" * (MAX_CHUNK_BYTES + 1))
        sources.append(LogSource(AttemptRef(number, 1), directory, ended=False))
    chunks = LogUpload().chunks(sources)
    assert len(chunks) == MAX_CHUNKS
    assert max(len(chunk.data) for chunk in chunks) == MAX_CHUNK_BYTES
