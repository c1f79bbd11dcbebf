"""The embedded stack's command line: `python -m scheduler_service.embedded up`."""

import sys

from django.core.exceptions import ImproperlyConfigured

from scheduler_service.embedded.errors import EmbeddedError
from scheduler_service.embedded.up import up


def main(arguments: list[str]) -> int:
    if arguments != ["up"]:
        sys.stderr.write("Usage: python -m scheduler_service.embedded up\n")
        return 2
    try:
        up()
    except (EmbeddedError, ImproperlyConfigured) as error:
        sys.stderr.write(f"\n{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
