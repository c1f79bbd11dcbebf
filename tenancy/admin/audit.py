"""The audit in the admin: who did what to whom, by name."""

from typing import Any

from django.contrib import admin

from rest.admin import HistoryAdmin
from tenancy.audit_names import audit_names
from tenancy.models import AuditRow, AuditSeal

CHANGES_SHOWN = 200


@admin.register(AuditRow)
class AuditRowAdmin(HistoryAdmin):
    list_display = ("at", "who", "action", "what", "tenant", "changed", "role")
    list_filter = ("action", "object_type", "role")
    search_fields = ("request_id", "action", "=object_id", "=tenant_id", "=token_id", "=user_id")
    search_help_text = "Action, request, or id of the object, tenant, token or user"
    date_hierarchy = "at"
    readonly_fields = ("who", "what", "tenant", "changed")
    fieldsets = (
        (None, {"fields": ("at", "who", "action", "what", "tenant", "changed")}),
        (
            "As stored",
            {
                "fields": (
                    *("role", "user_id", "token_id", "tenant_id", "object_type", "object_id"),
                    *("request_id", "changes"),
                )
            },
        ),
    )

    def complete(self, rows: list[Any]) -> None:
        names = audit_names(rows)
        for row in rows:
            row.names = names[row.pk]

    @admin.display(description="who", ordering="user_id")
    def who(self, row: Any) -> str:
        return str(row.names.who)

    @admin.display(description="what", ordering="object_type")
    def what(self, row: Any) -> str:
        return str(row.names.what)

    @admin.display(description="tenant", ordering="tenant_id")
    def tenant(self, row: Any) -> str:
        return str(row.names.tenant)

    @admin.display(description="changed")
    def changed(self, row: AuditRow) -> str:
        said = (f"{name}: {value}" for name, value in (row.changes or {}).items())
        text = "; ".join(said)
        return text if len(text) <= CHANGES_SHOWN else f"{text[:CHANGES_SHOWN]}…"


@admin.register(AuditSeal)
class AuditSealAdmin(HistoryAdmin):
    """The newest digest is what to write down elsewhere."""

    list_display = ("sealed_at", "first_id", "last_id", "count", "digest")
    search_fields = ("=digest",)
    search_help_text = "Digest"
    date_hierarchy = "sealed_at"
