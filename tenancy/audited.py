"""Plain writes of versioned rows, each with its audit row in the same transaction."""

from collections.abc import Mapping
from typing import Any, TypeVar

from django.db import transaction
from django.db.models import Model

from rest.etag import delete_versioned, update_versioned
from tenancy import audit
from tenancy.callers import Caller
from tenancy.models import Tenant

Row = TypeVar("Row", bound=Model)
Said = Mapping[str, Any]


@transaction.atomic(savepoint=False)
def insert(caller: Caller, row: Row, said: Said) -> Row:
    """Store a new row; `said` is what the caller gave for it."""
    row.save(force_insert=True)
    _record(caller, "create", row, said)
    return row


@transaction.atomic(savepoint=False)
def update(caller: Caller, row: Row, columns: Said, said: Said | None = None) -> Row:
    """Write `columns` if nobody wrote since the row was read; `said` if the caller named others."""
    update_versioned(row, columns)
    _record(caller, "update", row, columns if said is None else said)
    return row


@transaction.atomic(savepoint=False)
def delete(caller: Caller, row: Model, said: Said) -> None:
    """Delete the row if nobody wrote since it was read; `said` is how people knew it."""
    _record(caller, "delete", row, said)
    delete_versioned(row)


def _record(caller: Caller, verb: str, row: Model, said: Said) -> None:
    what = str(row._meta.verbose_name).replace(" ", "_")
    owner = row.pk if isinstance(row, Tenant) else getattr(row, "tenant_id", None)
    audit.record(caller, f"{what}.{verb}", row, said, tenant_id=owner)
