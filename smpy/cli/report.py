"""`smpy report`: one page on a trace."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from smpy.errors import UsageError

EXIT_USAGE = 2


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
def command(folder: Path, path: Path) -> None:
    """Write one page of HTML on a trace: what the run took, where the time went, a timeline of its ranks.

    The page needs no network: any browser shows it from the file.

    \b
      smpy run -np 64 --trace trace jacobi.py
      smpy report trace -o jacobi.html
    """
    from smpy.records.trace import Trace
    from smpy.report.page import write_report

    try:
        write_report(Trace(folder), path)
    except UsageError as error:
        click.echo(f"smpy: {error}", err=True)
        sys.exit(EXIT_USAGE)
    click.echo(f"{path} is written", err=True)
