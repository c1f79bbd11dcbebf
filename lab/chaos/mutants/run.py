"""`python -m lab.chaos mutants`: a copy of the tree, a guard less, and its tests, one by one."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg

from lab.chaos import record
from lab.chaos.history import Line, read_lines
from lab.chaos.launch import ROOT
from lab.chaos.mutants.catalogue import MUTANTS, Mutant, TextMutant
from lab.chaos.say import say
from scheduler_service.embedded import postgres
from scheduler_service.embedded.program import running

ALL_PASSED, SOME_FAILED = 0, 1  # pytest's exit codes
LONGEST_S = 1800.0
LOG = "pytest.log"
# The role's own database, the one that Django's tests make and keep, and a copy of it.
OURS, TESTED, WHOLE = postgres.ROLE, f"test_{postgres.ROLE}", f"whole_{postgres.ROLE}"


class MutantError(Exception):
    """The guard is not where the catalogue says, or its tests fail without any change."""


def mutate(root: Path, mutant: TextMutant) -> None:
    path = root / mutant.file
    text = path.read_text()
    if text.count(mutant.guard) != 1:
        found = text.count(mutant.guard)
        raise MutantError(f"{mutant.name}: its guard stands {found} times in {mutant.file}")
    path.write_text(text.replace(mutant.guard, mutant.without))


def main(ledger: Path, mutants: Sequence[Mutant] = MUTANTS) -> int:
    """What this commit has behind it is not repeated."""
    made_of = record.commit()
    before = {line["name"]: line for line in read_lines(ledger) if line["commit"] == made_of}
    left = [mutant for mutant in mutants if mutant.name not in before]
    if left:
        with _copy() as root, _database(root) as url:
            trial = Trial(root, url)
            trial.require_sound(left)
            for mutant in left:
                before[mutant.name] = line = trial.of(mutant) | {"commit": made_of}
                record.append(ledger, line)
                seen = "noticed" if line["noticed"] else "NOT NOTICED"
                say(f"{seen:<12} {mutant.name} ({line['took_s']} s)")
    unseen = [mutant.name for mutant in mutants if not before[mutant.name]["noticed"]]
    say(f"noticed {len(mutants) - len(unseen)} of {len(mutants)}")
    for name in unseen:
        say(f"  not: {name}")
    return 1 if unseen else 0


class Trial:
    """A tree and a server for all mutants, both put back as they were after each."""

    def __init__(self, root: Path, database_url: str) -> None:
        self._root, self._url, self._log = root, database_url, root / LOG
        self._env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "DATABASE_URL": database_url}

    def of(self, mutant: Mutant) -> Line:
        begun_s = time.monotonic()
        with self._without(mutant):
            told_from = self._log.stat().st_size
            code = self._pytest(mutant.tests)
        told = self._log.read_bytes()[told_from:]
        return {
            "name": mutant.name,
            # A test that could not begin has noticed nothing.
            "noticed": code == SOME_FAILED and b"\nFAILED " in told,
            "exit_code": code,
            "took_s": round(time.monotonic() - begun_s, 1),
        }

    @contextmanager
    def _without(self, mutant: Mutant) -> Iterator[None]:
        """The guard is gone for the length of the block."""
        if isinstance(mutant, TextMutant):
            mutate(self._root, mutant)
            yield
            shutil.copy2(ROOT / mutant.file, self._root / mutant.file)
        else:
            self._sql(TESTED, mutant.statement)
            yield
            self._sql(OURS, f"DROP DATABASE {TESTED}")
            self._sql(OURS, f"CREATE DATABASE {TESTED} TEMPLATE {WHOLE}")

    def _sql(self, database: str, statement: str) -> None:
        with psycopg.connect(self._url, dbname=database, autocommit=True) as connection:
            connection.execute(statement)

    def require_sound(self, mutants: Sequence[Mutant]) -> None:
        """Tests that fail anyway notice nothing."""
        tests = sorted({test for mutant in mutants for test in mutant.tests})
        if (code := self._pytest(tests)) != ALL_PASSED:
            told = self._log.read_text()[-3000:]
            raise MutantError(f"without a change pytest ends with {code}:\n{told}")
        self._sql(OURS, f"CREATE DATABASE {WHOLE} TEMPLATE {TESTED}")

    def _pytest(self, tests: Sequence[str]) -> int | None:
        """Its exit code; None when it took too long."""
        argv = [sys.executable, "-m", "pytest", "-x", "-q", "--reuse-db", *tests]
        with self._log.open("ab") as log:
            try:
                return subprocess.run(
                    argv, cwd=self._root, env=self._env, stdout=log, stderr=log, check=False,
                    timeout=LONGEST_S,
                ).returncode  # fmt: skip
            except subprocess.TimeoutExpired:
                return None


@contextmanager
def _database(root: Path) -> Iterator[str]:
    with (
        postgres.prepared(root / "pg", port=None, durable=False) as server,
        running(server.program, root / "postgres.log"),
    ):
        yield server.url


@contextmanager
def _copy() -> Iterator[Path]:
    """What git knows of the tree, as it is now; the path is short, for a socket lies below it."""
    known = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, check=True,
    ).stdout.decode()  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="fairwatt-mutants-", dir="/tmp") as name:
        root = Path(name)
        root.chmod(0o755)
        for file in filter(None, known.split("\0")):
            if (ROOT / file).is_file():
                (root / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / file, root / file)
        yield root
