"""`smpy study scale`: a study of one program on more and more ranks, from one command line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from smpy.cli.click_classes import GroupedCommand, IntegerRange, NumberRange
from smpy.cli.interrupts import hear_interrupts
from smpy.cli.progress import replay_progress, study_progress
from smpy.cli.results import errors_told, json_option, plot_option, show
from smpy.cli.run import EXIT_INTERRUPTED
from smpy.cli.run_options import config_of, run_options
from smpy.errors import UsageError
from smpy.options import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from smpy.analysis.result import Result
    from smpy.study.scale import Growth

_NOT_OF_A_POINT: Final = (
    "n_ranks", "json_path", "profile", "quiet", "repeat", "trace", "overwrite", "trace_window_s", "trace_ranks",
    "label", "output_dir", "pdb", "pdb_rank",
)  # fmt: skip


class _Command(GroupedCommand):
    """Takes arguments after the program as its own if `--ranks` stands before it; else those after `--`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.allow_interspersed_args = False
        written, _, _ = self.make_parser(ctx).parse_args(list(args))
        ctx.allow_interspersed_args = "ranks" not in written
        return super().parse_args(ctx, args)


def _ranks(ctx: click.Context, param: click.Parameter, value: str) -> Sequence[int]:
    from smpy.study.scale import read_ranks

    try:
        return read_ranks(value)
    except UsageError as error:
        raise click.BadParameter(str(error), ctx, param) from error


def _growth(ctx: click.Context, param: click.Parameter, value: str | None) -> Growth | None:
    from smpy.study.scale import read_growth

    try:
        return None if value is None else read_growth(value)
    except UsageError as error:
        raise click.BadParameter(str(error), ctx, param) from error


@click.command(
    "scale", cls=_Command, short_help="Run a program on more and more ranks: speed-up, efficiency, knee, limits."
)
@click.option(
    "--ranks",
    required=True,
    callback=_ranks,
    metavar="FIRST:LAST",
    help="Numbers of ranks, doubled from the first to the last; FIRST:LAST:4: times 4 each; or a list, such as 1,3,9.",
)
@click.option(
    "--weak",
    callback=_growth,
    metavar="ARG[:EXPONENT]",
    help="An argument of the program, as it is on one rank, is multiplied by the ranks (to the power of EXPONENT, such "
    "as --n:1/2 for the side of a square), so that each rank has as much work. Without it: as much together.",
)
@click.option(
    "--efficiency",
    type=NumberRange(0, 1, min_open=True, max_open=True),
    metavar="SHARE",
    help="Find the size (--size) at which each number of ranks has this parallel efficiency, such as 0.8.",
)
@click.option(
    "--size",
    metavar="ARG",
    help="With --efficiency: the argument of the program that is its size, such as --n; the search begins there.",
)
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder of the study's results; by default PROGRAM-scale.study, with --efficiency "
    "PROGRAM-equal-efficiency.study.",
)
@click.option(
    "--workers",
    type=IntegerRange(min=1),
    metavar="N",
    help="Runs at a time. By default one where computing is measured, as runs disturb each other; else one a core, but "
    "for one.",
)
@run_options(
    "repeat", help="Runs on each number of ranks: median, lowest and highest time, and differences that may be noise."
)
@json_option
@plot_option
@run_options(*(name for name in OPTIONS if name not in _NOT_OF_A_POINT))
@click.argument("program")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def command(
    ranks: Sequence[int],
    weak: Growth | None,
    efficiency: float | None,
    size: str | None,
    folder: Path | None,
    workers: int | None,
    repeat: int | None,
    json_path: Path | None,
    plot_path: Path | None,
    program: str,
    args: tuple[str, ...],
    **run_parameters: Any,
) -> None:
    """Run a program on more and more ranks, and report its speed-up, efficiency and the factors that limit it.

    The options of `smpy run` say where it runs. The program's arguments follow it, or -- where --ranks does.

    \b
      smpy study scale jacobi.py --ranks 1:1024
      smpy study scale --ranks 1:1024 --platform cluster.toml jacobi.py --n 8192
      smpy study scale jacobi.py --ranks 1:256 --weak --n:1/2 -- --n 1024
      smpy study scale jacobi.py --ranks 4:256 --efficiency 0.8 --size --n -- --n 1024
    """
    with errors_told():
        if (efficiency is None) != (size is None):
            raise UsageError("--efficiency and --size go together: --efficiency 0.8 --size --n")
        if efficiency is not None and weak is not None:
            raise UsageError("--weak and --efficiency both change the size: leave one of them out")
        if efficiency is not None and repeat is not None:
            raise UsageError("--efficiency runs each size once: leave --repeat out")
        from smpy.runs.run_text import options_of
        from smpy.study.equal_efficiency import equal_efficiency
        from smpy.study.scale import scale

        options = options_of(config_of({"program": program, "n_ranks": ranks[0], **run_parameters}))
        del options["ranks"]
        program_args = args[args[:1] == ("--",) :]
        hear_interrupts()
        result: Result
        try:
            with study_progress() as progress, replay_progress() as show_replay:
                if efficiency is not None and size is not None:
                    result = equal_efficiency(
                        program,
                        program_args,
                        ranks,
                        argument=size,
                        efficiency=efficiency,
                        options=options,
                        folder=folder,
                        workers=workers,
                        progress=progress,
                    )
                else:
                    result = scale(
                        program,
                        program_args,
                        ranks,
                        options=options,
                        weak=weak,
                        folder=folder,
                        workers=workers,
                        repetitions=repeat or 1,
                        progress=progress,
                        replay_progress=show_replay,
                    )
        except KeyboardInterrupt:
            click.echo("smpy: interrupted: runs that have ended are kept; the same command goes on", err=True)
            sys.exit(EXIT_INTERRUPTED)
        show(result, json_path, plot_path)
