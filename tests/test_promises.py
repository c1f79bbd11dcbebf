"""Every promise of the database has words for whoever runs into it, in every room."""

import pytest
from django.db import connection

from rest.constraints import rule_for

_CONSTRAINTS = """
SELECT conname FROM pg_constraint
WHERE conrelid::regclass::text LIKE %(room)s AND contype NOT IN ('p', 'n', 't')
UNION
SELECT indexrelid::regclass::text FROM pg_index
WHERE indrelid::regclass::text LIKE %(room)s AND indisunique AND NOT indisprimary
UNION
SELECT (regexp_matches(prosrc, 'CONSTRAINT = ''(\\w+)''', 'g'))[1] FROM pg_proc
WHERE proname LIKE %(room)s
"""


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("room", "some"),
    [
        ("tenancy", {"tenant_name_unique", "membership_once_per_tenant"}),
        ("storage", {"blob_once", "upload_received"}),
        ("tariffs", {"tariff_flat_has_price", "tariffs_carbonhour_on_the_hour"}),
        ("clusters", {"node_cpus_within", "clusters_rack_switch_of_cluster"}),
        ("jobs", {"job_gpus", "one_holder_per_gpu", "job_legal_move", "attempt_fence_grows"}),
        ("webhooks", {"webhook_url_taken", "delivery_once", "webhook_events"}),
        ("energy", {"power_budget_watts", "energy_meter_attempt_of_tenant", "one_open_breach"}),
        ("scheduling", {"round_gap", "scheduling_decision_job_of_tenant"}),
        ("whatif", {"one_live_forecast_per_cluster", "whatif_forecastjob_job_of_tenant"}),
    ],
)
def test_every_constraint_is_explained(room: str, some: set[str]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_CONSTRAINTS, {"room": f"{room}\\_%"})
        names = {name for (name,) in cursor.fetchall()}
    assert some <= names
    assert sorted(name for name in names if rule_for(name) is None) == []
