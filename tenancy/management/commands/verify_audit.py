"""`manage.py verify_audit`: whether the audit still says what it said when it was sealed."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from rest.json import encode
from tenancy.audit_chain import SealBroken, UnknownDigest, Verdict, audit_verify
from tenancy.audit_digest import GENESIS


class Command(BaseCommand):
    help = "Walk the seals of the audit; fails at the first whose rows are not what was sealed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="the verdict as one JSON object")
        parser.add_argument(
            "--from-digest",
            default=GENESIS,
            metavar="DIGEST",
            help="begin behind the seal with this digest, which somebody wrote down",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            verdict = audit_verify(options["from_digest"])
        except UnknownDigest as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            self.stdout.write(encode(verdict).decode())
        if verdict.broken is not None:
            raise CommandError(str(SealBroken(verdict.broken)))
        if not options["json"]:
            self.stdout.write(_said(verdict))


def _said(verdict: Verdict) -> str:
    return (
        f"ok: {verdict.rows} rows in {verdict.seals} seals, up to row {verdict.last_id}; "
        f"not sealed yet: {verdict.unsealed_rows}\nlast digest: {verdict.last_digest}"
    )
