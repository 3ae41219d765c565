"""`smpy coll`: the algorithms of collectives, listed and compared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from smpy.cli.click_classes import CommandGroup
from smpy.cli.results import errors_told, json_option, plot_option, show, tell
from smpy.cli.run_options import PLACEMENT, run_options
from smpy.errors import UsageError


@click.group("coll", cls=CommandGroup, short_help="Algorithms of collectives: list them, compare them.")
def command() -> None:
    """List the algorithms of collectives and the tables that choose among them, or compare them on a machine."""


@command.command("list", short_help="List algorithms: their names, numbers, sources and needs.")
@click.argument("operation", metavar="[OP]", required=False)
@json_option
def list_algorithms(operation: str | None, json_path: Path | None) -> None:
    """List the algorithms of an operation, or of all, and the tables that choose.

    Each has its name here, its names in SimGrid, the numbers that MPI libraries give it, what it needs, and the paper
    or the code it is known from.

    \b
      smpy coll list
      smpy coll list alltoall
    """
    with errors_told():
        from smpy.collectives.listing import known_algorithms, known_tables, listing_text

        algorithms, tables = known_algorithms(operation), known_tables() if operation is None else {}
        tell(listing_text(algorithms, tables), {"algorithms": algorithms, "tables": tables}, json_path)


def _ranks(ctx: click.Context, param: click.Parameter, value: str) -> Sequence[int]:
    from smpy.study.scale import read_ranks

    try:
        return read_ranks(value, fewest=2)  # one rank alone sends no messages
    except UsageError as error:
        raise click.BadParameter(str(error), ctx, param) from error


def _tables(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str] | None:
    return None if value is None else [name.strip() for name in value.split(",") if name.strip()]


@command.command("compare", short_help="Time every algorithm on a machine, and show the loss of each table's choice.")
@click.argument("operation", metavar="OP")
@click.option(
    "--ranks",
    required=True,
    callback=_ranks,
    metavar="N,...",
    help="Numbers of ranks: a list such as 64,256, or FIRST:LAST, doubled from the first to the last.",
)
@click.option(
    "--bytes",
    "sizes",
    default="8:1MiB",
    show_default=True,
    metavar="SIZES",
    help="Bytes of the message of bcast, reduce, allreduce, scan and exscan, of a rank's block of the others: "
    "FIRST:LAST, doubled, or a list such as 8,64KiB.",
)
@run_options("platform", "options", "network", *PLACEMENT, "seed")
@click.option(
    "--tables",
    callback=_tables,
    metavar="NAME,...",
    help="Tables whose choices are compared: names or files, as --collectives of smpy run takes them. Without it: the "
    "machine's own.",
)
@json_option
@plot_option
@click.option(
    "--write-table",
    "table_path",
    type=click.Path(path_type=Path),
    metavar="FILE.json",
    help="Write the table that chooses the best, for --collectives of smpy run.",
)
def compare(
    operation: str,
    ranks: Sequence[int],
    sizes: str,
    tables: list[str] | None,
    json_path: Path | None,
    plot_path: Path | None,
    table_path: Path | None,
    **machine: Any,
) -> None:
    """Compare the algorithms of a collective on a machine.

    The kernel performs each algorithm once for each number of ranks and each size, without a program: all ranks enter
    at once, and the time is that until the last one has left.

    \b
      smpy coll compare alltoall --ranks 64,256 --bytes 8:1MiB --platform hdr
      smpy coll compare bcast --ranks 64 --tables smpi,mpich-4 --plot bcast.html
      smpy coll compare allreduce --ranks 16:1024 --write-table best.json
    """
    with errors_told():
        from smpy.study.collective_comparison import compare_collective

        result = compare_collective(operation, ranks, sizes, tables=tables, **machine)
        if table_path is not None:
            result.write_best_table(table_path)
        show(result, json_path, plot_path)
