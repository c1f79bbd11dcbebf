"""The journal and the book over it: what was promised is found again after any crash."""

import json
from pathlib import Path

import pytest

from agent import book as books
from agent.book import Book, Ended, Held, double_holds
from agent.journal import Journal, JournalBrokenError
from agent.wire import AttemptRef, AttemptReport, DesiredAttempt, End, State
from tests.agent.conftest import attempt

REF = AttemptRef(7, 70)


def held(wanted: DesiredAttempt | None = None) -> Held:
    return Held(wanted or attempt(), "boot", 10.0, frozenset({0, 1}), {"GPU-a": 5})


def ended(ref: AttemptRef = REF) -> Ended:
    report = AttemptReport(ref.attempt_id, ref.fence, State.ENDED, end=End.EXITED, exit_code=3)
    return Ended(report, "boot", 20.0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


def test_what_was_held_is_found_again(path: Path) -> None:
    Book(Journal(path)).hold(held())
    assert Book(Journal(path)).held == {REF: held()}


def test_an_end_is_told_until_acknowledged_and_then_kept_as_a_name_only(path: Path) -> None:
    book = Book(Journal(path))
    book.hold(held())
    book.release(ended())
    again = Book(Journal(path))
    assert again.held == {}
    assert again.ended == {REF: ended()}
    again.ack(REF)
    again.ack(REF)
    assert Book(Journal(path)).ended[REF].acked
    again.forget(REF)
    last = Book(Journal(path))
    assert last.ended == {}
    assert last.known(REF)
    assert not last.known(AttemptRef(7, 71))


def test_an_end_ages_on_the_boot_clock_and_loses_its_age_with_the_boot() -> None:
    assert ended().report_at("boot", 25.0).ended_age_s == 5.0
    assert ended().report_at("next boot", 25.0).ended_age_s is None


def test_compacting_keeps_what_counts_and_the_story_beside_it(path: Path) -> None:
    journal = Journal(path)
    book = Book(journal)
    for number in range(1, 50):
        ref = AttemptRef(number, number)
        book.hold(held(attempt(attempt_id=number, fence=number)))
        book.release(ended(ref))
        book.ack(ref)
        book.forget(ref)
    book.hold(held())
    lines_before = path.read_text().count("\n")
    journal.compact(book.entries())
    again = Book(Journal(path))
    assert (again.held, again.ended) == (book.held, book.ended)
    assert all(again.known(AttemptRef(number, number)) for number in range(1, 50))
    assert path.with_name("journal.1.jsonl").read_text().count("\n") == lines_before
    assert journal.lines == 50
    book.note("start", REF, pid=1)
    assert path.read_text().count("\n") == 51


def test_the_names_of_the_forgotten_are_bounded(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(books, "TOMBSTONES", 3)
    book = Book(Journal(path))
    for number in range(1, 6):
        book.forget(AttemptRef(number, 1))
    assert [book.known(AttemptRef(number, 1)) for number in range(1, 6)] == [False] * 2 + [True] * 3


def test_a_line_torn_by_a_crash_was_never_promised(path: Path) -> None:
    book = Book(Journal(path))
    book.hold(held())
    with path.open("ab") as file:
        file.write(b'{"event": "release", "rep')
    again = Book(Journal(path))
    assert again.held == {REF: held()}
    again.release(ended())
    assert Book(Journal(path)).ended == {REF: ended()}


def test_rubbish_in_the_middle_is_not_guessed_at(path: Path) -> None:
    path.write_bytes(b'{"event": "note"}\nrubbish\n{"event": "note"}\n')
    with pytest.raises(JournalBrokenError, match="line 2 cannot be read"):
        Journal(path)


def test_a_gpu_in_two_hands_would_be_seen(path: Path) -> None:
    book = Book(Journal(path))
    book.hold(held())
    book.hold(held())
    assert double_holds(map(json.loads, path.read_text().splitlines())) == []
    book.hold(held(attempt(attempt_id=8, fence=71)))
    assert len(double_holds(map(json.loads, path.read_text().splitlines()))) == 1
