"""`manage.py replay ROUND`: plan a stored round again and say whether the plan is identical."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from scheduling.models import Round
from scheduling.replay import NotReplayable, replay


class Command(BaseCommand):
    help = "Plan a stored round again and say whether the plan is identical."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("round", type=int)

    def handle(self, *args: Any, **options: Any) -> None:
        entry = Round.objects.filter(pk=options["round"]).first()
        if entry is None:
            raise CommandError(f"there is no round {options['round']}")
        try:
            replayed = replay(entry)
        except NotReplayable as error:
            raise CommandError(str(error)) from error
        if replayed.identical:
            self.stdout.write(f"round {entry.pk} ({entry.policy}): identical")
            return
        for line in replayed.differences:
            self.stdout.write(line)
        raise CommandError(f"round {entry.pk}: the plan differs in {len(replayed.differences)}")
