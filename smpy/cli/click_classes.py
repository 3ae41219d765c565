"""Classes of click as smpy extends them: an option names its group, and help shows it under that heading."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias, TypeVar, get_args

import click

_Command = TypeVar("_Command", bound=Callable[..., Any])
OptionGroup: TypeAlias = Literal[
    "Ranks", "Machine", "Model", "Collectives", "Computing", "Records", "Strictness", "Developer"
]
OPTION_GROUPS: Final = get_args(OptionGroup)  # in the order of help
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
