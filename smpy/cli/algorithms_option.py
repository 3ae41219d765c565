"""The option that says which algorithms collectives use; commands name it as they name what it changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from smpy.cli.click_classes import grouped_option


def _pairs(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    for value in values:
        if "=" not in value:
            raise click.BadParameter(f"{value!r} is not COLLECTIVE=NAME, such as alltoall=ring", ctx, param)
    return tuple((operation, name) for operation, _, name in (value.partition("=") for value in values))


def algorithms_option(flag: str, rest: str) -> Callable[..., Any]:
    """An option whose value is the command's `algorithms`; the rest of its help is the command's, too."""
    return grouped_option(
        flag,
        "algorithms",
        group="Collectives",
        multiple=True,
        callback=_pairs,
        metavar="COLLECTIVE=NAME",
        help=f"The algorithm a collective uses, such as alltoall=ring {rest} Repeatable.",
    )
