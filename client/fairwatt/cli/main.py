"""Where the command begins and ends: the commands, and one sentence for whatever went wrong."""

import os
import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from fairwatt import __version__
from fairwatt.cli.commands import COMMANDS
from fairwatt.cli.ends import end_of


class LazyGroup(TyperGroup):
    """Knows the commands by name and help; imports the one that is called."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, place in COMMANDS.items():
            self.commands[name] = TyperCommand(name=name, help=place.help, rich_markup_mode=None)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, found, rest = super().resolve_command(ctx, args)
        return name, self._loaded(name) if name in COMMANDS else found, rest

    def _loaded(self, name: str) -> Any:
        module = import_module(f"fairwatt.cli.{COMMANDS[name].module}")
        made = get_command(module.app)
        return made.commands[name] if isinstance(made, TyperGroup) else made


app = typer.Typer(
    cls=LazyGroup,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        sys.stdout.write(f"fairwatt {__version__}\n")
        raise typer.Exit


@app.callback()
def fairwatt(
    context: typer.Context,
    profile: Annotated[
        str | None, typer.Option("--profile", "-P", help="A profile of config.toml.")
    ] = None,
    url: Annotated[str | None, typer.Option(help="The service; else FAIRWATT_URL.")] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version.")
    ] = False,
) -> None:
    """GPU jobs on Fairwatt: submit them, ask why and when, and see what they cost."""
    if url:
        os.environ["FAIRWATT_URL"] = url
    if profile:
        os.environ["FAIRWATT_PROFILE"] = profile


def main() -> None:
    """Run, and end with a code that a script can rely on (docs/client.md)."""
    try:
        code = app(standalone_mode=False, prog_name="fairwatt")
    except BaseException as error:  # noqa: BLE001 - whatever it is, the user gets a sentence
        code = end_of(error)
    sys.exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
