"""Classes of click as smpy extends them.

An option names its group, and help shows it under that heading. A group of commands imports a command when it is asked
for, and names the nearest one where there is none.
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


class GroupedOption(click.Option):
    """An option that knows its group."""

    def __init__(self, *args: Any, group: OptionGroup, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.group = group


def grouped_option(*flags: str, group: OptionGroup, **attributes: Any) -> Callable[[_Command], _Command]:
    """`click.option`, in a group."""
    return click.option(*flags, cls=GroupedOption, group=group, **attributes)


class GroupedCommand(click.Command):
    """A command whose help has a section for each group of options, after options of no group."""

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
    """A group that imports some of its commands when they are asked for, and names the nearest of a misspelt one.

    Parameters
    ----------
    modules : mapping
        Commands and the modules in which each is `command`.
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
            raise click.UsageError(f"{ctx.command_path} has no command {name!r}{advice}")
        return super().resolve_command(ctx, args)
