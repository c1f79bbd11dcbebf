"""`python -m lab.chaos run|report|mutants`: see docs/chaos.md."""

import argparse
import sys
import time
from collections.abc import Sequence
from functools import partial

from lab.chaos import record
from lab.chaos.crash.points import POINTS
from lab.chaos.history import read_lines
from lab.chaos.launch import ROOT
from lab.chaos.mutants import run as mutants
from lab.chaos.piece import CampaignPiece, Drive, PieceOutcome, run_piece
from lab.chaos.say import say
from lab.chaos.story import story
from lab.chaos.sweep import sweep

HOME = ROOT / "var" / "chaos"
LEDGER = HOME / "ledger.jsonl"
PIECE = 60
POINTS_PER_PIECE = 20
STORIES = 5


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m lab.chaos", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser(
        "run", help="so many faults, in pieces; pieces that were done are not repeated"
    )
    run.add_argument("--faults", type=int, default=PIECE)
    run.add_argument("--seed", default="1")
    run.add_argument("--crash", default="", help="`all`: every crash point once; or names")
    report = commands.add_parser("report", help="what all pieces of one commit came to")
    report.add_argument("--commit", help="the newest of the ledger file unless given")
    commands.add_parser("mutants", help="remove each guard in turn: do the tests notice?")
    given = parser.parse_args(arguments)
    if given.command == "report":
        return _report(given.commit)
    if given.command == "mutants":
        return mutants.main(HOME / "mutants.jsonl")
    if given.crash:
        return _crash(given.crash, given.seed)
    return _campaign(given.faults, given.seed)


def _campaign(faults: int, seed: str) -> int:
    """All that is left of it."""
    behind = record.done(LEDGER, record.commit())
    code = 0
    for first in range(0, faults, PIECE):
        size = min(PIECE, faults - first)
        name = f"{seed}:{first}:{size}"
        if name in behind:
            say(f"piece {name}: done before")
        else:
            code = max(code, _one("faults", name, partial(_hurt, size)))
    return code


def _hurt(size: int, piece: CampaignPiece) -> Sequence[str]:
    left = size
    while left > 0:
        left -= piece.burst(left)
    return ()


def _crash(names: str, seed: str) -> int:
    """Those of the points that this commit has not survived yet, some at a time."""
    wanted = [point for point in POINTS if names == "all" or point.name in names.split(",")]
    behind = record.survived(LEDGER, record.commit())
    left = [point for point in wanted if point.name not in behind]
    code = 0
    for first in range(0, len(left), POINTS_PER_PIECE):
        points = left[first : first + POINTS_PER_PIECE]
        code = max(code, _one("crash", f"{seed}:crash:{points[0].name}", partial(sweep, points)))
    reached = record.survived(LEDGER, record.commit())
    missed = [point.name for point in wanted if point.name not in reached]
    say(f"{len(wanted) - len(missed)} of {len(wanted)} crash points reached and survived")
    for name in missed:
        say(f"  not: {name}")
    return 1 if missed else code


def _one(what: str, seed: str, drive: Drive) -> int:
    made_of, begun_s = record.commit(), time.monotonic()
    outcome = run_piece(HOME / "run", seed, drive)
    line = record.line_of(what, seed, made_of, outcome, time.monotonic() - begun_s)
    record.append(LEDGER, line)
    for text in record.report([line]):
        say(text)
    _tell(outcome, _repeat(what, seed))
    return 1 if outcome.violations else 0


def _repeat(what: str, seed: str) -> str:
    name, first, size = seed.rsplit(":", 2)
    if what == "crash":
        return f"make chaos CRASH=all SEED={name}"
    return f"make chaos SEED={name} N={int(first) + int(size)} (piece {seed})"


def _tell(outcome: PieceOutcome, repeat: str) -> None:
    for violation in outcome.violations[:STORIES]:
        say("\n" + story(violation, outcome.evidence, repeat))
    if len(outcome.violations) > STORIES:
        say(f"\nand {len(outcome.violations) - STORIES} more")
    if outcome.violations:
        say(f"The histories are in {HOME / 'run'}.")


def _report(commit: str | None) -> int:
    lines = list(read_lines(LEDGER))
    wanted = commit or record.newest_commit(lines)
    mine = [line for line in lines if line["commit"] == wanted]
    for text in [f"commit {wanted}", *record.report(mine)]:
        say(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
