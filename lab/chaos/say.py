"""A line for who watches, at once."""

import sys


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
