"""Options of a run, from their declarations in `smpy.options`, as options of click for any command."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import click

from smpy.cli.click_classes import GroupedOption, IntegerRange
from smpy.errors import UsageError
from smpy.option_texts import OneOf, WholeNumber
from smpy.options import OPTIONS, Option, RunConfig

PLACEMENT: Final = ("hostfile", "ranks_per_host", "map_by", "host_order")
"""Options that place ranks on hosts: with `seed`, parameters of `smpy.platforms.place`."""


def run_options(*names: str, **changes: Any) -> Callable[..., Any]:
    """Add options of a run to a command.

    Parameters
    ----------
    *names : str
        Fields of the options in a `RunConfig`, which become the command's parameters.
    **changes : object
        Attributes of click's options that differ from those of `smpy run`; `flags` are its names.
    """

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for name in reversed(names):
            option = OPTIONS[name]
            attributes = {"flags": option.flags, **_attributes(option), **changes}
            kind = _NetworkOption if name == "network" else GroupedOption
            command = click.option(*attributes.pop("flags"), name, cls=kind, **attributes)(command)
        return command

    return add


class _NetworkOption(GroupedOption):
    """Option whose help also lists the network models of installed packages."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        from smpy.platforms.models.network_models import registered_names
        from smpy.platforms.models.networks import DESCRIBED

        others = ", ".join(name for name in registered_names() if name not in DESCRIBED) or "none"
        self.help = f"{OPTIONS['network'].help} Of installed packages, with parameters as NAME:KEY=VALUE,...: {others}."
        return super().get_help_record(ctx)


def _attributes(option: Option) -> dict[str, Any]:
    attributes: dict[str, Any] = {"group": option.group, "help": option.help, "metavar": option.metavar}
    if option.shows_default:
        attributes |= {"default": option.shown_default, "show_default": True}
    match option.read:
        case None:
            return {**attributes, "is_flag": True}
        case WholeNumber(least, most):
            return {**attributes, "type": IntegerRange(least, most)}
        case OneOf(names):
            return {**attributes, "type": click.Choice(names)}
        case read:
            return {**attributes, "multiple": option.is_multiple, "callback": _callback(read)}


def _callback(read: Callable[[str], Any]) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """Make a callback of click that reads the text of a parameter, or all texts of a repeated one."""

    def callback(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
        try:
            return tuple(map(read, value)) if isinstance(value, tuple) else None if value is None else read(value)
        except ValueError as error:
            raise click.BadParameter(str(error), ctx, param) from error

    return callback


def config_of(parameters: Mapping[str, Any]) -> RunConfig:
    """Make a run from a command's parameters.

    Raises
    ------
    click.UsageError
        If they contradict each other.
    """
    fields: dict[str, Any] = {}
    for name, value in parameters.items():
        if value is not None:
            fields |= OPTIONS[name].fields_of(name, value) if name in OPTIONS else {name: value}
    config = RunConfig(**fields)
    try:
        config.check(lambda option: option.flag)
    except UsageError as error:
        raise click.UsageError(str(error)) from None
    return config
