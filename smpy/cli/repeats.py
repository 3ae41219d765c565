"""`smpy run --repeat`: the runs after the first one, each in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from smpy.cli.click_classes import GroupedCommand

if TYPE_CHECKING:
    from smpy.records.summary import Summary

_OF_FIRST: Final = ("repeat", "json_path", "profile", "quiet", "trace", "overwrite", "trace_window_s", "trace_ranks")
_ARGUMENTS: Final = "smpy.cli.arguments"


class RepeatableCommand(GroupedCommand):
    """A command that remembers how it was called."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_ARGUMENTS] = list(args)
        return super().parse_args(ctx, args)


def other_runs(ctx: click.Context, directory: str) -> Iterator[Summary]:
    """Perform the runs after the first, one after the other: their programs print nothing and find no input.

    Only the first run writes records, traces and bursts. Each run has the next seed.

    Parameters
    ----------
    ctx : click.Context
        Context of the command.
    directory : str
        Directory in which the first one ran.

    Raises
    ------
    UsageError, RunError, KeyboardInterrupt
        Under the conditions of `smpy.simulate`.
    """
    from smpy.runs.simulate import run_line

    for number in range(1, ctx.params["repeat"]):
        yield run_line(_line(ctx, ctx.params["seed"] + number), directory=directory).summary


def _line(ctx: click.Context, seed: int) -> list[str]:
    """Command line of a run with this seed that leaves no files."""
    options, *_ = ctx.command.make_parser(ctx).parse_args(args=list(ctx.meta[_ARGUMENTS]))
    line = [f"--seed={seed}"]
    for option in ctx.command.params:
        if not isinstance(option, click.Option) or option.name in (*_OF_FIRST, "seed") or option.name not in options:
            continue
        for value in _values(options[option.name]):
            text = "measured" if option.name == "compute" and value.startswith("record:") else value
            line += [max(option.opts, key=len), *([] if option.is_flag else [text])]
    return [*line, ctx.params["program"], *ctx.params["args"]]


def _values(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else [value]
