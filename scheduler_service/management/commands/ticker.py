"""`manage.py ticker`: the periodic duties, also without broker, beat and workers."""

from typing import Any

from django.core.management.base import BaseCommand

from scheduler_service import ticker


class Command(BaseCommand):
    help = "Does in time what no worker did; runs until SIGTERM."

    def handle(self, *args: Any, **options: Any) -> None:
        ticker.main()
