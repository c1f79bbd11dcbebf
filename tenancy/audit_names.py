"""Who and what the rows of the audit are about, by name."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.apps import apps
from django.contrib.auth import get_user_model
from django.db.models import Model

from rest.labels import spelt
from tenancy.models import ApiToken, AuditRow, Tenant

# The columns that people know a row by; the first that its table has.
_KNOWN_BY = ("name", "uuid", "prefix", "url", "digest")
Models = Mapping[str, type[Model]]


@dataclass(frozen=True, slots=True)
class AuditNames:
    who: str
    tenant: str
    what: str


def audit_names(rows: Iterable[AuditRow]) -> dict[int, AuditNames]:
    """Of each row by its id; a table is asked once, however many rows are about it."""
    shown = list(rows)
    users = _by_id(get_user_model(), "username", (row.user_id for row in shown))
    tokens = _by_id(ApiToken, "name", (row.token_id for row in shown))
    tenants = _by_id(Tenant, "name", (row.tenant_id for row in shown))
    models = {str(model._meta.model_name): model for model in apps.get_models()}
    objects = _objects(shown, models)
    return {
        row.pk: AuditNames(
            who=_who(row, users, tokens),
            tenant=tenants.get(row.tenant_id, "") if row.tenant_id else "",
            what=_what(row, models, objects.get((row.object_type, row.object_id), "")),
        )
        for row in shown
    }


def _who(row: AuditRow, users: dict[int | None, str], tokens: dict[int | None, str]) -> str:
    if row.user_id is not None:
        return users.get(row.user_id, f"user {row.user_id}, who is gone")
    if row.token_id is not None:
        return f"token {tokens.get(row.token_id, row.token_id)}"
    return "the service"


def _what(row: AuditRow, models: Models, name: str) -> str:
    """What is gone is called as it was when that was written."""
    if row.object_id is None:
        return ""
    said = name or str((row.changes or {}).get("name") or f"#{row.object_id}")
    model = models.get(row.object_type)
    kind = row.object_type if model is None else spelt(str(model._meta.verbose_name))
    return f"{kind} {said}"


def _objects(rows: list[AuditRow], models: Models) -> dict[tuple[str, int | None], str]:
    wanted: dict[str, set[int | None]] = defaultdict(set)
    for row in rows:
        wanted[row.object_type].add(row.object_id)
    return {
        (kind, pk): name
        for kind, ids in wanted.items()
        if (model := models.get(kind)) is not None and (column := _known_by(model)) is not None
        for pk, name in _by_id(model, column, ids).items()
    }


def _known_by(model: type[Model]) -> str | None:
    columns = {column.name for column in model._meta.fields}
    return next((name for name in _KNOWN_BY if name in columns), None)


def _by_id(model: type[Model], column: str, ids: Iterable[int | None]) -> dict[int | None, str]:
    wanted = {pk for pk in ids if pk is not None}
    if not wanted:
        return {}
    return dict(model._default_manager.filter(pk__in=wanted).values_list("pk", column))
