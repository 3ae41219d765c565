"""`smpy replay`: a trace performed again, on its machine or on another one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from smpy.cli.click_classes import GroupedCommand, grouped_option
from smpy.cli.results import errors_told, json_option, tell
from smpy.cli.run_options import PLACEMENT, run_options
from smpy.errors import UsageError

if TYPE_CHECKING:
    from smpy.records.trace import Trace
    from smpy.replay import ReplayResult
    from smpy.replay.background import AnyBackground

_LINES_MAX: Final = 8  # lost messages in the text
_LEFT_MAX: Final = 1000  # lost messages in JSON


def _times(ctx: click.Context, param: click.Parameter, value: str) -> float:
    number = re.fullmatch(r"\s*([0-9.]+(?:[eE][-+]?\d+)?)\s*x?\s*", value)
    try:
        times = float(number[1]) if number else 0.0
    except ValueError:
        times = 0.0
    if not 0 < times < float("inf"):
        raise click.BadParameter(f"{value!r} is not a number of times, such as 2x or 0.5", ctx, param)
    return times


def _ideal(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...]:
    if value is None:
        return ()
    from smpy.platforms.models.network_models import IDEAL_PARTS

    parts = tuple(part.strip().lower() for part in value.split(","))
    for part in parts:
        if part not in (*IDEAL_PARTS, "all"):
            raise click.BadParameter(f"{part!r} is none of {', '.join(IDEAL_PARTS)} and all", ctx, param)
    return IDEAL_PARTS if "all" in parts else parts


@click.command("replay", cls=GroupedCommand, short_help="Perform a trace on its machine, or another one.")
@click.argument("path", metavar="TRACE", type=click.Path(path_type=Path))
@run_options("platform", help="Another machine, as smpy run takes it. Without it: that of the run.")
@run_options("n_ranks", help="Number of ranks of a time-independent trace; without it, as many as it lists files.")
@run_options(*PLACEMENT, "options", "network")
@run_options("collectives")
@run_options(
    "algorithms", help="The algorithm a collective uses, such as alltoall=ring (without it, as in the run). Repeatable."
)
@grouped_option(
    "--cpu",
    group="Computing",
    callback=_times,
    default="1x",
    show_default=True,
    metavar="TIMES",
    help="Factor by which all cores compute faster.",
)
@run_options(
    "background",
    help="Messages of other jobs on the links, as for smpy run, or none. Without it: those of the run, if it had some. "
    "The replay is performed once more without them, for the time that they cost.",
)
@run_options("seed")
@grouped_option(
    "--ideal",
    group="Model",
    callback=_ideal,
    metavar="PART,...",
    help="Costs to leave out: contention, bandwidth, latency, overhead (of calls, polls and reads of the clock), or "
    "all.",
)
@run_options(
    "trace",
    help="Write a trace of the replay to this folder: it is analysed, compared and replayed as that of a run.",
)
@run_options("overwrite")
@grouped_option(
    "--signature",
    "signature_path",
    group="Model",
    type=click.Path(path_type=Path),
    metavar="FILE.json",
    help="Perform only the second to the fourth repetition of each phase, and multiply: a file of smpy analyze phases.",
)
@json_option
def command(
    path: Path,
    platform: str | None,
    n_ranks: int | None,
    options: tuple[tuple[str, str], ...],
    network: str | None,
    collectives: str | None,
    algorithms: tuple[tuple[str, str], ...],
    background: AnyBackground | None,
    cpu: float,
    ideal: tuple[str, ...],
    trace: Path | None,
    overwrite: bool,
    signature_path: Path | None,
    json_path: Path | None,
    **placement: Any,
) -> None:
    """Perform a trace again, without its program.

    A TRACE that is a folder was written by smpy run --trace. On the machine of the run the dates are those of the run;
    elsewhere they are those of the program there, unless its calls depend on time: then the replay says so.

    A TRACE that is a file is the main file of a time-independent trace, as SimGrid's smpirun -trace-ti writes it; it is
    performed as smpirun -replay does, and needs a --platform. A TRACE that ends in .goal is a program in GOAL, as
    LogGOPSim performs it; without --platform each rank has a host of its own.

    \b
      smpy replay trace
      smpy replay trace --set network.bandwidth=x2
      smpy replay trace --platform dragonfly.toml --cpu 2x
      smpy replay trace --ideal latency,overhead
      smpy replay trace --network ib
      smpy replay trace --background share=30%
      smpy replay trace --platform fat.toml --trace trace-on-fat
      smpy replay trace --platform fat.toml --signature signature.json
      smpy replay smpi_simgrid.txt --platform cluster.xml -np 16
      smpy replay ring.goal --network loggp --set loggp.L=2500ns
    """
    from smpy.replay.goal import is_goal

    with errors_told():
        changes: dict[str, Any] = {"options": options, "network": network, "collectives": collectives}
        changes |= {"algorithms": algorithms or None, "cpu": cpu, "ideal": ideal, **placement}
        if background is not None:
            changes["background"] = background
        if trace is None and overwrite:
            raise UsageError("--overwrite is for the folder of a trace: --trace FOLDER names it")
        changes |= {"to": trace, "overwrite": overwrite}
        if path.is_dir() or not path.exists():
            from smpy.records.trace import Trace
            from smpy.replay import replay

            if n_ranks is not None:
                raise UsageError(f"-np is for time-independent traces: {str(path)!r} has the ranks of its run")
            read = Trace(path)
            if signature_path is not None:
                _tell_signature(read, signature_path, {"platform": platform, **changes}, json_path)
                return
            result = _with_cost(partial(replay, read, platform=platform), changes)
            tell(_text(read, result), _record(read, result), json_path)
        elif signature_path is not None:
            raise UsageError(f"--signature is of the trace of a run, and {path} is none")
        elif is_goal(path):
            from smpy.replay.goal import replay_goal
            from smpy.replay.goal_file import read_goal

            program = read_goal(path)
            if n_ranks not in (None, program.n_ranks):
                raise UsageError(f"-np asks for {n_ranks:,} ranks, and {path} has {program.n_ranks:,}")
            if changes.pop("algorithms") or changes.pop("collectives"):
                raise UsageError(
                    f"{path} is in GOAL, which has no collectives: leave out --collectives and --algorithm"
                )
            result = _with_cost(partial(replay_goal, program, platform), changes)
            tell(
                _text_of_file(path, program.n_ranks, result),
                _record_of_file(path, program.n_ranks, result),
                json_path,
            )
        else:
            from smpy.importers.time_independent_files import read_main_file
            from smpy.replay.time_independent import replay_time_independent

            listed = read_main_file(path, n_ranks)
            if platform is None:
                raise UsageError(f"{str(path)!r} is a time-independent trace, which names no machine: say --platform")
            result = _with_cost(partial(replay_time_independent, listed, platform), changes)
            tell(_text_of_file(path, listed.n_ranks, result), _record_of_file(path, listed.n_ranks, result), json_path)


def _with_cost(perform: Callable[..., ReplayResult], changes: Mapping[str, Any]) -> ReplayResult:
    """Perform a replay; if it had a background, once more without it, for the time that it cost."""
    from smpy.option_texts import NO_BACKGROUND

    result = perform(**changes)
    if result.background is None:
        return result
    from smpy.replay.background import with_cost

    without = perform(**{**changes, "background": NO_BACKGROUND, "to": None, "overwrite": False})
    return replace(result, background=with_cost(result.background, result.makespan_s, without.makespan_s))


def _tell_signature(trace: Trace, path: Path, changes: dict[str, Any], json_path: Path | None) -> None:
    from smpy.replay.signature import read_signature, replay_signature
    from smpy.units import format_time

    if changes.pop("to") is not None:
        raise UsageError("--signature performs a part of the run, which leaves no --trace")
    changes.pop("overwrite")
    result = replay_signature(trace, read_signature(path, trace), **changes)
    now_s, makespan = result.predicted_s, f"{format_time(result.predicted_s)} predicted"
    if trace.has_dates:
        makespan += f"; the run took {format_time(trace.makespan_s)}{_ratio(trace.makespan_s, now_s)}"
    facts = [
        ("makespan", makespan),
        ("computing", f"{format_time(result.sequential_s)} of all ranks, efficiency {result.efficiency:.1%}"),
    ]
    for number, phase in enumerate(result.phases):
        lines = ", ".join(phase.lines) or "what does not repeat"
        facts.append(("" if number else "phases", f"{phase.weight:,} x {format_time(phase.time_s)}: {lines}"))
    record = {
        "trace": str(trace.folder),
        "ranks": trace.n_ranks,
        "predicted_s": result.predicted_s,
        "sequential_s": result.sequential_s,
        "efficiency": result.efficiency,
        "phases": list(result.phases),
    }
    tell(_lines(f"smpy: replay of the signature {path}, {_ranks(trace.n_ranks)}", facts), record, json_path)


def _text_of_file(path: Path, n_ranks: int, result: ReplayResult) -> str:
    from smpy.units import format_time

    facts = [("makespan", f"{format_time(result.makespan_s)} simulated"), *_counts(result)]
    if result.depends_on_time:
        facts.append(("timing", "ranks polled, or took any message: on another machine they may act differently"))
    facts += [*_network(result), *_background(result)]
    facts += _unreceived(path, result)
    return _lines(f"smpy: replay of {path}, {_ranks(n_ranks)}", facts)


def _unreceived(path: Path, result: ReplayResult) -> list[tuple[str, str]]:
    """Messages that no rank received, in the form of a run's summary."""
    left = result.unreceived
    if not left:
        return []
    lines = [f"rank {one.rank}: send to rank {one.peer}, tag {one.tag}   {path.name}:{one.line[1]}" for one in left]
    if len(lines) > _LINES_MAX:
        lines = [*lines[:_LINES_MAX], "and so on"]
    head = f"{len(left):,} {'message' if len(left) == 1 else 'messages'} that nobody received"
    return [("lost messages", head), *(("", line) for line in lines)]


