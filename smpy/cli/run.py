"""`smpy run`: an mpi4py program on a simulated machine."""

from __future__ import annotations

import math
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from smpy.cli.algorithms_option import algorithms_option
from smpy.cli.changes_option import changes_option
from smpy.cli.click_classes import grouped_option
from smpy.cli.own_stream import end_line, hurry, own_streams
from smpy.cli.placement_options import placement_options, seed_option
from smpy.cli.repeats import RepeatableCommand, other_runs
from smpy.errors import Interrupted, SmpyError, UsageError
from smpy.records.files import check_writable

if TYPE_CHECKING:
    from smpy.compute.modelling import ComputeMode
    from smpy.emulate.config import RunConfig
    from smpy.emulate.run import Outcome
    from smpy.platforms.host_order import HostOrder
    from smpy.platforms.placement import MapBy

EXIT_FAILURE: Final = 1
EXIT_USAGE: Final = 2
EXIT_INTERRUPTED: Final = 130  # 128 + SIGINT, as shells say it


def _speed_flop_per_s(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    if value is None:
        return None
    from smpy.units import parse_speed_flop_per_s

    try:
        speed = parse_speed_flop_per_s(value)
    except ValueError as error:
        raise click.BadParameter(str(error), ctx, param) from error
    if not 0 < speed < math.inf:
        raise click.BadParameter(f"{value} is not a speed of a machine", ctx, param)
    return speed


def _measured_flop_per_s(ctx: click.Context, param: click.Parameter, value: Path | None) -> float | None:
    if value is None:
        return None
    from smpy.calibrate.result_file import core_speed_flop_per_s

    try:
        return core_speed_flop_per_s(value)
    except UsageError as error:
        raise click.BadParameter(str(error), ctx, param) from error


@dataclass(frozen=True, slots=True)
class _Compute:
    """Value of `--compute`."""

    mode: ComputeMode
    record: Path | None = None
    replay: Path | None = None


def _compute(ctx: click.Context, param: click.Parameter, value: str) -> _Compute:
    match value.partition(":"):
        case ("measured" | "models" | "none") as mode, "", "":
            return _Compute(mode)
        case "record", ":", file if file:
            return _Compute("measured", record=Path(file))
        case "replay", ":", file if file:
            return _Compute("measured", replay=Path(file))
    raise click.BadParameter(f"{value!r} is none of measured, models, none, record:FILE and replay:FILE", ctx, param)


def _window_s(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[float, float] | None:
    if value is None:
        return None
    from smpy.units import parse_time_s

    first, colon, last = value.partition(":")
    try:
        window_s = parse_time_s(first) if first.strip() else 0.0, parse_time_s(last) if last.strip() else math.inf
    except ValueError as error:
        raise click.BadParameter(str(error), ctx, param) from error
    if not colon or not 0 <= window_s[0] < window_s[1]:
        raise click.BadParameter(f"{value!r} is not FROM:TO, such as 10ms:2s", ctx, param)
    return window_s


def _ranks(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    if value is None:
        return None
    ranks: set[int] = set()
    for part in value.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdigit() or (dash and not last.isdigit()) or (dash and int(last) < int(first)):
            raise click.BadParameter(f"{part!r} is not a rank, nor a range of ranks such as 0-63", ctx, param)
        ranks.update(range(int(first), int(last if dash else first) + 1))
    return tuple(sorted(ranks))


@click.command(
    "run",
    cls=RepeatableCommand,
    context_settings={"allow_interspersed_args": False},
    short_help="Run an mpi4py program.",
)
@grouped_option(
    "-np", "-n", "n_ranks", group="Ranks", type=click.IntRange(min=1), metavar="N", help="Number of ranks (required)."
)
@grouped_option(
    "--platform",
    group="Machine",
    metavar="MACHINE",
    help="The machine: a SimGrid XML file, a TOML file, the name of a preset, or one line such as "
    '"fat-tree hosts=100 cores=64 nic=200Gb/s". Without it: a fat-tree cluster of today, sized to the run.',
)
@placement_options
@changes_option
@grouped_option(
    "--network",
    group="Model",
    metavar="NAME",
    help="The network model: smpi, lv08, cm02, raw, constant or ib, each with its defaults, which --set changes; or "
    "ideal, the machine's own without contention, bandwidth limits, latency and overhead, or ideal:PART,... without "
    "some of them.",
)
@grouped_option(
    "--compat",
    group="Model",
    metavar="VERSION",
    help="The rules of simgrid-3.32 (the default), or of simgrid-2017, whose bandwidth factor bounds a message instead "
    "of slowing it down.",
)
@grouped_option(
    "--compute",
    group="Computing",
    callback=_compute,
    metavar="[measured|models|none|record:FILE|replay:FILE]",
    default="measured",
    show_default=True,
    help="Time the program computes between MPI calls: measured here; modelled, where smpy.blas, smpy.kernel and the "
    "like say what it is; or none at all. record: measured, and each burst written to a file; replay: as a file has "
    "it, on whatever machine. Without measuring, runs are reproducible.",
)
@grouped_option(
    "--kernels",
    group="Computing",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What kernels such as dgemm cost: a calibration's TOML file, in place of the machine's own costs.",
)
@grouped_option(
    "--noise",
    group="Computing",
    is_flag=True,
    help="Each call of a calibrated kernel takes a time that is drawn from the calibration's noise, as --seed says; "
    "without it, the calibration's uncertainty becomes a ± on the makespan.",
)
@grouped_option(
    "--host-speed",
    "host_speed_flop_per_s",
    group="Computing",
    callback=_speed_flop_per_s,
    metavar="SPEED",
    help="Speed of a core of this machine, such as 2.5Gf; measured time is scaled by it over the simulated host's. "
    "Without it: not scaled.",
)
@grouped_option(
    "--host",
    "host_measured_flop_per_s",
    group="Computing",
    type=click.Path(path_type=Path),
    callback=_measured_flop_per_s,
    metavar="FILE",
    help="That speed, from a file that `smpy calibrate host` has written.",
)
@grouped_option(
    "--keep-memory",
    group="Computing",
    is_flag=True,
    help="Memory that the program frees stays with the process, as some MPI libraries have it, and taking it again "
    "costs no page faults. It matters where computing is measured.",
)
@grouped_option(
    "--private",
    group="Developer",
    multiple=True,
    metavar="PACKAGE",
    help="Each rank has its own copy of this package's modules, as of those beside the program. Repeatable.",
)
@grouped_option(
    "--shared",
    group="Developer",
    multiple=True,
    metavar="PACKAGE",
    help="All ranks share this package's modules, even if they would have their own. Repeatable.",
)
@algorithms_option("--algorithm", "or allreduce=rabenseifner.")
@grouped_option(
    "--synchronous-sends",
    group="Strictness",
    is_flag=True,
    help="Every standard send (Send, Isend, send, ...) waits for its receive: finds deadlocks that buffering hides.",
)
@grouped_option(
    "--strict",
    group="Strictness",
    is_flag=True,
    help="Fail where the summary would only remark: messages nobody received, kernels faster than their host.",
)
@grouped_option(
    "--json",
    "json_path",
    group="Records",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the summary as JSON, too.",
)
@grouped_option(
    "--profile",
    group="Records",
    is_flag=True,
    help="Show tables: time by call site and by rank, and who sends most to whom. (--json has all.)",
)
@grouped_option(
    "--profile-matrix",
    group="Records",
    is_flag=True,
    help="Count messages by pair of ranks however many there are; beyond a million, without it, by pair of hosts.",
)
@grouped_option(
    "--trace",
    group="Records",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Write what every rank did when, and every message, for smpy analyze, replay, report and export.",
)
@grouped_option("--overwrite", group="Records", is_flag=True, help="Let --trace replace the trace of another program.")
@grouped_option(
    "--trace-window",
    "trace_window_s",
    group="Records",
    callback=_window_s,
    metavar="FROM:TO",
    help="Trace what happens between two dates of simulated time, such as 10ms:2s or 1h: only.",
)
@grouped_option(
    "--trace-ranks",
    group="Records",
    callback=_ranks,
    metavar="RANKS",
    help="Trace what these ranks do only, such as 0-63,4095.",
)
@seed_option
@grouped_option(
    "--repeat",
    group="Computing",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="Run N times, one after the other, and tell median, lowest and highest makespan and shares of time. Output, "
    "records and traces are those of the first run; the others print nothing, find standard input empty, and have the "
    "next seeds.",
)
@grouped_option("--quiet", group="Records", is_flag=True, help="Show neither progress nor summary.")
@grouped_option(
    "-m", "is_module", group="Ranks", is_flag=True, help="PROGRAM is a module to find and run, as python -m does."
)
@click.argument("program")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(
    ctx: click.Context, /, json_path: Path | None, profile: bool, repeat: int, quiet: bool, **given: Any
) -> None:
    """Run an mpi4py program on a simulated machine.

    PROGRAM is a Python file, or with -m a module; what follows it is its own. The program's exit code is the command's:
    the first of a rank, in simulated time, that is not 0. The summary follows however the program ends.

    \b
      smpy run -np 16 program.py --steps 100
      smpy run -np 4096 --platform cluster.xml --compute none --json summary.json program.py
    """
    end: Callable[[int], NoReturn] = sys.exit
    with own_streams():
        try:
            config = run_config(**given)
            has_tables = profile or json_path is not None or config.trace is not None
            config = replace(config, counts_links=has_tables or not quiet, counts_pairs=has_tables)
            if json_path is not None:
                json_path = json_path.absolute()  # wherever the program goes
                check_writable(json_path)
            directory = os.getcwd() if repeat > 1 else ""
            outcome = _run(config, is_quiet=quiet)
            if repeat > 1 and outcome.error is None and not outcome.exit_code:
                outcome = _repeated(ctx, outcome, directory)
        except KeyboardInterrupt:
            _say("smpy: interrupted before the simulation started")
            code = EXIT_INTERRUPTED
        except SmpyError as error:
            _say(f"smpy: {error}")
            code = EXIT_USAGE if isinstance(error, UsageError) else EXIT_FAILURE
        else:
            code = _report(outcome, json_path, is_quiet=quiet, shows_profile=profile)
            if outcome.error is not None:
                from smpy.emulate.left_behind import leave as end
    end(code)


def run_config(
    n_ranks: int | None,
    platform: str | None,
    hostfile: Path | None,
    ranks_per_host: int | None,
    map_by: MapBy | None,
    host_order: HostOrder | None,
    seed: int,
    options: tuple[tuple[str, str], ...],
    network: str | None,
    compat: str | None,
    compute: _Compute,
    kernels: Path | None,
    noise: bool,
    host_speed_flop_per_s: float | None,
    host_measured_flop_per_s: float | None,
    keep_memory: bool,
    private: tuple[str, ...],
    shared: tuple[str, ...],
    algorithms: tuple[tuple[str, str], ...],
    synchronous_sends: bool,
    strict: bool,
    profile_matrix: bool,
    trace: Path | None,
    overwrite: bool,
    trace_window_s: tuple[float, float] | None,
    trace_ranks: tuple[int, ...] | None,
    is_module: bool,
    program: str,
    args: tuple[str, ...],
) -> RunConfig:
    """Make a run's configuration from the command's options.

    Raises
    ------
    click.UsageError
        If they contradict each other, or say no number of ranks.
    """
    if n_ranks is None:
        raise click.UsageError(_without_ranks(program, args))
    if trace is None and (trace_window_s is not None or trace_ranks is not None):
        raise click.UsageError("--trace-window and --trace-ranks say what is traced: --trace FOLDER says where to")
    if trace is None and overwrite:
        raise click.UsageError("--overwrite is for the folder of a trace: --trace FOLDER says which")
    if trace_ranks is not None and trace_ranks[-1] >= n_ranks:
        raise click.UsageError(f"--trace-ranks: there is no rank {trace_ranks[-1]}: the last one is {n_ranks - 1}")
    if host_measured_flop_per_s is not None:
        if host_speed_flop_per_s is not None:
            raise click.UsageError("--host and --host-speed both say how fast this machine is: give one of them")
        host_speed_flop_per_s = host_measured_flop_per_s
    from smpy.emulate.config import RunConfig

    return RunConfig(
        n_ranks=n_ranks,
        program=program,
        is_module=is_module,
        args=args,
        platform=platform,
        hostfile=hostfile,
        ranks_per_host=ranks_per_host,
        map_by=map_by,
        host_order=host_order,
        seed=seed,
        options=(*options, *_named(("network/model", network), ("smpy/compat", compat))),
        compute=compute.mode,
        record=compute.record,
        replay=compute.replay,
        kernels=kernels,
        noise=noise,
        host_speed_flop_per_s=host_speed_flop_per_s,
        keep_memory=keep_memory,
        private=private,
        shared=shared,
        algorithms=algorithms,
        synchronous_sends=synchronous_sends,
        strict=strict,
        profile_matrix=profile_matrix,
        trace=trace,
        overwrite=overwrite,
        trace_window_s=trace_window_s,
        trace_ranks=trace_ranks,
    )


def _named(*options: tuple[str, str | None]) -> tuple[tuple[str, str], ...]:
    return tuple((key, value) for key, value in options if value is not None)


def _without_ranks(program: str, args: tuple[str, ...]) -> str:
    """The message for a number of ranks that is missing, or stands among the program's arguments."""
    late = next((i for i, arg in enumerate(args[:-1]) if arg in ("-np", "-n")), None)
    if late is None:
        return f"how many ranks? Say -np N, as in: smpy run -np 4 {program}"
    return (
        f"what follows the program is its own, so {args[late]} must stand before it: "
        f"smpy run {args[late]} {args[late + 1]} {program}"
    )


def _run(config: RunConfig, *, is_quiet: bool) -> Outcome:
    from smpy.cli.progress import progress_line
    from smpy.emulate.run import run

    with progress_line(is_wanted=not is_quiet) as line:
        return run(config, line)


def _repeated(ctx: click.Context, outcome: Outcome, directory: str) -> Outcome:
    """Outcome of the first run, with the results of all in its summary; the failure of another run is the command's."""
    from smpy.records.repeats import Repeats
    from smpy.runs.run import RunError

    summaries, error = [outcome.summary], None
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    try:
        summaries.extend(other_runs(ctx, directory))
    except RunError as failed:
        error = SmpyError(f"run {len(summaries) + 1} of {ctx.params['repeat']} failed: {failed}")
    except KeyboardInterrupt:
        error = Interrupted(f"interrupted in run {len(summaries) + 1} of {ctx.params['repeat']}")
    repeats = Repeats([summary.makespan_s for summary in summaries], [summary.shares for summary in summaries])
    code = 0 if error is None else EXIT_INTERRUPTED if isinstance(error, Interrupted) else EXIT_FAILURE
    return replace(outcome, summary=replace(outcome.summary, repeats=repeats), error=error, exit_code=code)


def _report(outcome: Outcome, json_path: Path | None, *, is_quiet: bool, shows_profile: bool) -> int:
    """Writes the record, then prints what came out, as far as somebody reads it; the exit code."""
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

            _say("\n" + tables(outcome.summary.profile))
        for complaint in complaints:
            _say(complaint)
    except KeyboardInterrupt:
        hurry()
        return EXIT_INTERRUPTED
    return outcome.exit_code or (EXIT_FAILURE if complaints else 0)


def _say(text: str) -> None:
    """Tell the user, if there is anybody to tell."""
    with suppress(OSError):
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
