"""`smpy calibrate`: measures this machine for simulated ones."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from smpy.cli.click_classes import CommandGroup, IntegerRange
from smpy.errors import SmpyError, UsageError
from smpy.units import (
    LARGEST,
    SMALLEST,
    has_unit,
    parse_bandwidth_bytes_per_s,
    parse_size_bytes,
    parse_time_s,
)

if TYPE_CHECKING:
    from smpy.calibrate.calibration import Calibration, CalibrationPlan
    from smpy.calibrate.costs import NoiseModel
    from smpy.calibrate.result_file import Table

EXIT_FAILURE: Final = 1
EXIT_USAGE: Final = 2
EXIT_INTERRUPTED: Final = 130  # 128 + SIGINT, the exit code of shells
_MESSAGE_MIN_BYTES: Final = 1 << 10
_MESSAGE_MAX_BYTES: Final = 1 << 30

_loaded_option: Final = click.option(
    "--loaded",
    "may_be_loaded",
    is_flag=True,
    help="Measure although the machine does other things; the file says so.",
)
_seed_option: Final = click.option(
    "--seed", type=IntegerRange(min=0), default=0, show_default=True, help="Seed of random sizes and of their order."
)
_result_argument: Final = click.argument("result", type=click.Path(path_type=Path), metavar="FILE.toml")


@click.group("calibrate", cls=CommandGroup, short_help="Measure this machine: kernels, memory, cores, messages.")
def command() -> None:
    """Measure this machine, for the machine files of simulated ones.

    A calibration is a TOML file that a machine file includes (`include = ["node.toml"]`); raw measurements stand beside
    it, in a CSV file of its name. Needs `pip install '.[calibrate]'`.
    """


@command.command("blas", short_help="Costs of BLAS, LAPACK, FFT and memory kernels.")
@_result_argument
@click.option("--quick", is_flag=True, help="Under a minute, with small sizes; without it, under 15 minutes.")
@click.option("--kernel", "kernels", multiple=True, metavar="NAME", help="Only this one, such as dgemm. Repeatable.")
@click.option(
    "--limit",
    "dimension",
    type=IntegerRange(min=64),
    metavar="N",
    help="The largest dimension of a matrix [8192; quick: 2048].",
)
@_seed_option
@click.option(
    "--noise-model",
    type=click.Choice(["empirical", "half-normal", "none"]),
    default="empirical",
    show_default=True,
    help="Noise of single calls: residuals of the fit to medians (empirical), or the standard deviation of a normal "
    "whose magnitude slows down a call, with a cost without noise (half-normal).",
)
@click.option(
    "--plot", type=click.Path(path_type=Path), metavar="FILE", help="Draw measured over predicted times: .png or .svg."
)
@_loaded_option
def blas(
    result: Path,
    quick: bool,
    kernels: tuple[str, ...],
    dimension: int | None,
    seed: int,
    noise_model: NoiseModel,
    plot: Path | None,
    may_be_loaded: bool,
) -> None:
    """Measure kernels on one core of this machine, and fit their costs.

    Each kernel is called at random sizes, round by round, all kernels mixed. The cost is a polynomial of the sizes
    whose terms are significant; a part of the sizes is kept out of the fit, and tells its error. An interrupted
    measurement goes on from its CSV file; a finished one is only fitted again.

    \b
      smpy calibrate blas node.toml
      smpy calibrate blas --quick --kernel dgemm --plot dgemm.png quick.toml
    """
    with _errors_told():
        from smpy.calibrate.calibration import CalibrationPlan

        request = _request(
            CalibrationPlan,
            result,
            plan="quick" if quick else "full",
            kernels=kernels,
            seed=seed,
            dimension=dimension,
            may_be_loaded=may_be_loaded,
            noise_model=noise_model,
        )
        if plot is not None:
            from smpy.calibrate.plot import check_format

            check_format(plot)
        calibration = _calibrate(request)
        if plot is not None and calibration.costs:
            from smpy.calibrate.plot import draw

            draw(plot, calibration.costs, f"{result.name}: {calibration.about['cpu']}")
        if calibration.failures:
            for failure in calibration.failures:
                click.echo(f"smpy: {failure}", err=True)
            sys.exit(EXIT_FAILURE)


@command.command("host", short_help="Speed of a core, of its caches and of memory.")
@_result_argument
@_seed_option
@_loaded_option
def host(result: Path, seed: int, may_be_loaded: bool) -> None:
    """Measure the speed of a core, of its caches and of memory; a minute or two.

    The speed of a core is the rate of its dgemm. `smpy run --compute measured --host FILE.toml` scales measured time by
    it: a second here counts as that many operations there. That is exact for programs that speed up as dgemm does.

    \b
      smpy calibrate host laptop.toml
      smpy run -np 64 --platform cluster.toml --host laptop.toml program.py
    """
    with _errors_told():
        from smpy.calibrate.calibration import CalibrationPlan

        _calibrate(_request(CalibrationPlan, result, plan="host", seed=seed, may_be_loaded=may_be_loaded))


@command.command("threads", short_help="Parallel efficiency of threads of BLAS and LAPACK.")
@_result_argument
@_loaded_option
def threads(result: Path, may_be_loaded: bool) -> None:
    """Measure the parallel efficiency of BLAS and LAPACK on two to all cores; less than a minute on a few cores.

    Each call in n threads is compared with n simultaneous calls of one thread. The file has the table [threads], which
    ranks of several cores use (`smpy run --cpus-per-task`); the times are in a CSV file of the same name.

    \b
      smpy calibrate threads node-threads.toml
    """
    with _errors_told():
        from smpy.calibrate.neighbours import busy_counts
        from smpy.calibrate.result_file import write_result
        from smpy.calibrate.this_machine import check_quiet, facts
        from smpy.calibrate.threads import csv_text, efficiencies, measure_threads
        from smpy.engine.processors import usable_processors
        from smpy.records.files import write_whole

        raw = _request(lambda path: path.with_suffix(".csv"), result)
        counts = [n for n in busy_counts(usable_processors()) if n > 1]
        if not counts:
            raise UsageError("this machine has one processor: threads need two or more")
        warnings, about = check_quiet(may_be_loaded=may_be_loaded), facts()
        called = _called()
        with _progress() as show:
            samples = measure_threads(counts, progress=show)
        write_whole(raw, csv_text(samples))
        notes = {"warnings": warnings} if warnings else {}
        table = efficiencies(samples)
        tables: dict[str, Table] = {"calibration": {**about, "command": called, "raw": raw.name, **notes}}
        write_result(result, tables | {"threads": table}, f"Written by {called}; the times are in {raw.name}.")
        for name, parts in table.items():
            click.echo(f"{name:<7} " + ", ".join(f"{part:.0%} with {n} threads" for n, part in parts.items()))


def _size(_context: click.Context, _parameter: click.Parameter, text: str | None) -> float | None:
    return _quantity(text, parse_size_bytes)


def _message_size(context: click.Context, parameter: click.Parameter, text: str | None) -> float | None:
    size_bytes = _size(context, parameter, text)
    if size_bytes is not None and not _MESSAGE_MIN_BYTES <= size_bytes <= _MESSAGE_MAX_BYTES:
        raise click.BadParameter(f"{text!r} is not between 1KiB and 1GiB")
    return size_bytes


def _time(_context: click.Context, _parameter: click.Parameter, text: str | None) -> float | None:
    return _quantity(text, parse_time_s)


def _bandwidth(_context: click.Context, _parameter: click.Parameter, text: str | None) -> float | None:
    return _quantity(text, parse_bandwidth_bytes_per_s)


def _quantity(text: str | None, parse: Callable[[str], float]) -> float | None:
    if text is None:
        return None
    try:
        value = parse(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    if not has_unit(text):
        raise click.BadParameter(f"{text!r} has no unit")
    if not SMALLEST <= value <= LARGEST:
        raise click.BadParameter(f"{text!r} is not above 0, or no size that a machine has")
    return value


@command.command("network", short_help="Costs of messages: overheads, factors, eager limit.")
@_result_argument
@click.option(
    "--from",
    "recorded",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Fit the output of a benchmark (osu_latency, osu_bw, IMB PingPong and Sendrecv, mpi4py.bench pingpong), or a "
    "CSV file of this command; nothing is measured. Repeatable.",
)
@click.option(
    "--mpiexec",
    metavar="COMMAND",
    help="Starts MPI programs; its options may follow: 'mpiexec -hosts a,b'. By default found.",
)
@click.option("--inside-host", is_flag=True, help="Both ranks of a recorded benchmark were on one host.")
@click.option(
    "--latency", callback=_time, metavar="TIME", help="Latency of the route between the ranks, from its data sheet."
)
@click.option(
    "--bandwidth", callback=_bandwidth, metavar="RATE", help="Bandwidth of the route, likewise; factors multiply both."
)
@click.option(
    "--largest", callback=_message_size, default="4MiB", show_default=True, metavar="SIZE", help="The largest message."
)
@_seed_option
@_loaded_option
def network(
    result: Path,
    recorded: tuple[Path, ...],
    mpiexec: str | None,
    inside_host: bool,
    latency: float | None,
    bandwidth: float | None,
    largest: float,
    seed: int,
    may_be_loaded: bool,
) -> None:
    """Measure messages between two ranks under a real mpiexec, and fit their costs.

    Finds the overheads of Send, Isend and receives, latency and bandwidth factors with the sizes at which they change,
    and the eager limit. Needs mpi4py and its MPI: `pip install '.[mpi]'` has one.

    \b
      smpy calibrate network node.toml
      smpy calibrate network cluster.toml --mpiexec "mpiexec -hosts nova-1,nova-2"
      smpy calibrate network cluster.toml --from osu_latency.txt --from osu_bw.txt
    """
    with _errors_told():
        from smpy.calibrate.network.calibration import NetworkCalibrationPlan, calibrate_network

        request = _request(
            NetworkCalibrationPlan,
            result,
            recorded=recorded,
            mpiexec=mpiexec,
            latency_s=latency,
            bandwidth_bytes_per_s=bandwidth,
            is_inside_host=inside_host,
            largest_bytes=int(largest),
            seed=seed,
            may_be_loaded=may_be_loaded,
        )
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        called = _called()
        with _progress() as show:
            tables = calibrate_network(request, called, lambda number, total: show(number, total, "messages"))
        source = recorded or (request.raw.name,)
        files = ", ".join(map(str, source))
        kept = f"{files} has all times, --from fits them"
        _write(request.result, tables, f"Written by {called}; the times are in {files}.", kept)


@command.command("show", short_help="Numbers of a calibration, and their errors.")
@click.argument("file", type=click.Path(path_type=Path))
def show(file: Path) -> None:
    """Print a calibration: machine, residuals, errors on sizes kept out of the fit, coefficients with intervals."""
    with _errors_told():
        from smpy.calibrate.report import print_result
        from smpy.records.calibration_file import read_result

        try:
            print_result(read_result(file), str(file))
        except (AttributeError, KeyError, TypeError, ValueError) as error:  # not written by this command
            raise UsageError(f"{file} is no calibration that `smpy calibrate` wrote: {_fault(error)}") from error


def _fault(error: Exception) -> str:
    return f"{error} is missing in a table" if isinstance(error, KeyError) else str(error)


# ---- shared by the commands ----


AnyPlan = TypeVar("AnyPlan")


def _request(make: Callable[..., AnyPlan], result: Path, **more: Any) -> AnyPlan:
    if result.suffix != ".toml":
        raise UsageError(f"{result}: the result is a .toml file; raw measurements go into the .csv file of its name")
    from smpy.records.files import check_writable

    check_writable(result)
    return make(result, **more)


def _calibrate(request: CalibrationPlan) -> Calibration:
    from smpy.calibrate.calibration import calibrate
    from smpy.calibrate.kernels import kernels

    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # measurements report which results they keep
    called = _called()
    with _progress() as show:
        calibration = calibrate(
            request,
            called,
            all_kernels=kernels,
            progress=lambda number, total, visit: show(number, total, visit.kernel.name),
        )
    comment = f"Written by {called}; raw measurements are in {request.raw.name}."
    _write(
        request.result, calibration.tables(), comment, f"{request.raw} has all measurements, the same command fits them"
    )
    return calibration


def _called() -> str:
    return shlex.join(["smpy", "calibrate", *sys.argv[2:]])


def _write(result: Path, tables: Mapping[str, Table], comment: str, kept: str) -> None:
    from smpy.calibrate.report import print_result
    from smpy.calibrate.result_file import write_result

    try:
        write_result(result, tables, comment)
    except UsageError as error:
        raise UsageError(f"{error}; {kept}") from error
    print_result(tables, str(result))


@contextmanager
def _progress() -> Iterator[Callable[[int, int, str], object]]:
    """Show a progress bar on a terminal, and nothing elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description:<12}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    # No thread of its own: a drawing thread would disturb measurements.
    bar = Progress(*columns, console=console, transient=True, auto_refresh=False, disable=not console.is_terminal)
    with bar:
        task = bar.add_task("")

        def show(number: int, count: int, what: str) -> None:
            bar.update(task, completed=number, total=count, description=what)
            if number % _VISITS_A_DRAWING == 0:
                bar.refresh()

        yield show


_VISITS_A_DRAWING: Final = 50


@contextmanager
def _errors_told() -> Iterator[None]:
    """Print an error of the body in one line, and end with its exit code."""
    try:
        missing = [name for name in ("rich", "scipy", "threadpoolctl") if find_spec(name) is None]
        if missing:
            raise UsageError(f"smpy calibrate needs {', '.join(missing)}: pip install '.[calibrate]'")
        yield
    except ImportError as error:
        click.echo(f"smpy: {error.name} cannot be imported: pip install '.[calibrate]'", err=True)
        sys.exit(EXIT_FAILURE)
    except KeyboardInterrupt as interrupt:
        click.echo(f"smpy: interrupted: {interrupt}" if interrupt.args else "smpy: interrupted", err=True)
        sys.exit(EXIT_INTERRUPTED)
    except SmpyError as error:
        click.echo(f"smpy: {error}", err=True)
        sys.exit(EXIT_USAGE if isinstance(error, UsageError) else EXIT_FAILURE)