def _record_of_file(path: Path, n_ranks: int, result: ReplayResult) -> dict[str, Any]:
    left = [
        {"rank": one.rank, "peer": one.peer, "tag": one.tag, "bytes": one.nbytes, "line": one.line[1]}
        for one in result.unreceived[:_LEFT_MAX]
    ]
    lost = {"n_unreceived": len(result.unreceived), "unreceived": left} if left else {}
    return {"trace": str(path), "ranks": n_ranks, **_numbers(result), **lost}


def _background(result: ReplayResult) -> list[tuple[str, str]]:
    lines = () if result.background is None else result.background.lines
    return [("" if number else "background", line) for number, line in enumerate(lines)]


def _network(result: ReplayResult) -> list[tuple[str, str]]:
    return [("network", result.network_about)] if result.network_about else []


def _counts(result: ReplayResult) -> list[tuple[str, str]]:
    from smpy.units import format_bytes

    messages = "messages", f"{result.messages:,} carrying {format_bytes(result.bytes)}"
    return [messages, ("energy", result.energy.render())] if result.energy else [messages]


def _ranks(n_ranks: int) -> str:
    return "1 rank" if n_ranks == 1 else f"{n_ranks:,} ranks"


def _lines(head: str, facts: list[tuple[str, str]]) -> str:
    return "\n".join([head, *(f"  {name:<15}{fact}" for name, fact in facts)])


