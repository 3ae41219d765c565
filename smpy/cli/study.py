"""`smpy study`: many runs, compared."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from smpy.cli.click_classes import CommandGroup, IntegerRange
from smpy.cli.interrupts import hear_interrupts
from smpy.cli.progress import study_progress
from smpy.cli.results import error_line, errors_told, print_text
from smpy.cli.throughput_text import computing_lines, throughput_table
from smpy.errors import UsageError
from smpy.units import format_time

if TYPE_CHECKING:
    from smpy.study.points import Point
    from smpy.study.study import Study

EXIT_FAILURE: Final = 1
EXIT_INTERRUPTED: Final = 130
_SHOWN_MAX: Final = 12  # points or errors shown
_ROWS_MAX: Final = 40
_OWN_MODULES: Final = {
    "buy": "smpy.cli.study_buy",
    "model": "smpy.cli.study_model",
    "scale": "smpy.cli.study_scale",
    "sensitivity": "smpy.cli.study_sensitivity",
}


@click.group("study", cls=CommandGroup, modules=_OWN_MODULES, short_help="Run a program many times, and compare.")
def command() -> None:
    """Run a program on many machines, sizes and numbers of ranks, and compare.

    STUDY is a TOML file, or the folder of a study that has run. A study that was cut short goes on where it was.

    \b
      smpy study plan capacity.toml
      smpy study run capacity.toml
      smpy study report capacity.toml -o capacity.html
    """


study_argument: Final = click.argument("what", metavar="STUDY", type=click.Path(path_type=Path))
folder_option: Final = click.option(
    "--folder",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder of its results; by default NAME.study beside its file.",
)
workers_option: Final = click.option(
    "--workers",
    type=IntegerRange(min=1),
    metavar="N",
    help="Processes on this machine; by default one a core, less one.",
)
retry_option: Final = click.option("--retry-failed", is_flag=True, help="Run points again that have failed.")
output_option: Final = click.option(
    "-o",
    "--output",
    "path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File to write; by default one here that is named after the study.",
)


def open_study(what: Path, folder: Path | None) -> Study:
    from smpy.study.study import Study

    return Study(what, folder)


@command.command("plan", short_help="List the points, and estimate their time.")
@study_argument
@folder_option
@click.option("--probe", type=IntegerRange(min=1), metavar="N", help="Run N points, to estimate the time of all.")
@workers_option
def plan(what: Path, folder: Path | None, probe: int | None, workers: int | None) -> None:
    """List the points of a study, and estimate how long they will take.

    Points that a probe has run need not run again.
    """
    with errors_told():
        from smpy.study.dask_cluster import n_workers_here
        from smpy.study.estimate import seconds_left

        study = open_study(what, folder)
        points = study.points
        study.check()
        if probe is not None:
            run_points(study, workers=workers, only=_spread(points, probe))
        print_text("\n".join([_head(study), *_lines(study, points)]))
        state = study.state()
        ended = [(point, entry) for point in points if (entry := state.current(point.key)) is not None]
        failed = [(_point_at(study, point), entry.error) for point, entry in ended if entry.error]
        if failed:
            print_text("\n".join(_failed_lines(failed)))
        left = [point for point in points if state.current(point.key) is None]
        times = [(point, entry.row["wall_s"]) for point, entry in ended if not entry.error]
        n_workers = workers or n_workers_here()
        left_s = seconds_left(left, times, n_workers)
        if not left:
            print_text("all have run")
        elif left_s is None:
            print_text("their time is known once some have run: --probe 6 runs six")
        else:
            on = "1 worker" if n_workers == 1 else f"{n_workers} workers"
            print_text(
                f"{len(left):,} are left: about {format_time(left_s)} on {on}, after {len(times):,} that have run"
            )


def _spread(points: list[Point], n: int) -> list[Point]:
    """Evenly spread points, with the first and the last."""
    if n >= len(points):
        return points
    return [points[round(i * (len(points) - 1) / max(n - 1, 1))] for i in range(n)]


def _head(study: Study) -> str:
    definition, n = study.definition, len(study.points)
    repetitions = f", {definition.repetitions} repetitions each" if definition.repetitions > 1 else ""
    programs = ", ".join(program.name or program.program for program in definition.programs)
    return f"smpy: study {study.name}: {programs}, {'1 point' if n == 1 else f'{n:,} points'}{repetitions}"


def _lines(study: Study, points: list[Point]) -> Iterator[str]:
    from smpy.records.text_table import text_table

    names = ["point", *study.definition.axis_names]
    shown = points if len(points) <= _SHOWN_MAX else [*points[: _SHOWN_MAX // 2], *points[-_SHOWN_MAX // 2 :]]
    rows = [[f"{point.number}", *map(str, point.values)] for point in shown]
    if len(shown) < len(points):
        rows.insert(_SHOWN_MAX // 2, ["..."] + [""] * (len(names) - 1))
    yield from text_table(names, rows).splitlines()


@command.command("run")
@study_argument
@folder_option
@workers_option
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="A Dask scheduler, such as tcp://10.0.0.1:8786, whose workers run the points.",
)
@click.option(
    "--cache",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Take results of equal runs from this folder, and leave them there.",
)
@retry_option
@click.option(
    "--dashboard", is_flag=True, help="Show Dask's dashboard on this machine (127.0.0.1) while points run; needs bokeh."
)
@click.option("--quiet", is_flag=True, help="Show neither progress nor a summary.")
def run(what: Path, folder: Path | None, quiet: bool, dashboard: bool, **how: Any) -> None:
    """Run the points of a study that have not run.

    Each is in the study's folder as soon as it has ended. After Ctrl-C, a crash or a full disk the same command goes
    on; so it does when axes have got more values. Points whose sources or inputs have changed run again.
    """
    with errors_told():
        study = open_study(what, folder)
        stale = study.state().stale
        if stale and not quiet:
            why = next(iter(stale.values()))
            _say(f"smpy: {_n_points(len(stale))} will run again: {why}")
        run_points(study, is_quiet=quiet, show_dashboard=_tell_dashboard if dashboard else None, **how)
        if not quiet:
            print_text("\n".join([_status(study), *_results(study)]))
            for line in _throughputs(study):
                print_text(line)
        if any(entry.error for entry in study.state().entries.values()):
            sys.exit(EXIT_FAILURE)


def _tell_dashboard(address: str) -> None:
    _say(f"smpy: Dask's dashboard is at {address}")


def run_points(study: Study, *, is_quiet: bool = False, **how: Any) -> None:
    """Run points; after Ctrl-C, report how many are kept."""
    hear_interrupts()
    try:
        with study_progress(is_wanted=not is_quiet) as progress:
            study.run(progress=progress, **how)
    except KeyboardInterrupt:
        points = how["search"].points if "search" in how else study.points
        state = study.state(points)
        n_ended = sum(state.current(point.key) is not None for point in points)
        kept = f"{n_ended:,} of {_n_points(len(points))} have ended and are kept"
        _say(f"smpy: interrupted: {kept}; the same command goes on")
        sys.exit(EXIT_INTERRUPTED)


def _results(study: Study) -> Iterator[str]:
    """Results of a study of a few points; tables of more are too long to read."""
    from smpy.records.text_table import text_table
    from smpy.study.uncertainty import Estimate, estimates

    table = study.table()
    frame = estimates(table)
    if not 0 < len(frame) <= _ROWS_MAX:
        return
    rows = [
        [
            *(f"{row[name]}" for name in table.axes),
            str(Estimate(row["makespan_s"], row["half_width_s"])),
            *(f"{row[name]}" for name in table.results),
        ]
        for row in frame.to_dict("records")
    ]
    yield from text_table([*table.axes, "makespan", *table.results], rows).splitlines()


def _throughputs(study: Study) -> Iterator[str]:
    """Throughputs of the machines on which all programs of a study have run."""
    from smpy.study.mix import no_throughput, throughputs

    if study.definition.weight_kind is None:
        return
    state = study.state()
    rows = throughputs(study.definition, study.points, state)
    if not rows:
        yield f"throughput: not known: {no_throughput(study.definition)}"
    elif len(rows) <= _ROWS_MAX:
        yield from throughput_table(study.definition, rows)
    yield from computing_lines(study.definition, study.points, state)


@command.command("status", short_help="Count the points that have run, and name failed ones.")
@study_argument
@folder_option
def status(what: Path, folder: Path | None) -> None:
    """Count the points of a study that have run, and name those that failed."""
    with errors_told():
        print_text(_status(open_study(what, folder)))


def _n_points(n: int) -> str:
    return "1 point" if n == 1 else f"{n:,} points"


def _status(study: Study) -> str:
    from smpy.study.candidates import points_between

    own, between = study.points, points_between(study.definition)
    state = study.state([*own, *between])
    ended, ended_between = (
        [(point, entry) for point in points if (entry := state.current(point.key)) is not None]
        for points in (own, between)
    )
    bought = f", and {len(ended_between):,} runs of sizes between" if ended_between else ""
    running = ", and it is running" if study.is_running else ""
    facts = [
        _head(study),
        f"  folder         {study.folder}",
        f"  ended          {len(ended):,} of {len(own):,}{bought}{running}",
    ]
    reused = sum(bool(entry.row.get("is_reused")) for _, entry in ended)
    if reused:
        facts.append(f"  reused         {reused:,}: equal runs of other studies")
    if state.stale:
        why = next(iter(state.stale.values()))
        facts.append(f"  stale          {len(state.stale):,}, which the next run replaces: {why}")
    failed = [
        (_point_at(study, point) if place is ended else _at(study, point), entry.error)
        for place in (ended, ended_between)
        for point, entry in place
        if entry.error
    ]
    if failed:
        facts += _failed_lines(failed)
    return "\n".join(facts)


def _failed_lines(failed: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Lines on runs that failed, from their places and errors."""
    yield f"  failed         {len(failed):,} (--retry-failed runs them again)"
    yield from (f"    {place}: {error_line(error)}" for place, error in failed[:_SHOWN_MAX])
    if len(failed) > _SHOWN_MAX:
        yield f"    and {len(failed) - _SHOWN_MAX:,} more"


