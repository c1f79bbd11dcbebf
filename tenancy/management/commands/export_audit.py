"""`manage.py export_audit`: sealed rows as JSON lines that can be checked without the service."""

from argparse import ArgumentParser, ArgumentTypeError
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tenancy.audit_chain import SealBroken, audit_lines


class Command(BaseCommand):
    help = "Write sealed rows of the audit as JSON lines, each with its digest."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--from", dest="since", type=_instant, help="sealed then or later; ISO 8601, UTC"
        )
        parser.add_argument("--to", dest="until", type=_instant, help="sealed before then")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            for line in audit_lines(options["since"], options["until"]):
                self.stdout.write(line)
        except SealBroken as error:
            raise CommandError(str(error)) from error


def _instant(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(
            f"{text!r} is no time, as in 2026-11-01 or 2026-11-01T12:00Z"
        ) from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
