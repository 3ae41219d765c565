"""`smpy export`: a trace, or the table of a study, in the format of another tool."""

from __future__ import annotations

from pathlib import Path

import click

from smpy.cli.results import errors_told
from smpy.errors import UsageError


@click.command("export", short_help="Write a trace or a study in the format of another tool.")
@click.argument("what", metavar="TRACE|STUDY", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--to",
    "form",
    type=click.Choice(["perfetto", "csv", "goal", "ti", "otf2", "paraver", "dimemas", "parquet", "extrap"]),
    required=True,
    help="perfetto: JSON for https://ui.perfetto.dev and chrome://tracing; csv: of a trace a folder with a file for "
    "each table, of a study its table; goal: of a trace a program of LogGOPSim, which smpy replay performs, too; "
    "ti: of a trace a folder with a time-independent trace, for smpirun -replay and smpy replay; "
    "dimemas: of a trace a .dim; "
    "paraver: of a trace a .prv, with its .pcf and .row; "
    "otf2: of a trace a folder with an archive for Vampir, Scalasca and the like; "
    "parquet: a study's table; extrap: JSON for Extra-P (extrap --json).",
)
@click.option(
    "-o",
    "--output",
    "path",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="File or folder to write; by default one here that is named after the trace or study. A JSON for Perfetto "
    "whose name ends in .gz is compressed.",
)
def command(what: Path, form: str, path: Path | None) -> None:
    """Write a trace, which smpy run --trace has recorded, or the table of a study in the format of another tool.

    \b
      smpy export trace --to perfetto -o trace.json.gz
      smpy export capacity.toml --to csv
    """
    from smpy.export import FORMATS, export
    from smpy.records.trace import Trace
    from smpy.study.export import SUFFIXES
    from smpy.study.study import Study, is_study

    with errors_told():
        formats = SUFFIXES if is_study(what) else FORMATS
        if form not in formats:
            raise UsageError(f"{what} is not written as {form}, but as {' or '.join(formats)}")
        if is_study(what):
            from smpy.cli.study import write_table_as

            write_table_as(form, Study(what), path)
            return
        click.echo(f"{export(Trace(what), form, path)} is written", err=True)
