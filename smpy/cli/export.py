"""`smpy export`: a trace in the format of another tool."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from smpy.errors import UsageError

EXIT_USAGE = 2


@click.command("export", short_help="Write a trace in the format of another tool.")
@click.argument("folder", metavar="TRACE", type=click.Path(path_type=Path))
@click.option(
    "--to",
    "form",
    type=click.Choice(["perfetto", "csv"]),
    required=True,
    help="perfetto: JSON for https://ui.perfetto.dev and chrome://tracing; csv: a folder with a file for each table.",
)
@click.option(
    "-o",
    "--output",
    "path",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="What to write; by default TRACE.perfetto.json or TRACE.csv, here. A JSON that ends in .gz is compressed, and "
    "Perfetto reads it so.",
)
def command(folder: Path, form: str, path: Path | None) -> None:
    """Write a trace, which smpy run --trace has recorded, in the format of another tool.

    \b
      smpy export trace --to perfetto -o trace.json.gz
    """
    from smpy.records.export import export
    from smpy.records.trace import Trace

    try:
        written = export(Trace(folder), form, path)
    except UsageError as error:
        click.echo(f"smpy: {error}", err=True)
        sys.exit(EXIT_USAGE)
    click.echo(f"{written} is written", err=True)
