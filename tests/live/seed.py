"""`python -m tests.live.seed`: migrate the database, fill it, and print what is there as JSON."""

import os
import sys

import django
from django.core.management import call_command


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "scheduler_service.settings")
    django.setup()
    call_command("migrate", verbosity=0)
    from tests.live.seed_world import seeded  # noqa: PLC0415  # models need Django set up

    sys.stdout.write(seeded().dump())


if __name__ == "__main__":
    main()
