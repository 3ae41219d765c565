"""`smpy run`: an mpi4py program on a simulated machine."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from smpy.cli.click_classes import GroupedCommand
from smpy.cli.repeats import other_runs, run_without_background
from smpy.cli.run_options import config_of, run_options
from smpy.errors import Interrupted, SmpyError, UsageError
from smpy.option_texts import NO_BACKGROUND
from smpy.options import OPTIONS, RunConfig
from smpy.records.files import check_writable
from smpy.runs.own_stream import end_line, hurry, own_streams

if TYPE_CHECKING:
    from smpy.emulate.run.run import Outcome

EXIT_FAILURE: Final = 1
EXIT_USAGE: Final = 2
EXIT_INTERRUPTED: Final = 130  # 128 + SIGINT, the exit code of shells


@click.command(
    "run",
    cls=GroupedCommand,
    context_settings={"allow_interspersed_args": False},
    short_help="Run an mpi4py program.",
)
@run_options(*OPTIONS)
@click.argument("program")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def command(**parameters: Any) -> None:
    """Run an mpi4py program on a simulated machine.

    PROGRAM is a Python file, or with -m a module; its arguments follow it. The exit code is the first one of a rank,
    in simulated time, that is not 0. The summary follows however the program ends.

    \b
      smpy run -np 16 program.py --steps 100
      smpy run -np 4096 --platform cluster.xml --compute none --json summary.json program.py
    """
    end: Callable[[int], NoReturn] = sys.exit
    with own_streams():
        try:
            config = _config(parameters)
            json_path = None if config.json_path is None else config.json_path.absolute()  # programs change folders
            if json_path is not None:
                check_writable(json_path)
                import hashlib  # noqa: F401  # its record needs it, perhaps when there is no memory left to load it
            has_background = config.background not in (None, NO_BACKGROUND)
            runs_again = config.repeat > 1 or config.check_wildcards or has_background
            directory = os.getcwd() if runs_again else ""
            outcome = _run(config)
            if config.check_wildcards and not outcome.first_exit and not any(map(isnan, outcome.summary.finish_s)):
                outcome = _with_other_messages(config, outcome, directory)
            if has_background and outcome.error is None and not outcome.exit_code:
                outcome = _with_cost_of_background(config, outcome, directory)
            if config.repeat > 1 and outcome.error is None and not outcome.exit_code:
                outcome = _repeated(config, outcome, directory)
        except KeyboardInterrupt:
            _say("smpy: interrupted before the simulation started")
            code = EXIT_INTERRUPTED
        except SmpyError as error:
            _say(f"smpy: {error}")
            code = EXIT_USAGE if isinstance(error, UsageError) else EXIT_FAILURE
        else:
            code = _report(outcome, json_path, is_quiet=config.quiet, shows_profile=config.profile)
            if outcome.error is not None:
                from smpy.emulate.reports.left_behind import leave as end
    end(code)


def config_from(arguments: list[str]) -> RunConfig:
    """Read a run from arguments of this command.

    Raises
    ------
    click.ClickException, click.exceptions.Exit
        If they describe no run.
    """
    return _config(command.make_context("smpy run", arguments).params)


def _config(parameters: Mapping[str, Any]) -> RunConfig:
    if parameters["n_ranks"] is None:
        raise click.UsageError(_without_ranks(parameters["program"], parameters["args"]))
    return config_of(parameters)


def _without_ranks(program: str, args: tuple[str, ...]) -> str:
    """Error for a number of ranks that is missing, or stands among the program's arguments."""
    late = next((i for i, arg in enumerate(args[:-1]) if arg in ("-np", "-n")), None)
    if late is None:
        return f"how many ranks? Say -np N, as in: smpy run -np 4 {program}"
    return (
        f"what follows the program is its own, so {args[late]} must stand before it: "
        f"smpy run {args[late]} {args[late + 1]} {program}"
    )


def _run(config: RunConfig) -> Outcome:
    from smpy.cli.progress import progress_line
    from smpy.emulate.run.run import run

    has_tables = config.profile or config.json_path is not None or config.trace is not None
    with progress_line(is_wanted=not config.quiet) as line:
        return run(config, line, counts_links=has_tables or not config.quiet, counts_pairs=has_tables)


