"""Extensions of click's classes: ranges of numbers, grouped options and commands that load late.

An option names its group, and help shows it under that heading. A group imports a command when it is used, and
suggests the nearest name for an unknown one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final, TypeVar

import click

from smpy.errors import meant
from smpy.options import OPTION_GROUPS, OptionGroup

_Command = TypeVar("_Command", bound=Callable[..., Any])
_NO_GROUP: Final = "Options"


class IntegerRange(click.IntRange):
    """A range of integers; click's own calls a wrong word no valid integer range."""

    name = "integer"


class NumberRange(click.FloatRange):
    """A range of numbers, with a name for help and errors likewise."""

    name = "number"


class GroupedOption(click.Option):
    """An option with the group under which help lists it."""

    def __init__(self, *args: Any, group: OptionGroup, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.group = group


def grouped_option(*flags: str, group: OptionGroup, **attributes: Any) -> Callable[[_Command], _Command]:
    """Decorator like `click.option`, with a group."""
    return click.option(*flags, cls=GroupedOption, group=group, **attributes)


class GroupedCommand(click.Command):
    """A command whose help lists options without a group, then a section for each group."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {heading: [] for heading in (_NO_GROUP, *OPTION_GROUPS)}
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx)
            if record is not None and isinstance(option, click.Option):
                sections[getattr(option, "group", _NO_GROUP)].append(record)
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


class CommandGroup(click.Group):
    """A group that imports some commands when they are used, and suggests a name for a misspelt one.

    Parameters
    ----------
    modules : mapping
        Names of commands, and the modules that define each as `command`.
    """

    def __init__(self, *args: Any, modules: Mapping[str, str] | None = None, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self._modules = modules or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *self._modules]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._modules:
            return super().get_command(ctx, cmd_name)
        command = import_module(self._modules[cmd_name]).command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, known = args[0], self.list_commands(ctx)
        if name not in known and not ctx.resilient_parsing:
            advice = meant(name, known) or f": its commands are {', '.join(known)}"
            if name.endswith(".py") and "run" in known:
                advice = f": {ctx.command_path} run -np 4 {name} simulates it on 4 ranks"
            raise click.UsageError(f"{ctx.command_path} has no command {name!r}{advice}")
        return super().resolve_command(ctx, args)
