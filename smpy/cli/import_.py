"""`smpy import`: a trace that another tool wrote, as a trace of smpy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from smpy.cli.click_classes import GroupedCommand, grouped_option
from smpy.cli.results import errors_told
from smpy.cli.run_options import run_options
from smpy.importers.formats import FORMATS
from smpy.units import parse_frequency_hz

if TYPE_CHECKING:
    from smpy.records.trace import Trace


def _frequency(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    if value is None:
        return None
    try:
        frequency_hz = parse_frequency_hz(value)
    except ValueError as error:
        raise click.BadParameter(str(error), ctx, param) from None
    if not frequency_hz > 0:
        raise click.BadParameter(f"{value!r} is no frequency of a clock", ctx, param)
    return frequency_hz


@click.command("import", cls=GroupedCommand, short_help="Read a trace of a real run, which another tool wrote.")
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@grouped_option(
    "-o",
    "--output",
    "to",
    group="Records",
    type=click.Path(path_type=Path),
    required=True,
    metavar="TRACE",
    help="Folder of the new trace.",
)
@grouped_option(
    "--from",
    "form",
    group="Records",
    type=click.Choice(list(FORMATS)),
    help="Format of FILE. Without it: found by looking at the file.",
)
@grouped_option("--overwrite", group="Records", is_flag=True, help="Replace a trace of another program.")
@run_options("platform", help="Machine to write into the trace, for smpy replay. Without it: the trace names none.")
@run_options("n_ranks", help="Number of ranks, where FILE does not have it.")
@run_options(
    "host_speed_flop_per_s",
    help="Speed of a core of the traced machine; computing is scaled by it. Without it: computing keeps its seconds.",
)
@grouped_option("--cycles", group="Computing", metavar="COUNTER", help="Take computing from this counter of cycles.")
@grouped_option(
    "--frequency",
    "frequency_hz",
    group="Computing",
    callback=_frequency,
    metavar="FREQUENCY",
    help="Cycles of that counter in a second: 2.4GHz.",
)
@grouped_option(
    "--keep-calls",
    "keeps_calls",
    group="Computing",
    is_flag=True,
    help="Keep the time of calls to files and windows, which cannot be replayed. Without it: they are refused.",
)
def command(path: Path, to: Path, **options: Any) -> None:
    """Read a trace of a real run, which another tool wrote, as a trace of smpy.

    smpy analyze and report then explain the real run, and smpy replay --platform says how long it would take on another
    machine.

    \b
      smpy import scorep/traces.otf2 -o trace
      smpy import scorep/traces.otf2 -o trace --platform cluster.toml --host-speed 12Gf
    """
    from smpy.cli.progress import share_progress
    from smpy.importers import import_trace

    with errors_told():
        with share_progress("read") as on_progress:
            trace = import_trace(path, to, **options, on_progress=on_progress)
        click.echo(_text(trace), err=True)


def _text(trace: Trace) -> str:
    n_ranks = f"{trace.n_ranks:,} rank{'s' * (trace.n_ranks != 1)}"
    remarks = [f"  {each['count']:,} times: {each['text']}" for each in trace.info["remarks"]]
    return "\n".join([f"{trace.folder} is written: {n_ranks}", *remarks])
