"""The audit: one row in the transaction of every write."""

from collections.abc import Mapping
from typing import Any

from django.db import connection
from django.db.models import Model

from rest.json import encode
from rest.problems import request_id
from tenancy.callers import Caller

_INSERT = """
INSERT INTO tenancy_auditrow
  (at, token_id, user_id, role, tenant_id, action, object_type, object_id, request_id, changes)
VALUES (now(), %s, %s, %s, %s, %s, %s, %s, %s, %s)
"""


def record(
    caller: Caller,
    action: str,
    obj: Model | None,
    changes: Mapping[str, Any],
    *,
    tenant_id: int | None = None,
) -> None:
    """Append a row; `tenant_id` is whose business it was, if not the caller's own."""
    with connection.cursor() as cursor:
        cursor.execute(
            _INSERT,
            [
                caller.token_id,
                caller.user_id,
                caller.role.value,
                caller.tenant_id if tenant_id is None else tenant_id,
                action,
                obj._meta.model_name if obj is not None else "",
                obj.pk if obj is not None else None,
                request_id(),
                encode(changes).decode(),
            ],
        )
