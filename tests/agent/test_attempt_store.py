"""The journal and the store over it: what was promised is found again after any crash."""

import json
from pathlib import Path

import pytest

from agent.remember import attempt_store
from agent.remember.attempt_store import AttemptStore, EndedAttempt, HeldAttempt, double_holds
from agent.remember.journal import Journal, JournalBrokenError
from agent.wire import AttemptRef, AttemptReport, DesiredAttempt, End, State
from tests.agent.conftest import attempt

REF = AttemptRef(7, 70)


def held(wanted: DesiredAttempt | None = None) -> HeldAttempt:
    return HeldAttempt(wanted or attempt(), "boot", 10.0, frozenset({0, 1}), {"GPU-a": 5})


def ended(ref: AttemptRef = REF) -> EndedAttempt:
    report = AttemptReport(ref.attempt_id, ref.fence, State.ENDED, end=End.EXITED, exit_code=3)
    return EndedAttempt(report, "boot", 20.0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


def test_what_was_held_is_found_again(path: Path) -> None:
    AttemptStore(Journal(path)).hold(held())
    assert AttemptStore(Journal(path)).held == {REF: held()}


def test_an_end_is_told_until_acknowledged_and_then_kept_as_a_name_only(path: Path) -> None:
    store = AttemptStore(Journal(path))
    store.hold(held())
    store.release(ended())
    again = AttemptStore(Journal(path))
    assert again.held == {}
    assert again.ended == {REF: ended()}
    again.ack(REF)
    again.ack(REF)
    assert AttemptStore(Journal(path)).ended[REF].acked
    again.forget(REF)
    last = AttemptStore(Journal(path))
    assert last.ended == {}
    assert last.known(REF)
    assert not last.known(AttemptRef(7, 71))


def test_an_end_ages_on_the_boot_clock_and_loses_its_age_with_the_boot() -> None:
    assert ended().report_at("boot", 25.0).ended_age_s == 5.0
    assert ended().report_at("next boot", 25.0).ended_age_s is None


def test_compacting_keeps_what_counts_and_the_story_beside_it(path: Path) -> None:
    journal = Journal(path)
    store = AttemptStore(journal)
    for number in range(1, 50):
        ref = AttemptRef(number, number)
        store.hold(held(attempt(attempt_id=number, fence=number)))
        store.release(ended(ref))
        store.ack(ref)
        store.forget(ref)
    store.hold(held())
    lines_before = path.read_text().count("\n")
    journal.compact(store.entries())
    again = AttemptStore(Journal(path))
    assert (again.held, again.ended) == (store.held, store.ended)
    assert all(again.known(AttemptRef(number, number)) for number in range(1, 50))
    assert path.with_name("journal.1.jsonl").read_text().count("\n") == lines_before
    assert journal.lines == 50
    store.note("start", REF, pid=1)
    assert path.read_text().count("\n") == 51


def test_the_names_of_the_forgotten_are_bounded(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempt_store, "TOMBSTONES", 3)
    store = AttemptStore(Journal(path))
    for number in range(1, 6):
        store.forget(AttemptRef(number, 1))
    known = [store.known(AttemptRef(number, 1)) for number in range(1, 6)]
    assert known == [False] * 2 + [True] * 3


def test_a_line_torn_by_a_crash_was_never_promised(path: Path) -> None:
    store = AttemptStore(Journal(path))
    store.hold(held())
    with path.open("ab") as file:
        file.write(b'{"event": "release", "rep')
    again = AttemptStore(Journal(path))
    assert again.held == {REF: held()}
    again.release(ended())
    assert AttemptStore(Journal(path)).ended == {REF: ended()}


def test_rubbish_in_the_middle_is_not_guessed_at(path: Path) -> None:
    path.write_bytes(b'{"event": "note"}\nrubbish\n{"event": "note"}\n')
    with pytest.raises(JournalBrokenError, match="line 2 cannot be read"):
        Journal(path)


def test_a_gpu_in_two_hands_would_be_seen(path: Path) -> None:
    store = AttemptStore(Journal(path))
    store.hold(held())
    store.hold(held())
    assert double_holds(map(json.loads, path.read_text().splitlines())) == []
    store.hold(held(attempt(attempt_id=8, fence=71)))
    assert len(double_holds(map(json.loads, path.read_text().splitlines()))) == 1
