"""Every constraint of these tables has words for whoever runs into it."""

import pytest
from django.db import connection

from clusters.constraints import REFERENCES, RULES
from rest.constraints import rule_for

_CONSTRAINTS = """
SELECT conname FROM pg_constraint
JOIN pg_class ON pg_class.oid = conrelid
WHERE relname LIKE 'clusters\\_%%' AND contype NOT IN ('p', 'n')
"""


@pytest.fixture
def in_the_database(db: None) -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(_CONSTRAINTS)
        return {name for (name,) in cursor.fetchall()}


def test_every_constraint_is_explained(in_the_database: set[str]) -> None:
    assert len(in_the_database) > 50
    assert [name for name in sorted(in_the_database) if rule_for(name) is None] == []


def test_nothing_is_explained_that_is_not_there(in_the_database: set[str]) -> None:
    assert {*RULES, *REFERENCES} - in_the_database == set()
