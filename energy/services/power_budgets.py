"""Orders of power budgets, and taking them back."""

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction

from clusters.models import Cluster
from clusters.services.references import partition_named, resolved
from energy.models import PowerBudget
from policies.pricing.timezones import validate_timezone
from rest.etag import delete_versioned, update_versioned
from rest.problems import Contradiction
from tenancy import audit
from tenancy.callers import Caller


def power_budget_draft(
    *, cluster: Cluster, values: Mapping[str, Any], now: datetime
) -> PowerBudget:
    """A budget that is not stored yet, checked as if it were; the partition is given by name."""
    named = resolved(values, {"partition": partial(partition_named, cluster)})
    starts_at = max(named.get("starts_at") or now, now)
    row = PowerBudget(cluster=cluster, **{**named, "starts_at": starts_at})
    if row.ends_at is not None and row.ends_at <= starts_at:
        raise Contradiction.at("/ends_at", "window_over", "A window ends after its start and now.")
    if (row.from_minute is None) != (row.to_minute is None) or (
        row.from_minute is not None and row.from_minute == row.to_minute
    ):
        detail = "Give from_minute and to_minute, and let them differ, or neither."
        raise Contradiction.at("/to_minute", "half_a_day", detail)
    for problem in validate_timezone(row.timezone):
        raise Contradiction.at("/timezone", problem.code, problem.message)
    return row


@transaction.atomic(savepoint=False)
def power_budget_order(*, caller: Caller, row: PowerBudget) -> PowerBudget:
    row.ordered_by = _name(caller)
    row.save(force_insert=True)
    changes = {"cluster": row.cluster.name, "watts": row.watts, "reason": row.reason}
    audit.record(caller, "power_budget.order", row, changes)
    return row


@transaction.atomic(savepoint=False)
def power_budget_withdraw(*, caller: Caller, row: PowerBudget, now: datetime) -> None:
    """One that has begun ends now and stays for its proof; one that has not is gone."""
    audit.record(caller, "power_budget.withdraw", row, {"watts": row.watts})
    if row.starts_at >= now:
        delete_versioned(row)
    elif row.ends_at is None or row.ends_at > now:
        update_versioned(row, {"ends_at": now})


def _name(caller: Caller) -> str:
    if caller.token_name or caller.user_id is None:
        return caller.token_name or "system"
    found = get_user_model().objects.filter(pk=caller.user_id).first()
    return f"user {caller.user_id}" if found is None else found.get_username()
