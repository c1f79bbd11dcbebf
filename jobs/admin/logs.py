"""Logs of attempts in the admin, to read."""

from django.contrib import admin

from jobs.models import Log
from rest.admin import HistoryAdmin


@admin.register(Log)
class LogAdmin(HistoryAdmin):
    """How much was printed; what it says is between the tenant and its job."""

    list_display = ("attempt", "node", "stream", "tenant", "size", "closed", "updated_at")
    list_filter = ("stream", "closed", "tenant")
    search_fields = ("=attempt__id", "=attempt__job__id")
    list_select_related = ("attempt", "node", "tenant")
