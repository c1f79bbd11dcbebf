"""Every promise of the database about energy, scheduling and what-if is explained."""

import pytest
from django.db import connection

from rest.constraints import rule_for

_CONSTRAINTS = """
SELECT conname FROM pg_constraint
WHERE conrelid::regclass::text LIKE %(room)s AND contype IN ('c', 'u', 'f')
UNION
SELECT indexrelid::regclass::text FROM pg_index
WHERE indrelid::regclass::text LIKE %(room)s AND indisunique AND NOT indisprimary
"""


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("room", "some"),
    [
        ("energy", {"power_budget_watts", "energy_meter_attempt_of_tenant", "one_open_breach"}),
        ("scheduling", {"round_gap", "scheduling_decision_job_of_tenant"}),
        ("whatif", {"one_live_forecast_per_cluster", "whatif_forecastjob_job_of_tenant"}),
    ],
)
def test_every_constraint_is_explained(room: str, some: set[str]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_CONSTRAINTS, {"room": f"{room}\\_%"})
        names = {row[0] for row in cursor.fetchall()}
    assert some <= names
    assert sorted(name for name in names if rule_for(name) is None) == []
