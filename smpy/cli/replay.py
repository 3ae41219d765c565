"""`smpy replay`: a trace performed again, on its machine or on another one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from smpy.cli.changes_option import changes_option
from smpy.cli.placement_options import placement_options
from smpy.cli.results import errors_told, json_option, tell

if TYPE_CHECKING:
    from smpy.replay import ReplayResult

_PARTS: Final = ("contention", "bandwidth", "latency", "overhead")  # as smpy.platforms.models has them


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
    parts = tuple(part.strip().lower() for part in value.split(","))
    for part in parts:
        if part not in (*_PARTS, "all"):
            raise click.BadParameter(f"{part!r} is none of {', '.join(_PARTS)} and all", ctx, param)
    return _PARTS if "all" in parts else parts


def _collectives(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    for value in values:
        if "=" not in value:
            raise click.BadParameter(f"{value!r} is not COLLECTIVE=NAME, such as alltoall=ring", ctx, param)
    return tuple((operation, name) for operation, _, name in (value.partition("=") for value in values))


@click.command("replay", short_help="Perform a trace on its machine, or another one.")
@click.argument("trace", type=click.Path(path_type=Path))
@click.option(
    "--platform", metavar="MACHINE", help="Another machine, as smpy run takes it. Without it: that of the run."
)
@placement_options
@changes_option
@click.option(
    "--collectives",
    multiple=True,
    callback=_collectives,
    metavar="COLLECTIVE=NAME",
    help="The algorithm a collective uses, such as alltoall=ring; without it, as in the run. Repeatable.",
)
@click.option(
    "--cpu", callback=_times, default="1x", show_default=True, metavar="TIMES", help="All cores compute so much faster."
)
@click.option(
    "--ideal",
    callback=_ideal,
    metavar="PART,...",
    help=f"What there is none of: {', '.join(_PARTS)} (of calls, polls and looks at the clock), or all.",
)
@json_option
def command(
    trace: Path,
    platform: str | None,
    options: tuple[tuple[str, str], ...],
    collectives: tuple[tuple[str, str], ...],
    cpu: float,
    ideal: tuple[str, ...],
    json_path: Path | None,
    **placement: Any,
) -> None:
    """Perform a trace again, without its program.

    TRACE is a folder that smpy run --trace wrote. On the machine of the run the dates are those of the run; elsewhere
    they are those of the program there, unless what it does depends on time: then the replay says so.

    \b
      smpy replay trace
      smpy replay trace --set network.bandwidth=x2
      smpy replay trace --platform dragonfly.toml --cpu 2x
      smpy replay trace --ideal latency,overhead
    """
    with errors_told():
        from smpy.records.trace import Trace
        from smpy.replay import replay

        read = Trace(trace)
        result = replay(
            read, platform=platform, options=options, algorithms=collectives or None, cpu=cpu, ideal=ideal, **placement
        )
        tell(_text(read, result), _record(read, result), json_path)


def _text(trace: Any, result: ReplayResult) -> str:
    from smpy.units import format_bytes, format_time

    before_s, now_s = trace.makespan_s, result.makespan_s
    facts = [
        ("makespan", f"{format_time(now_s)} simulated; the run took {format_time(before_s)}{_ratio(before_s, now_s)}"),
        ("messages", f"{result.messages:,} carrying {format_bytes(result.bytes)}"),
    ]
    if result.depends_on_time:
        facts.append(("timing", "the run took messages from any source, polled, or waited for any of several:"))
        facts.append(("", "elsewhere it may do something else, and the replay does what it did"))
    if result.n_left_alone:
        facts.append(("eager sends", f"{result.n_left_alone:,} were complete at once in the run, and are not here:"))
        facts.append(("", "nobody waits for them; run the program again"))
    head = f"smpy: replay of {trace.folder}, {trace.n_ranks:,} ranks"
    return "\n".join([head, *(f"  {name:<15}{fact}" for name, fact in facts)])


def _ratio(before_s: float, now_s: float) -> str:
    if min(before_s, now_s) <= 0 or now_s == before_s:
        return ""
    return f", {now_s / before_s:.4g} times it" if now_s > before_s else f", {before_s / now_s:.4g} times as long"


def _record(trace: Any, result: ReplayResult) -> dict[str, Any]:
    return {
        "trace": str(trace.folder),
        "ranks": trace.n_ranks,
        "makespan_s": result.makespan_s,
        "makespan_of_run_s": trace.makespan_s,
        "messages": result.messages,
        "bytes": result.bytes,
        "depends_on_time": result.depends_on_time,
        "n_left_alone": result.n_left_alone,
        "finish_s": result.finish_s.tolist(),
        "computing_s": result.computing_s.tolist(),
    }
