"""The command line with the command that is asked for alone.

Typer reads the options of every command that it has before it calls one, which takes longer than many a command.
"""

from __future__ import annotations

import sys
from copy import copy
from typing import Any

import typer
from typer.models import CommandInfo


class Commands(typer.Typer):
    """Where the first argument names no command, it has them all: for --help, and for what is misspelt."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        return typer.Typer.__call__(self.with_command(sys.argv[1:]), *args, **options)

    def with_command(self, arguments: list[str]) -> typer.Typer:
        asked, one = arguments[0] if arguments else "", copy(self)
        one.registered_commands = [c for c in self.registered_commands if name_of(c) == asked]
        one.registered_groups = [g for g in self.registered_groups if g.name == asked]
        return one if one.registered_commands or one.registered_groups else self


def name_of(command: CommandInfo) -> str:
    return command.name or getattr(command.callback, "__name__", "").replace("_", "-")
