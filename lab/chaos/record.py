"""The ledger file: a line per piece, never changed; what was done, and what it all came to."""

import json
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from lab.chaos.check import KINDS
from lab.chaos.history import Line, read_lines
from lab.chaos.launch import ROOT
from lab.chaos.piece import PieceOutcome


def commit() -> str:
    """With a plus behind it where files differ from it."""
    head = _git("rev-parse", "--short=12", "HEAD")
    return head + ("+" if _git("status", "--porcelain", "--untracked-files=no") else "")


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else "unknown"


def line_of(what: str, seed: str, made_of: str, outcome: PieceOutcome, took_s: float) -> Line:
    by_kind = Counter(violation.kind for violation in outcome.violations)
    return {
        "what": what,
        "seed": seed,
        "commit": made_of,
        "took_s": round(took_s, 1),
        "faults": dict(sorted(outcome.faults.items())),
        "submits": outcome.submits,
        "runs": len({each.attempt for each in outcome.evidence.processes}),
        "violations": {kind: by_kind[kind] for kind in KINDS},
        "worst_recovery_s": {kind: round(s, 1) for kind, s in sorted(outcome.worst_s.items())},
        "points": sorted(outcome.reached),
    }


def append(path: Path, line: Line) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")


def done(path: Path, made_of: str) -> set[str]:
    """Seeds of the pieces that this commit has behind it."""
    return {line["seed"] for line in read_lines(path) if line["commit"] == made_of}


def survived(path: Path, made_of: str) -> set[str]:
    """Crash points that this commit has behind it, in pieces without a violation."""
    lines = (line for line in read_lines(path) if line["commit"] == made_of)
    return {
        name for line in lines if not any(line["violations"].values()) for name in line["points"]
    }


def report(lines: Iterable[Line]) -> list[str]:
    """All lines of one commit, added up."""
    mine = list(lines)
    faults, found = _sum(mine, "faults"), _sum(mine, "violations")
    worst: dict[str, float] = {}
    for line in mine:
        for kind, s in line["worst_recovery_s"].items():
            worst[kind] = max(worst.get(kind, 0.0), s)
    points = {point for line in mine for point in line["points"]}
    return [
        f"{len(mine)} pieces, {faults.total()} faults, {sum(line['submits'] for line in mine)} "
        f"acknowledged submits, {sum(line['runs'] for line in mine)} attempts that ran",
        ", ".join(f"{kind} {found[kind]}" for kind in KINDS),
        f"crash points reached and survived: {len(points)}",
        *_table(faults, worst),
    ]


def _sum(lines: Sequence[Line], name: str) -> Counter[str]:
    total: Counter[str] = Counter()
    for line in lines:
        total.update(line[name])
    return total


def _table(faults: Counter[str], worst: dict[str, float]) -> Iterable[str]:
    yield f"{'fault':<28}{'times':>6}{'worst recovery, s':>20}"
    for kind in sorted({*faults, *worst}):
        yield f"{kind:<28}{faults[kind]:>6}{worst.get(kind, 0.0):>20.1f}"


def newest_commit(lines: Sequence[dict[str, Any]]) -> str | None:
    return str(lines[-1]["commit"]) if lines else None
