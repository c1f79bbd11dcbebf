"""`manage.py check_service`: could this installation serve, and if not, what to do."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from scheduler_service.check import probes, report


class Command(BaseCommand):
    help = "Try everything that production needs; exit code 0 only if nothing failed."
    # Django's own checks raise where a probe explains.
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="one document for programs")

    def handle(self, *args: Any, **options: Any) -> None:
        results = probes.run_all()
        tell = report.as_json if options["json"] else report.as_text
        self.stdout.write(tell(results))
        if not report.sound(results):
            sys.exit(1)
