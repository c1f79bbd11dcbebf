"""Every constraint of these tables has words for whoever runs into it."""

import pytest
from django.db import connection

from rest.constraints import rule_for

_CONSTRAINTS = """
SELECT conname FROM pg_constraint
JOIN pg_class ON pg_class.oid = conrelid
WHERE relname LIKE 'clusters\\_%%' AND contype NOT IN ('p', 'n')
"""


@pytest.mark.django_db
def test_every_constraint_is_explained() -> None:
    with connection.cursor() as cursor:
        cursor.execute(_CONSTRAINTS)
        names = {name for (name,) in cursor.fetchall()}
    assert {"node_cpus_within", "clusters_rack_switch_of_cluster"} <= names
    assert [name for name in sorted(names) if rule_for(name) is None] == []
