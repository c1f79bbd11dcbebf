"""What GPUs' counters and minutes say, to read."""

from django.contrib import admin

from energy.models import Boot, GpuCounter, SampleMinute
from rest.admin import ReadOnlyAdmin
from rest.quantities import kwh, watts


class ReadingAdmin(ReadOnlyAdmin):
    """Tables that grow for ever: no count of all rows, newest first."""

    show_full_result_count = False
    list_per_page = 60
    ordering = ("-id",)


@admin.register(GpuCounter)
class GpuCounterAdmin(ReadingAdmin):
    list_display = ("gpu", "boot", "counted", "unseen", "last_at")
    list_select_related = ("gpu", "boot")
    list_filter = ("gpu__node__cluster",)
    search_fields = ("=gpu__uuid", "=gpu__node__name")

    @admin.display(description="counted")
    def counted(self, counter: GpuCounter) -> str:
        return kwh(counter.last_mj - counter.first_mj)

    @admin.display(description="of that unseen", ordering="gap_mj")
    def unseen(self, counter: GpuCounter) -> str:
        return kwh(counter.gap_mj)


@admin.register(SampleMinute)
class SampleMinuteAdmin(ReadingAdmin):
    list_display = (
        "gpu",
        "minute_at",
        "samples",
        "mean",
        "highest",
        "utilisation_pct",
        "memory_used_mib",
        "temperature_c",
        "clock_mhz",
    )
    list_select_related = ("gpu",)
    list_filter = ("gpu__node__cluster",)
    search_fields = ("=gpu__uuid", "=gpu__node__name")
    date_hierarchy = "minute_at"

    @admin.display(description="mean", ordering="mean_mw")
    def mean(self, minute: SampleMinute) -> str:
        return watts(minute.mean_mw / 1000)

    @admin.display(description="highest", ordering="max_mw")
    def highest(self, minute: SampleMinute) -> str:
        return watts(minute.max_mw / 1000)


@admin.register(Boot)
class BootAdmin(ReadingAdmin):
    list_display = ("boot_id", "node", "first_seen_at")
    list_select_related = ("node",)
    search_fields = ("=boot_id", "=node__name")
