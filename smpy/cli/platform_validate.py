"""`smpy platform validate`: a machine beside benchmarks that were measured on the real one."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from smpy.cli.click_classes import GroupedCommand, IntegerRange
from smpy.cli.progress import replay_progress
from smpy.cli.results import errors_told, json_option, plot_option, show
from smpy.cli.run_options import PLACEMENT, run_options

RANKS_MAX: Final = 10_000_000  # as many as a host file may list


@click.command("validate", cls=GroupedCommand, short_help="Compare a machine with measured OSU benchmarks and HPL.")
@click.argument("what", metavar="MACHINE")
@click.argument("more_osu", nargs=-1, type=click.Path(path_type=Path), metavar="[FILES]...")
@click.option(
    "--osu",
    "osu",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Output of OSU benchmarks; more files may follow. Repeatable.",
)
@click.option(
    "--hpl",
    "hpl",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="HPL.out, or another text with HPL's results. Repeatable.",
)
@click.option(
    "--ranks",
    "n_ranks",
    type=IntegerRange(2, RANKS_MAX),
    metavar="N",
    help="Ranks of the OSU benchmarks of collectives, whose output does not have their number.",
)
@run_options("options", *PLACEMENT, "cpus_per_task", "seed")
@json_option
@plot_option
def command(
    what: str,
    more_osu: tuple[Path, ...],
    osu: tuple[Path, ...],
    hpl: tuple[Path, ...],
    n_ranks: int | None,
    options: tuple[tuple[str, str], ...],
    json_path: Path | None,
    plot_path: Path | None,
    **placement: Any,
) -> None:
    """Simulate measured benchmarks, show both times side by side, and name the numbers of the machine to change.

    The files are output of the OSU micro-benchmarks and of High-Performance Linpack. The two ranks of osu_latency,
    osu_bw and osu_bibw are on two hosts, if the machine has two; the options place those of collectives and of HPL.

    \b
      smpy platform validate cluster.toml --osu osu_latency.txt osu_bw.txt
      smpy platform validate cluster.toml --osu osu_allreduce.txt --ranks 256 --ppn 32 --hpl HPL.out
    """
    with errors_told():
        from smpy.options import OPTIONS
        from smpy.platforms.machine import read_machine
        from smpy.study.validation.hpl_files import read_hpl
        from smpy.study.validation.osu_files import read_osu
        from smpy.study.validation.simulations import ComparedMachine, MeasuredHpl, measured_osu
        from smpy.study.validation.validation import validate

        target = ComparedMachine(what, options, {OPTIONS[name].keyword: value for name, value in placement.items()})
        tables = [table for path in (*osu, *more_osu) for table in read_osu(path)]
        results = [result for path in hpl for result in read_hpl(path)]
        measured = [
            *(measured_osu(target, table, n_ranks) for table in tables),
            *(MeasuredHpl(target, result) for result in results),
        ]
        with replay_progress() as progress:
            result = validate(read_machine(what, n_ranks or 2, options).name, measured, progress)
        show(result, json_path, plot_path)
