"""Every guard that the mutants take away still stands where the catalogue says."""

from pathlib import Path

import pytest
from django.db import connection

from lab.chaos.launch import ROOT
from lab.chaos.mutants.catalogue import (
    MUTANTS,
    OF_THE_CODE,
    OF_THE_DATABASE,
    Mutant,
    SqlMutant,
    TextMutant,
)
from lab.chaos.mutants.run import MutantError, mutate


def test_there_are_enough_of_them_and_each_has_a_name_of_its_own() -> None:
    assert len(MUTANTS) >= 20
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


@pytest.mark.parametrize("mutant", OF_THE_CODE, ids=lambda mutant: mutant.name)
def test_its_guard_stands_once_in_the_code(mutant: TextMutant) -> None:
    text = (ROOT / mutant.file).read_text()
    assert text.count(mutant.guard) == 1
    compile(text.replace(mutant.guard, mutant.without), mutant.file, "exec")


@pytest.mark.django_db
@pytest.mark.parametrize("mutant", OF_THE_DATABASE, ids=lambda mutant: mutant.name)
def test_its_promise_stands_in_the_database(mutant: SqlMutant) -> None:
    with connection.cursor() as cursor:
        cursor.execute(mutant.statement)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_its_tests_are_there(mutant: Mutant) -> None:
    for test in mutant.tests:
        file, _, name = test.partition("::")
        assert f"def {name}" in (ROOT / file).read_text()


def test_a_guard_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file.py").write_text("if held:\n    pass\n")
    mutant = TextMutant("a lock", "file.py", "if held:", "if True:", ())
    mutate(tmp_path, mutant)
    assert (tmp_path / "file.py").read_text() == "if True:\n    pass\n"
    with pytest.raises(MutantError, match="0 times"):
        mutate(tmp_path, mutant)
