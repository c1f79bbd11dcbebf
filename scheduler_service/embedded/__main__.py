"""The embedded stack's command line: `python -m scheduler_service.embedded up|demo`."""

import sys

from django.core.exceptions import ImproperlyConfigured

from scheduler_service.embedded.errors import EmbeddedError
from scheduler_service.embedded.up import up


def demo() -> None:
    """It speaks through the client, which the service's own image has not."""
    from scheduler_service.embedded.demo.story import demo as tell  # noqa: PLC0415

    tell()


COMMANDS = {"up": up, "demo": demo}


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or arguments[0] not in COMMANDS:
        sys.stderr.write("Usage: python -m scheduler_service.embedded up|demo\n")
        return 2
    try:
        COMMANDS[arguments[0]]()
    except (EmbeddedError, ImproperlyConfigured) as error:
        sys.stderr.write(f"\n{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
