"""Commands that pages name, and what is wrong with each: told by the programs themselves."""

import re
from functools import cache
from typing import Any

from django.core.management import get_commands
from fairwatt.cli.commands import COMMANDS
from fairwatt.cli.main import app
from typer.main import get_command

from tests.docs.pages import ROOT

BEFORE = r"(?:^|[;&|] ?|\$ |\$\()(?:[A-Z_]+=\S* )*"
MAKE = re.compile(rf"{BEFORE}make ([a-z][a-z-]*)(?![\w/])")
MANAGE = re.compile(r"manage\.py ([a-z_]+)")
FAIRWATT = re.compile(rf"{BEFORE}(?:\.venv/bin/)?fairwatt (.+)")
# What follows is the job's own program, a remark, or another command.
ENDS = re.compile(r" -- | #|[|;&)]|  ")
OPTION = re.compile(r"^--?[a-zA-Z]")


def faults(line: str) -> list[str]:
    """What a line of code names that is not there."""
    gone = [f"make {name}" for name in MAKE.findall(line) if name not in targets()]
    gone += [f"manage.py {name}" for name in MANAGE.findall(line) if name not in get_commands()]
    return gone + [fault for said in FAIRWATT.findall(line) for fault in _of_fairwatt(said)]


@cache
def targets() -> set[str]:
    makefile = (ROOT / "Makefile").read_text()
    return set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE))


def _of_fairwatt(said: str) -> list[str]:
    words = ENDS.split(said)[0].split()
    group = root()
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in ("-P", "--profile", "--url") else words[1:]
    if not words:
        return []
    name, *rest = words
    if name not in COMMANDS:
        return [f"fairwatt {name}"]
    command = group.resolve_command(group.context_class(group), [name])[1]
    inner = getattr(command, "commands", None)
    if inner is None:
        return _unknown_options(f"fairwatt {name}", command, rest)
    if not rest:
        return []
    if rest[0] not in inner:
        return [f"fairwatt {name} {rest[0]}"]
    return _unknown_options(f"fairwatt {name} {rest[0]}", inner[rest[0]], rest[1:])


def _unknown_options(name: str, command: Any, words: list[str]) -> list[str]:
    known = {"--help", "-h", *(each for one in command.params for each in one.opts)}
    asked = [word.partition("=")[0] for word in words if OPTION.match(word)]
    return [f"{name} {option}" for option in asked if option not in known]


@cache
def root() -> Any:
    return get_command(app)
