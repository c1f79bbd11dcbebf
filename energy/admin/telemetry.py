"""What GPUs' counters and minutes say, to read."""

from django.contrib import admin

from energy.models import Boot, GpuCounter, SampleMinute
from tenancy.admin import ReadOnlyAdmin


class ReadingAdmin(ReadOnlyAdmin):
    """Tables that grow for ever: no count of all rows, newest first."""

    show_full_result_count = False
    list_per_page = 60
    ordering = ("-id",)


@admin.register(GpuCounter)
class GpuCounterAdmin(ReadingAdmin):
    list_display = ("gpu", "boot", "counted_mj", "gap_mj", "last_mj", "last_at")
    list_select_related = ("gpu", "boot")
    list_filter = ("gpu__node__cluster",)
    search_fields = ("=gpu__uuid", "=gpu__node__name")

    @admin.display(description="counted, mJ")
    def counted_mj(self, counter: GpuCounter) -> int:
        return counter.last_mj - counter.first_mj


@admin.register(SampleMinute)
class SampleMinuteAdmin(ReadingAdmin):
    list_display = (
        "gpu",
        "minute_at",
        "samples",
        "last_mj",
        "mean_mw",
        "max_mw",
        "utilisation_pct",
        "memory_used_mib",
        "temperature_c",
        "clock_mhz",
    )
    list_select_related = ("gpu",)
    list_filter = ("gpu__node__cluster",)
    search_fields = ("=gpu__uuid", "=gpu__node__name")
    date_hierarchy = "minute_at"


@admin.register(Boot)
class BootAdmin(ReadingAdmin):
    list_display = ("boot_id", "node", "first_seen_at")
    list_select_related = ("node",)
    search_fields = ("=boot_id", "=node__name")
