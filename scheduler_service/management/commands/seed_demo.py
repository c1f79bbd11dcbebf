"""`manage.py seed_demo --url URL`: make the demo and write its tokens to var/demo.json."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.utils import timezone

from scheduler_service.seed import seed


class Command(BaseCommand):
    help = "Make the demo tenants, cluster and tokens; what is already there is kept."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--url", required=True, help="where the API will answer")

    def handle(self, *args: Any, **options: Any) -> None:
        seed(settings.VAR_DIR / "demo.json", url=options["url"], now=timezone.now())
