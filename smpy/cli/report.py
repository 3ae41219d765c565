"""`smpy report`: one page on a trace, or on a study."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from smpy.cli.progress import replay_progress
from smpy.cli.results import errors_told
from smpy.errors import DamagedFileError, SmpyError, UsageError

if TYPE_CHECKING:
    from smpy.records.trace import Trace
    from smpy.report.page import Analysis


@click.command("report", short_help="Write a page on a trace or a study, to look at.")
@click.argument("what", metavar="TRACE|STUDY", type=click.Path(exists=True, path_type=Path))
@click.option(
    "-o",
    "--output",
    "path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The page to write; by default report.html, or, of a study, a file that is named after it.",
)
@click.option(
    "--no-replay", is_flag=True, help="Leave out efficiencies, bounds and the causes of waits: they take time."
)
def command(what: Path, path: Path | None, *, no_replay: bool) -> None:
    """Write one page of HTML. It needs no network: any browser shows it from the file.

    On a trace: where the time went, what bounds the run, causes of waits, a timeline of its ranks. On a study, its TOML
    file or its folder: figures to choose, a table to sort. The words of the page are in the glossary: docs/glossary.md.

    \b
      smpy run -np 64 --trace trace jacobi.py
      smpy report trace -o jacobi.html
    """
    from smpy.study.study import Study, is_study

    with errors_told():
        if not is_study(what):
            _write_page(what, path or Path("report.html"), with_replays=not no_replay)
            return
        if no_replay:
            raise UsageError("--no-replay is for the page of a trace: that of a study has no replays")
        from smpy.cli.study import write_page

        write_page(Study(what), path)


def _write_page(folder: Path, path: Path, *, with_replays: bool) -> None:
    from smpy.records.files import check_writable
    from smpy.records.trace import Trace
    from smpy.report.page import write_report

    check_writable(path)
    trace = Trace(folder)
    write_report(trace, path, _analyses(trace) if with_replays else {})
    click.echo(f"{path} is written", err=True)


def _analyses(trace: Trace) -> dict[str, Analysis | str]:
    """Efficiencies, bounds and causes of waits, or reasons for their absence."""
    from smpy.analysis.pop_metrics import pop
    from smpy.analysis.run_bounds import bounds
    from smpy.analysis.wait_analysis import waits
    from smpy.replay import replay

    analyses: dict[str, Analysis | str] = {}
    traced = trace.info["trace"]
    if traced["window_s"] is not None or traced["ranks"] is not None:
        return {"What bounds the run": "The trace has a part of the run: efficiencies and bounds are of the whole."}
    with replay_progress() as progress:
        asked: dict[str, Callable[[], Any]] = {
            "Efficiencies": lambda: pop([trace], replay, progress=progress),
            "What bounds the run": lambda: bounds(trace, replay, progress=progress),
            "Causes of waits": lambda: waits(trace),
        }
        for title, find in asked.items():
            try:
                analyses[title] = find()
            except DamagedFileError:
                raise
            except SmpyError as error:
                analyses[title] = str(error)
    return analyses
