"""`smpy analyze`: why a run took as long as it did, from its trace."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click

from smpy.cli.click_classes import CommandGroup, IntegerRange
from smpy.cli.progress import replay_progress
from smpy.cli.results import errors_told, json_option, plot_option, show
from smpy.cli.run_options import run_options
from smpy.errors import UsageError

_Command = TypeVar("_Command", bound=Callable[..., Any])


@click.group("analyze", cls=CommandGroup, short_help="Explain the time of a run, from its trace.")
def command() -> None:
    """Explain the time of a run, from the trace that `smpy run --trace FOLDER` wrote.

    The words of the tables are in the glossary: docs/glossary.md.
    """


def _output_options(function: _Command) -> _Command:
    return json_option(plot_option(function))


_trace_argument = click.argument("folder", metavar="TRACE", type=click.Path(path_type=Path))


@command.command("critical-path", short_help="Find the chain of computing, calls and messages that ends last.")
@_trace_argument
@_output_options
def critical_path(folder: Path, json_path: Path | None, plot_path: Path | None) -> None:
    """Find the critical path of a run: the chain of computing, overheads and messages that ends last.

    Time off this path does not make the run longer.

    \b
      smpy analyze critical-path trace
    """
    with errors_told():
        from smpy.analysis.path_analysis import critical_path
        from smpy.records.trace import Trace

        show(critical_path(Trace(folder)), json_path, plot_path)


@command.command("waits", short_help="Find waits by line, and the ranks and lines that cause them.")
@_trace_argument
@_output_options
def waits(folder: Path, json_path: Path | None, plot_path: Path | None) -> None:
    """Find waits for late senders, late receivers and at collectives, and the ranks and lines that cause them.

    A late rank that only waited itself passes the blame on, to the rank that began the chain. Contention in the
    network, and polls that waited for nothing, have tables of their own.

    \b
      smpy analyze waits trace
    """
    with errors_told():
        from smpy.analysis.wait_analysis import waits
        from smpy.records.trace import Trace

        show(waits(Trace(folder)), json_path, plot_path)


@command.command("lost", short_help="Divide the time of all ranks by cause and line.")
@_trace_argument
@_output_options
def lost(folder: Path, json_path: Path | None, plot_path: Path | None) -> None:
    """Divide the time of all ranks among computing and the causes of losses, in all and by line.

    Load imbalance is waiting while others compute; insufficient parallelism, while at most one rank does. Then there
    are synchronisation, communication, and contention. Where the machine has prices, each has its share of the run's
    cost.

    \b
      smpy analyze lost trace
    """
    with errors_told():
        from smpy.analysis.lost_time import lost
        from smpy.records.trace import Trace
        from smpy.study.cost import recorded_run_eur

        trace = Trace(folder)
        show(lost(trace, recorded_run_eur(trace)), json_path, plot_path)


def _ranks(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[int, ...]:
    numbers = [word for value in values for word in value.split(",")]
    for word in numbers:
        if not word.strip().isdecimal() or int(word) < 1:
            raise click.BadParameter(f"{word!r} is not a number of ranks: write such as 1024,4096", ctx, param)
    return tuple(int(word) for word in numbers)


@command.command("pop", short_help="Find load balance, serialisation, transfer, and the scaling of several runs.")
@click.argument("folders", metavar="[TRACE...]", type=click.Path(path_type=Path), nargs=-1)
@click.option(
    "--factors",
    "table",
    type=click.Path(path_type=Path),
    metavar="TABLE.csv",
    help="Predict from factors that another tool measured, and no traces: a table with the columns ranks, "
    "load_balance, and serialisation and transfer, or communication.",
)
@click.option("--region", metavar="NAME", help="Only a part of the program, as `smpy.region(NAME)` named it.")
@click.option(
    "--weak", "is_weak", is_flag=True, help="Runs on more ranks have as much work a rank, not as much together."
)
@click.option(
    "--predict",
    multiple=True,
    callback=_ranks,
    metavar="RANKS",
    help="Predict the efficiencies of so many ranks, from three traces or more: 1024,4096. Repeatable.",
)
@click.option(
    "--denoise",
    type=click.Choice(["cpu", "net", "both"]),
    help="Show the efficiencies without noise, too: of computing, of the network, or of both.",
)
@_output_options
def pop(
    folders: tuple[Path, ...],
    table: Path | None,
    region: str | None,
    is_weak: bool,
    predict: tuple[int, ...],
    denoise: str | None,
    json_path: Path | None,
    plot_path: Path | None,
) -> None:
    """Efficiencies as the POP centre has them: parallel efficiency is load balance x serialisation x transfer.

    Transfer is split into contention, bandwidth, latency and overhead, by replaying the trace without them. Traces of
    several numbers of ranks are compared with that of the fewest.

    Without noise, computing takes what the models of kernels say without what --noise drew; what no kernel names, which
    may have been measured, takes the 5th percentile of what its rank computed before the same call. Links do not follow
    profiles of latency and bandwidth.

    \b
      smpy analyze pop trace
      smpy analyze pop trace --denoise cpu
      smpy analyze pop trace8 trace16 trace32 trace64 --predict 512
      smpy analyze pop --factors measured.csv --predict 512,4096
    """
    with errors_told():
        if table is not None:
            if folders or region or is_weak or denoise:
                raise UsageError("--factors is a table in place of traces: only --predict goes with it")
            if not predict:
                raise UsageError("--factors predicts from a table: say numbers of ranks, --predict RANKS")
            from smpy.analysis.pop_factors import pop_from_factors

            show(pop_from_factors(table, predict), json_path, plot_path)
            return
        if not folders:
            raise UsageError("name a trace, or several of different numbers of ranks; or a table with --factors")
        from smpy.analysis.pop_metrics import pop
        from smpy.records.trace import Trace
        from smpy.replay import replay

        traces = [Trace(folder) for folder in folders]
        with replay_progress() as progress:
            parts = ("cpu", "net") if denoise == "both" else (denoise,) if denoise else ()
            result = pop(
                traces, replay, region=region, is_weak=is_weak, predict=predict, denoise=parts, progress=progress
            )
        show(result, json_path, plot_path)


@command.command("bounds", short_help="Find the gain from each part of the machine that is 10 % better.")
@_trace_argument
@click.option(
    "--links", "n_links", type=IntegerRange(0), default=3, show_default=True, help="Number of the hottest links."
)
@click.option("--hosts", "n_hosts", type=IntegerRange(0), default=3, show_default=True, help="Slowest hosts a kernel.")
@run_options("options")
@_output_options
def bounds(
    folder: Path,
    n_links: int,
    n_hosts: int,
    options: tuple[tuple[str, str], ...],
    json_path: Path | None,
    plot_path: Path | None,
) -> None:
    """Find bounds of the run: how much shorter it is with a part of the machine 10 % better, each by a replay.

    Computing has as its parts cores, memory of a core, memory of a host, and each kernel, which in turn has the hosts
    where it takes longest. The network's bandwidth has contention and the hottest links. Latency and the overhead of
    calls have no parts. With --set the bounds are those on a changed machine; the links and hosts named are still the
    busiest ones of the run.

    \b
      smpy analyze bounds trace
      smpy analyze bounds trace --set 'switch[spine 1].bandwidth=x4'
    """
    with errors_told():
        from smpy.analysis.run_bounds import bounds
        from smpy.records.trace import Trace
        from smpy.replay import replay

        with replay_progress() as progress:
            result = bounds(
                Trace(folder),
                partial(replay, options=options),
                is_other_machine=bool(options),
                n_links=n_links,
                n_hosts=n_hosts,
                progress=progress,
            )
        show(result, json_path, plot_path)


@command.command("compare", short_help="Show the differences of two runs.")
@click.argument("before", metavar="A", type=click.Path(path_type=Path))
@click.argument("after", metavar="B", type=click.Path(path_type=Path))
@_output_options
def compare(before: Path, after: Path, json_path: Path | None, plot_path: Path | None) -> None:
    """Show the differences of two runs, by call, line and kind: on their critical paths, then summed over all ranks.

    \b
      smpy analyze compare trace.before trace.after
    """
    with errors_told():
        from smpy.analysis.comparison import compare
        from smpy.records.trace import Trace

        show(compare(Trace(before), Trace(after)), json_path, plot_path)


@command.command("stability", short_help="Check whether calls come in the same order whatever the noise.")
@click.argument("folders", metavar="TRACE TRACE...", type=click.Path(path_type=Path), nargs=-1)
@_output_options
def stability(folders: tuple[Path, ...], json_path: Path | None, plot_path: Path | None) -> None:
    """Find the share of calls that come in the same order in runs which differ in noise alone, in all and by line.

    At 1, a replay of one run makes the program's calls on any machine. Below 0.99, run the program again there.

    \b
      smpy run -np 8 --noise-model 5% --seed 1 --trace run1 farm.py
      smpy run -np 8 --noise-model 5% --seed 2 --trace run2 farm.py
      smpy analyze stability run1 run2
    """
    with errors_told():
        from smpy.analysis.call_stability import stability
        from smpy.records.trace import Trace

        show(stability([Trace(folder) for folder in folders]), json_path, plot_path)


@command.command("phases", short_help="Find blocks of calls that a run repeats, and predict its time from them.")
@_trace_argument
@click.option(
    "--signature",
    "signature_path",
    type=click.Path(path_type=Path),
    metavar="FILE.json",
    help="Write the phases that count, for smpy replay TRACE --signature FILE.json, which performs some repetitions.",
)
@_output_options
def phases(folder: Path, signature_path: Path | None, json_path: Path | None, plot_path: Path | None) -> None:
    """Find the phases of a run: blocks of calls that its ranks repeat, without marks in the program.

    Number of repetitions, time and computing of each phase predict the time, the computing and the efficiency of the
    run. Phases of less than 1 % of the run do not count.

    \b
      smpy analyze phases trace
      smpy analyze phases trace --signature signature.json
    """
    with errors_told():
        from smpy.analysis.phase_analysis import phases
        from smpy.records.files import write_whole
        from smpy.records.trace import Trace

        trace = Trace(folder)
        result = phases(trace)
        if signature_path is not None:
            from smpy.replay.signature import PhaseSignature, SignaturePhase

            parts = [SignaturePhase(phase.lines, phase.weight, phase.repetitions) for phase in result.relevant]
            write_whole(signature_path, PhaseSignature(trace.info["sha256"], trace.n_ranks, parts).to_text())
        show(result, json_path, plot_path)
