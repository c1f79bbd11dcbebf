"""The command `fairwatt-service`, and `manage.py`: Django's command line with our settings."""

import os
import sys
from collections.abc import Sequence

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

from scheduler_service.check import report
from scheduler_service.check.result import failed

CHECK = "check_service"
# People who installed the package mean the installation, not Django's look at the code.
PACKAGED = "fairwatt-service"


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "scheduler_service.settings")
    argv = spelled(sys.argv)
    try:
        execute_from_command_line(argv)
    except ImproperlyConfigured as error:
        if CHECK not in argv[1:2]:
            raise
        sys.exit(_unreadable(error, as_json="--json" in argv))


def spelled(argv: Sequence[str]) -> list[str]:
    """`fairwatt-service check` is `check_service`; under manage.py `check` stays Django's."""
    program, *rest = argv
    if os.path.basename(program) == PACKAGED and rest[:1] == ["check"]:  # noqa: PTH119 - a name
        return [program, CHECK, *rest[1:]]
    return [program, *rest]


def _unreadable(error: ImproperlyConfigured, *, as_json: bool) -> int:
    """Settings that refuse to load are the first thing that a check finds."""
    result = failed(str(error), "Set it in the environment file, and check again.")
    tell = report.as_json if as_json else report.as_text
    sys.stdout.write(tell({"settings": result}) + "\n")
    return 1