def _with_other_messages(config: RunConfig, outcome: Outcome, directory: str) -> Outcome:
    """Outcome of the run, with a remark on further runs in which receives take other messages."""
    from smpy.cli.wildcards import remark_on_other_messages

    try:
        remark = remark_on_other_messages(config, directory)
    except Interrupted as interrupted:
        return outcome._replace(error=interrupted, exit_code=EXIT_INTERRUPTED)
    if remark is None:
        return outcome
    outcome = outcome._replace(summary=replace(outcome.summary, remarks=(*outcome.summary.remarks, remark)))
    if not (config.strict and remark.is_fault):
        return outcome
    texts = [] if outcome.error is None else [str(outcome.error)]
    error = SmpyError("\n".join([*texts, f"{remark.topic}: {remark.lines[0]}", *remark.lines[1:]]))
    return outcome._replace(error=error, exit_code=EXIT_FAILURE)


def _with_cost_of_background(config: RunConfig, outcome: Outcome, directory: str) -> Outcome:
    """Outcome of the run, whose remark on its background has the makespan without it."""
    from smpy.replay.background import with_cost
    from smpy.runs.run import RunError

    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    try:
        without_s = run_without_background(config, directory).makespan_s
    except RunError as failed:
        return outcome._replace(
            error=SmpyError(f"the run without --background failed: {failed}"), exit_code=EXIT_FAILURE
        )
    except KeyboardInterrupt:
        error = Interrupted("interrupted in the run without --background")
        return outcome._replace(error=error, exit_code=EXIT_INTERRUPTED)
    summary = outcome.summary
    remarks = tuple(
        with_cost(remark, summary.makespan_s, without_s) if remark.topic == "background" else remark
        for remark in summary.remarks
    )
    return outcome._replace(summary=replace(summary, remarks=remarks))


def _repeated(config: RunConfig, outcome: Outcome, directory: str) -> Outcome:
    """Outcome of the first run, with results of all runs in its summary; any failed run fails the command."""
    from smpy.records.repeats import Repeats
    from smpy.runs.run import RunError

    summaries, error = [outcome.summary], None
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    try:
        summaries.extend(other_runs(config, directory))
    except RunError as failed:
        error = SmpyError(f"run {len(summaries) + 1} of {config.repeat} failed: {failed}")
    except KeyboardInterrupt:
        error = Interrupted(f"interrupted in run {len(summaries) + 1} of {config.repeat}")
    repeats = Repeats([summary.makespan_s for summary in summaries], [summary.shares for summary in summaries])
    code = 0 if error is None else EXIT_INTERRUPTED if isinstance(error, Interrupted) else EXIT_FAILURE
    return outcome._replace(summary=replace(outcome.summary, repeats=repeats), error=error, exit_code=code)


def _report(outcome: Outcome, json_path: Path | None, *, is_quiet: bool, shows_profile: bool) -> int:
    """Write the record, print the outcome where possible, and return the exit code."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    complaints = []
    try:
        if json_path is not None:
            try:
                outcome.summary.write_json(json_path)
            except UsageError as error:
                complaints.append(f"smpy: {error}")
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except BrokenPipeError:
                pass
            except OSError as error:
                complaints.insert(0, f"smpy: the program's output was lost: {error.strerror}; make room for it")
        end_line()
        if outcome.error is not None:
            _say(f"smpy: {outcome.error}")
        elif outcome.first_exit:
            _say(f"smpy: {outcome.first_exit}")
        if not is_quiet:
            _say(outcome.summary.render())
        if shows_profile and outcome.summary.profile is not None:
            from smpy.records.profile_text import tables

            _say("\n" + tables(outcome.summary.profile, outcome.summary.remarks))
        for complaint in complaints:
            _say(complaint)
    except KeyboardInterrupt:
        hurry()
        return EXIT_INTERRUPTED
    return outcome.exit_code or (EXIT_FAILURE if complaints else 0)


def _say(text: str) -> None:
    """Print a line on standard error, if it can be written."""
    with suppress(OSError):
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
