"""The ledger file: what was done is not repeated, and lines of one commit are added up."""

from collections import Counter
from pathlib import Path

from lab.chaos import record
from lab.chaos.check import KINDS, BrokenPromise, CampaignEvidence
from lab.chaos.history import Line, read_lines
from lab.chaos.piece import PieceOutcome


def line(seed: str, commit: str = "abc") -> Line:
    submit = {"event": "answer", "at_s": 1.0, "path": "jobs/"}
    lost = BrokenPromise("lost", "gone", 1.0, 1)
    outcome = PieceOutcome(
        CampaignEvidence((submit,), (), (), ()),
        [lost] if seed == "bad" else [],
        Counter({"kill api": 2}),
        {"kill api": 3.21 if seed == "bad" else 1.0},
        ["sync.after"],
    )
    return record.line_of("faults", seed, commit, outcome, 12.34)


def test_a_line_says_what_was_done_and_found() -> None:
    made = line("bad")
    assert (made["submits"], made["took_s"], made["faults"]) == (1, 12.3, {"kill api": 2})
    assert made["violations"] == dict.fromkeys(KINDS, 0) | {"lost": 1}


def test_what_another_commit_did_counts_for_nothing(tmp_path: Path) -> None:
    path = tmp_path / "chaos" / "ledger.jsonl"
    record.append(path, line("1:0:60"))
    record.append(path, line("1:60:60", commit="def"))
    with path.open("a") as torn:
        torn.write('{"seed": "1:12')
    assert record.done(path, "abc") == {"1:0:60"}
    assert len(list(read_lines(path))) == 2


def test_lines_are_added_up_and_the_worst_is_kept() -> None:
    told = "\n".join(record.report([line("good"), line("bad")]))
    assert "2 pieces, 4 faults, 2 acknowledged submits" in told
    assert "lost 1, doubled 0" in told
    assert "crash points reached and survived: 1" in told
    assert "3.2" in told
