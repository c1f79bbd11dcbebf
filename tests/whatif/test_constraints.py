"""Every promise of the database is explained."""

import pytest
from django.db import connection

from rest.constraints import rule_for

_CONSTRAINTS = """
SELECT conname FROM pg_constraint
WHERE conrelid::regclass::text LIKE 'whatif\\_%' AND contype IN ('c', 'u', 'f')
UNION
SELECT indexrelid::regclass::text FROM pg_index
WHERE indrelid::regclass::text LIKE 'whatif\\_%' AND indisunique AND NOT indisprimary
"""


@pytest.mark.django_db
def test_every_constraint_is_explained() -> None:
    with connection.cursor() as cursor:
        cursor.execute(_CONSTRAINTS)
        names = {row[0] for row in cursor.fetchall()}
    assert {"one_live_forecast_per_cluster", "whatif_forecastjob_job_of_tenant"} <= names
    assert sorted(name for name in names if rule_for(name) is None) == []