def _point_at(study: Study, point: Point) -> str:
    """Number of a point, and the values of the axes there."""
    return f"point {point.number} ({_at(study, point)})"


def _at(study: Study, point: Point) -> str:
    """Values of the axes at a point."""
    return ", ".join(f"{name} {value}" for name, value in zip(study.definition.axis_names, point.values, strict=True))


@command.command("report", short_help="Write a page of HTML: figures to choose, a table to sort.")
@study_argument
@folder_option
@output_option
def report(what: Path, folder: Path | None, path: Path | None) -> None:
    """Write one page of HTML on a study: figures to choose, a table to sort. It needs no network."""
    with errors_told():
        write_page(open_study(what, folder), path)


def write_page(study: Study, path: Path | None) -> None:
    """Write the page of a study, by default to a file here that is named after it, and say so."""
    from smpy.report.study_page import write_study_report

    target = Path(f"{study.name}.html") if path is None else path
    write_study_report(_table(study), target)
    _say(f"{target} is written")


@command.command("export")
@study_argument
@folder_option
@click.option(
    "--to",
    "form",
    type=click.Choice(["csv", "parquet", "extrap"]),
    required=True,
    help="csv, parquet: the table; extrap: JSON for Extra-P (extrap --json).",
)
@output_option
def export(what: Path, folder: Path | None, form: str, path: Path | None) -> None:
    """Write the table of a study for other tools."""
    with errors_told():
        write_table_as(form, open_study(what, folder), path)


def write_table_as(form: str, study: Study, path: Path | None) -> None:
    """Write the table of a study, by default to a file here that is named after it, and say so."""
    from smpy.study.export import SUFFIXES, write_table

    target = Path(study.name + SUFFIXES[form]) if path is None else path
    write_table(_table(study), form, target)
    _say(f"{target} is written")


def _table(study: Study) -> Any:
    table = study.table()
    if table.frame.empty:
        raise UsageError(
            f"no point of the study has ended: run it first (smpy study run); its folder is {study.folder}"
        )
    return table


def _say(text: str) -> None:
    click.echo(text, err=True)
