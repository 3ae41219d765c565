"""`smpy study model`: formulas for the parts of a study's times, and predictions from them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from smpy.cli.click_classes import GroupedCommand
from smpy.cli.results import errors_told, json_option, plot_option, show
from smpy.errors import UsageError

if TYPE_CHECKING:
    from smpy.analysis.result import Result


@click.command("model", cls=GroupedCommand, short_help="Find formulas of times, and predict sizes that have not run.")
@click.argument("what", metavar="STUDY|TRACES.csv", type=click.Path(path_type=Path))
@click.option(
    "--of",
    "modelled",
    type=click.Choice(["makespan", "lost", "kernels", "counts"]),
    default="makespan",
    show_default=True,
    help='The makespan; lost time by category (the study keeps it: keep = ["lost"]); named kernels (keep = '
    '["profile"]); operations, messages and bytes on the critical path (keep = ["trace"]).',
)
@click.option(
    "--predict",
    "predicted",
    multiple=True,
    metavar="KEY=VALUE,...",
    help="Levels of an axis to predict, such as ranks=768,4096. Repeatable: all combinations.",
)
@click.option(
    "--validate",
    "validated",
    multiple=True,
    metavar="KEY=VALUE,...",
    help="Leave these points of the study out of the fit, and compare them with the prediction. Repeatable.",
)
@click.option(
    "--measured",
    type=click.Path(path_type=Path),
    metavar="TIMES.csv",
    help="With --of counts: times of real runs, a column per axis and `seconds`, for the costs of your machine.",
)
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder of its results; by default NAME.study beside its file.",
)
@json_option
@plot_option
def command(
    what: Path,
    modelled: str,
    predicted: tuple[str, ...],
    validated: tuple[str, ...],
    measured: Path | None,
    folder: Path | None,
    json_path: Path | None,
    plot_path: Path | None,
) -> None:
    """Find a formula for each part of a study's times, and predict points that have not run.

    STUDY has run, with axes of numbers. TRACES.csv lists imported traces of real runs instead: a column `trace`, and
    one for each axis but the ranks. A formula is a sum of at most two terms, chosen by the error at points left out; a
    prediction has a band of 95 %.

    \b
      smpy study model kernels.toml --of kernels --validate ranks=120 --predict ranks=768,4096
      smpy study model fft.toml --of lost --predict n=4096 --predict ranks=64
      smpy study model traces.csv --of kernels --predict ranks=768
      smpy study model cg.toml --of counts --measured times.csv --predict ranks=1024
    """
    with errors_told():
        from smpy.study.counts_model import counts_model
        from smpy.study.model import study_model
        from smpy.study.study import Study
        from smpy.study.trace_table import read_trace_table

        if what.suffix == ".csv" and modelled in ("lost", "counts"):
            raise UsageError(f"--of {modelled} needs a study: a table of traces has makespan and kernels")
        table = read_trace_table(what) if what.suffix == ".csv" else Study(what, folder).table()
        result: Result
        if modelled == "counts":
            if validated:
                raise UsageError("--of counts takes no --validate: leave rows out of the measured times instead")
            result = counts_model(table, measured=measured, predict=predicted)
        else:
            if measured is not None:
                raise UsageError("--measured goes with --of counts")
            result = study_model(table, modelled, predict=predicted, validate=validated)  # type: ignore[arg-type]
        show(result, json_path, plot_path)
