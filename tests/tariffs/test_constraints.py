"""Every constraint of these tables has words for whoever runs into it."""

import pytest
from django.db import connection

from rest.constraints import rule_for

_CONSTRAINTS = """
SELECT conname FROM pg_constraint
JOIN pg_class ON pg_class.oid = conrelid
WHERE relname LIKE 'tariffs\\_%%' AND contype NOT IN ('p', 'n')
"""


@pytest.mark.django_db
def test_every_constraint_is_explained() -> None:
    with connection.cursor() as cursor:
        cursor.execute(_CONSTRAINTS)
        names = {name for (name,) in cursor.fetchall()}
    assert {"tariff_flat_has_price", "tariffs_carbonhour_on_the_hour"} <= names
    assert [name for name in sorted(names) if rule_for(name) is None] == []
