"""`smpy report`: one page on a trace."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from smpy.cli.progress import replays_told
from smpy.errors import SmpyError, UsageError

if TYPE_CHECKING:
    from smpy.records.trace import Trace
    from smpy.report.page import Analysis

EXIT_USAGE: Final = 2


@click.command("report", short_help="Write a page on a trace, to look at.")
@click.argument("folder", metavar="TRACE", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    "path",
    type=click.Path(path_type=Path),
    default=Path("report.html"),
    show_default=True,
    metavar="FILE",
    help="The page to write.",
)
@click.option(
    "--no-replay", is_flag=True, help="Leave out what replays find, efficiencies and bounds: that takes time."
)
def command(folder: Path, path: Path, *, no_replay: bool) -> None:
    """Write one page of HTML on a trace: where the time went, what bounds the run, a timeline of its ranks.

    The page needs no network: any browser shows it from the file.

    \b
      smpy run -np 64 --trace trace jacobi.py
      smpy report trace -o jacobi.html
    """
    from smpy.records.files import check_writable
    from smpy.records.trace import Trace
    from smpy.report.page import write_report

    try:
        check_writable(path)
        trace = Trace(folder)
        write_report(trace, path, {} if no_replay else _analyses(trace))
    except UsageError as error:
        click.echo(f"smpy: {error}", err=True)
        sys.exit(EXIT_USAGE)
    click.echo(f"{path} is written", err=True)


def _analyses(trace: Trace) -> dict[str, Analysis | str]:
    """What replays of the trace find, or why they cannot."""
    from smpy.analysis.bounds import bounds
    from smpy.analysis.pop import pop
    from smpy.replay import replay

    found: dict[str, Analysis | str] = {}
    traced = trace.info["trace"]
    if traced["window_s"] is not None or traced["ranks"] is not None:
        return {"What bounds the run": "The trace has a part of the run: efficiencies and bounds are of the whole."}
    with replays_told() as told:
        asked: dict[str, Callable[[], Any]] = {
            "Efficiencies": lambda: pop([trace], replay, told=told),
            "What bounds the run": lambda: bounds(trace, replay, told=told),
        }
        for title, find in asked.items():
            try:
                found[title] = find()
            except SmpyError as error:
                found[title] = str(error)
    return found
