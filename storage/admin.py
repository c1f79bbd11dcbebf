"""What is stored, for operators to look at."""

from django.contrib import admin

from rest.admin import HistoryAdmin
from storage.models import Blob, Upload
from tenancy.staff import StaffActs


@admin.register(Blob)
class BlobAdmin(StaffActs, HistoryAdmin):
    list_display = ("digest", "tenant", "size", "format", "created_at", "used_at")
    list_filter = ("tenant", "format")
    list_select_related = ("tenant",)
    search_fields = ("digest", "tenant__name")


@admin.register(Upload)
class UploadAdmin(StaffActs, HistoryAdmin):
    list_display = ("digest", "tenant", "received", "size", "format", "created_at", "expires_at")
    list_filter = ("tenant", "format")
    list_select_related = ("tenant",)
    search_fields = ("digest", "tenant__name")