def _text(trace: Trace, result: ReplayResult) -> str:
    from smpy.units import format_time

    now_s, makespan = result.makespan_s, f"{format_time(result.makespan_s)} simulated"
    if trace.has_dates:
        makespan += f"; the run took {format_time(trace.makespan_s)}{_ratio(trace.makespan_s, now_s)}"
    facts = [("makespan", makespan), *_counts(result)]
    if result.depends_on_time:
        facts.append(("timing", "the run took messages from any source, polled, or waited for any of several:"))
        facts.append(("", "elsewhere it may act differently, and the replay repeats its actions:"))
        facts.append(("", "smpy analyze stability, of runs with --noise-model, shows how much that changes"))
    if share := trace.info.get("skipped_share"):
        facts.append(("skipped", f"{share:.1%} of the run's time: skipped iterations take as long on any machine"))
    if result.n_left_alone:
        facts.append(("eager sends", f"{result.n_left_alone:,} were complete at once in the run, and are not here:"))
        facts.append(("", "nobody waits for them; run the program again"))
    facts += [*_network(result), *_background(result)]
    return _lines(f"smpy: replay of {trace.folder}, {_ranks(trace.n_ranks)}", facts)


def _ratio(before_s: float, now_s: float) -> str:
    if min(before_s, now_s) <= 0 or now_s == before_s:
        return ""
    return f", {now_s / before_s:.4g} times it" if now_s > before_s else f", {before_s / now_s:.4g} times as long"


def _record(trace: Trace, result: ReplayResult) -> dict[str, Any]:
    return {
        "trace": str(trace.folder),
        "ranks": trace.n_ranks,
        "makespan_of_run_s": trace.makespan_s if trace.has_dates else None,
        "n_left_alone": result.n_left_alone,
        "skipped_share": trace.info.get("skipped_share", 0.0),
        **_numbers(result),
    }


def _numbers(result: ReplayResult) -> dict[str, Any]:
    return {
        "makespan_s": result.makespan_s,
        "messages": result.messages,
        "bytes": result.bytes,
        "depends_on_time": result.depends_on_time,
        "energy": result.energy.to_record() if result.energy else None,
        "background": dict(result.background.facts) if result.background else None,
        "finish_s": result.finish_s.tolist(),
        "computing_s": result.computing_s.tolist(),
    }
