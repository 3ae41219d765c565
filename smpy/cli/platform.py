"""`smpy platform`: shows, checks, converts and lists machines, without running anything."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from smpy.cli.click_classes import CommandGroup, IntegerRange
from smpy.cli.cost_text import cost_facts, parts_text
from smpy.cli.platform_validate import RANKS_MAX
from smpy.cli.platform_validate import command as validate_command
from smpy.cli.results import EXIT_FAILURE, errors_told, json_option, print_text, tell
from smpy.cli.run_options import PLACEMENT, run_options
from smpy.errors import UsageError

if TYPE_CHECKING:
    from smpy.platforms.description import Description
    from smpy.platforms.inspection.bisection import Bisection
    from smpy.platforms.inspection.checks import MachineWarning
    from smpy.platforms.inspection.inspection import (
        DeviceKind,
        HostKind,
        HostRanks,
        LinkKind,
        Overview,
        Reach,
        RouteStep,
        RouteView,
    )
    from smpy.platforms.models.memory import Memory
    from smpy.platforms.placement.host_order import HostOrder
    from smpy.platforms.placement.placement import MapBy

RANKS_UNLESS_SAID: Final = 1024  # for a machine that is sized to the run
_LINES_MAX: Final = 16
_NAMES_MAX: Final = 4
_RANKS_MAX: Final = 8


@click.group("platform", cls=CommandGroup, short_help="Look at a machine: show, check, convert, list.")
def command() -> None:
    """Look at a machine, without running anything on it.

    MACHINE is one that `smpy run --platform` takes; `default` is the one of runs without that option.
    """


@command.command("show", short_help="Show hosts, links, diameter, bisection, price, routes, placement.")
@click.argument("what", metavar="MACHINE")
@run_options("options")
@click.option(
    "--ranks",
    "n_ranks",
    type=IntegerRange(1, RANKS_MAX),
    metavar="N",
    help=f"Placement of N ranks. A machine that is sized to the run is made for them (else for {RANKS_UNLESS_SAID:,}).",
)
@run_options(*PLACEMENT, "cpus_per_task", "seed")
@click.option(
    "--route", "ends", nargs=2, multiple=True, metavar="A B", help="The route from host A to host B. Repeatable."
)
@click.option(
    "--svg",
    "svg_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Draw a small machine: hosts, switches and links, as its routes join them.",
)
@json_option
def show(
    what: str,
    options: tuple[tuple[str, str], ...],
    n_ranks: int | None,
    hostfile: Path | None,
    ranks_per_host: int | None,
    map_by: MapBy | None,
    host_order: HostOrder | None,
    cpus_per_task: int | None,
    seed: int,
    ends: tuple[tuple[str, str], ...],
    svg_path: Path | None,
    json_path: Path | None,
) -> None:
    """Show hosts, links, diameter and bisection bandwidth of a machine, its parts and their prices.

    \b
      smpy platform show cluster.xml
      smpy platform show cluster.xml --ranks 64 --map-by host
      smpy platform show cluster.xml --route node-0 node-17 --svg cluster.svg
    """
    with errors_told():
        from smpy.platforms.inspection.inspection import overview, ranks_by_host, route_view
        from smpy.platforms.placement.placement import place
        from smpy.platforms.placement.rank_cores import cores_text
        from smpy.study.cost import machine_cost

        n_cores = cpus_per_task or 1
        description = _machine(what, n_ranks, options, ranks_per_host, n_cores)
        platform = description.build()
        machine = overview(description, platform)
        routes = [route_view(platform, source, target) for source, target in ends]
        seats: tuple[HostRanks, ...] | None = None
        cores = ""
        if n_ranks is not None:
            host_of_rank = place(
                *(platform, n_ranks, hostfile),
                ranks_per_host=ranks_per_host,
                cpus_per_task=n_cores,
                map_by=map_by,
                host_order=host_order,
                seed=seed,
            )
            seats = ranks_by_host(platform, host_of_rank)
            if n_cores > 1:
                cores = cores_text(platform, host_of_rank, n_cores, by_socket=map_by == "socket")
        elif {hostfile, ranks_per_host, cpus_per_task, map_by, host_order} != {None}:
            raise UsageError("how many ranks are to be placed? Say --ranks N")
        if svg_path is not None:
            from smpy.platforms.inspection.drawing import draw_svg
            from smpy.records.files import write_whole

            write_whole(svg_path, draw_svg(platform))
        parts, cost = description.parts_list, machine_cost(description)
        facts = [("parts", parts_text(parts)), *cost_facts(cost)]
        text = "\n".join([*_overview_lines(machine), *_facts(facts), *_route_lines(routes), *_seat_lines(seats, cores)])
        record = {"machine": machine, "parts": parts, "bill": cost.to_json(), "routes": routes, "ranks": seats}
        tell(text, record, json_path)


@command.command("check", short_help="Read a machine, walk routes, warn of odd numbers.")
@click.argument("what", metavar="MACHINE")
@run_options("options")
@json_option
def check(what: str, options: tuple[tuple[str, str], ...], json_path: Path | None) -> None:
    """Read a machine, check the routes between its hosts, and warn of odd numbers.

    The exit code is 1 if something is, as it is for a machine that cannot be read.

    \b
      smpy platform check cluster.xml
    """
    with errors_told():
        from smpy.platforms.inspection.checks import MachineWarning, findings
        from smpy.platforms.inspection.inspection import overview

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            description = _machine(what, None, options)
            _check_models(description)
        machine = overview(description, description.build())
        machine_warnings = [*(MachineWarning("", str(warning.message)) for warning in caught), *findings(machine)]
        tell(
            "\n".join(_finding_lines(machine, machine_warnings)),
            {"machine": machine, "findings": machine_warnings},
            json_path,
        )
        if machine_warnings:
            sys.exit(EXIT_FAILURE)


@command.command("convert", short_help="Write a machine in smpy's TOML.")
@click.argument("what", metavar="MACHINE")
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE.toml")
@run_options("options")
def convert(what: str, file: Path, options: tuple[tuple[str, str], ...]) -> None:
    """Write a machine down in smpy's TOML: a SimGrid XML file, for one. FILE.toml -: to standard output.

    The new file is read back and has to be the same machine, name of links and model of messages included; what TOML
    cannot say is refused by name.

    \b
      smpy platform convert cluster.xml cluster.toml
    """
    with errors_told():
        from smpy.platforms.own_format.writing import write_toml
        from smpy.records.files import write_whole

        if str(file) != "-" and file.suffix != ".toml":
            raise UsageError(f"{str(file)!r}: a machine is written as TOML: name a file that ends with .toml, or -")
        machine = _machine(what, None, options)
        if str(file) == "-":
            print_text(write_toml(machine).removesuffix("\n"))
            return
        write_whole(file, write_toml(machine))
        print_text(f"{file}: {_count(machine.n_hosts, 'host')}, the same machine as {what}")


@command.command("list", short_help="List the machines that come with smpy, and their sources.")
@json_option
def list_machines(json_path: Path | None) -> None:
    """The machines that come with smpy, by name, and where their numbers are from."""
    with errors_told():
        from smpy.platforms.presets import presets

        known = presets()
        facts = [fact for preset in known for fact in _named(preset.name, (preset.about, *preset.sources))]
        tell("\n".join(_facts(facts)), {"machines": known}, json_path)


command.add_command(validate_command)


# ---- machines ----


def _machine(
    what: str,
    n_ranks: int | None,
    options: tuple[tuple[str, str], ...],
    ranks_per_host: int | None = None,
    cpus_per_task: int = 1,
) -> Description:
    from smpy.platforms.machine import read_machine

    return read_machine(
        *(what, n_ranks or RANKS_UNLESS_SAID, options),
        ranks_per_host=ranks_per_host or 0,
        cpus_per_task=cpus_per_task,
    )


def _check_models(machine: Description) -> None:
    """Refuse a machine on which every run would be refused."""
    from smpy.collectives.choice import selection_of
    from smpy.engine.model import kernel_model

    kernel_model(machine.models)
    selection_of(machine.models.collectives)


# ---- output ----


def _facts(facts: Sequence[tuple[str, str]]) -> list[str]:
    """One line per fact, in two columns; a fact without a name continues the one before."""
    return [f"  {name:<15}{fact}" for name, fact in facts]


def _overview_lines(machine: Overview) -> list[str]:
    from smpy.units import format_speed

    head = (
        f"smpy: {machine.name}, {machine.topology}: {_count(machine.n_hosts, 'host')}, "
        f"{_count(machine.n_cores, 'core')} of {format_speed(machine.speed_flop_per_s)}lop/s together, "
        f"{_count(machine.n_links, 'link')}"
    )
    facts = [
        *_named("hosts", [_host_text(kind) for kind in machine.hosts]),
        *_named("devices", [_device_text(kind) for kind in machine.devices]),
        *_named("links", [_link_text(kind) for kind in machine.links]),
    ]
    if machine.shape:
        facts.append(("shape", machine.shape))
    if machine.reach is not None:
        facts += _reach_facts(machine.reach)
        facts.append(("bisection", _bisection_text(machine.bisection)))
    if machine.kernels:
        first = ", ".join(machine.kernels[:_NAMES_MAX]) + (", ..." if len(machine.kernels) > _NAMES_MAX else "")
        reference = format_speed(machine.kernels_reference_flop_per_s)
        facts.append(("kernels", f"costs of {len(machine.kernels)}, measured on a core of {reference}: {first}"))
    return [head, *_facts(facts)]


def _named(name: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    """One fact of several lines, of which the first few are kept."""
    if len(texts) > _LINES_MAX:
        texts = [*texts[: _LINES_MAX - 1], f"... and {len(texts) - _LINES_MAX + 1:,} more kinds"]
    return [("" if at else name, text) for at, text in enumerate(texts)]


def _host_text(kind: HostKind) -> str:
    from smpy.units import format_speed

    names = ", ".join(kind.names[:_NAMES_MAX]) + (", ..." if len(kind.names) > _NAMES_MAX else "")
    sockets = f" on {kind.sockets} sockets" if kind.sockets > 1 else ""
    cores = f"{_count(kind.cores, 'core')}{sockets} at {format_speed(kind.speed_flop_per_s)}"
    return f"{kind.n_hosts:,} of {cores}{_memory_text(kind.memory)}: {names}"


def _device_text(kind: DeviceKind) -> str:
    from smpy.platforms.models.devices import BITS
    from smpy.units import format_bytes, format_speed

    device = kind.device
    speeds = [(bits, device.speed_flop_per_s(bits)) for bits in BITS]
    known = ", ".join(f"{format_speed(speed)} with {bits} bits" for bits, speed in speeds if speed)
    memory = f", {format_bytes(device.memory_bytes)}" if device.memory_bytes else ""
    link = f"{_rate(device.link_bandwidth_bytes_per_s)}, {_time(device.link_latency_s)}"
    way = "direct" if device.direct else "through the host"
    return f"{device.count} on {_count(kind.n_hosts, 'host')}: {known}{memory}; link {link}; messages {way}"


def _memory_text(memory: Memory) -> str:
    """Known bandwidths of memory and caches, after a comma; empty: not known."""
    from smpy.units import format_bytes

    shared = f", memory {_rate(memory.bandwidth_bytes_per_s)}" if memory.bandwidth_bytes_per_s else ""
    alone = f", {_rate(memory.core_bandwidth_bytes_per_s)} a core" if memory.core_bandwidth_bytes_per_s else ""
    caches = [f"{format_bytes(each.size_bytes)} at {_rate(each.core_bandwidth_bytes_per_s)}" for each in memory.caches]
    shared_caches = [level for level in memory.cache_levels if level.n_cores > 1]
    levels = [f"{format_bytes(level.size_bytes)} shared by {_count(level.n_cores, 'core')}" for level in shared_caches]
    accesses = memory.random_access
    rates = [f"{format_bytes(each.working_set_bytes)} at {_rate(each.core_bytes_per_s)}" for each in accesses]
    return (
        f"{shared}{alone}{', caches of a core ' if caches else ''}{', '.join(caches)}"
        f"{', cache ' if levels else ''}{', cache '.join(levels)}"
        f"{', random access to ' if rates else ''}{', '.join(rates)}"
    )


def _link_text(kind: LinkKind) -> str:
    shared = "shared" if kind.sharing == "SHARED" else kind.sharing.lower()
    first = kind.example if kind.n_links == 1 else f"{kind.example}, ..."
    return f"{kind.n_links:,} of {_rate(kind.bandwidth_bytes_per_s)}, {_time(kind.latency_s)}, {shared}: {first}"


def _reach_facts(reach: Reach) -> list[tuple[str, str]]:
    pairs = f"{'all' if reach.are_all else 'a sample of'} {_count(reach.n_pairs, 'pair')}"
    if reach.n_without_route == reach.n_pairs:
        return [("routes", f"none between two hosts ({pairs})")]
    least = "" if reach.is_longest_certain else "at least "
    span = dict.fromkeys((_time(reach.latency_min_s), _time(reach.latency_max_s)))
    facts = [
        ("diameter", f"{least}{_count(reach.longest_links, 'link')}"),
        ("latency", f"{' to '.join(span)} ({pairs})"),
    ]
    if reach.n_without_route:
        source, target = reach.without_route or ("", "")
        facts.append(("no route", f"{_count(reach.n_without_route, 'pair')}, such as {source} to {target}"))
    return facts


def _bisection_text(bisection: Bisection | None) -> str:
    if bisection is None:
        return "not known: there is no formula for this topology, or for one with single links changed"
    if bisection.source == "bound":
        return f"at most {_rate(bisection.bandwidth_bytes_per_s)} one way (cables between some halves of the hosts)"
    return f"{_rate(bisection.bandwidth_bytes_per_s)} one way (a formula: all that links can carry)"


def _route_lines(routes: Sequence[RouteView]) -> list[str]:
    lines = []
    for route in routes:
        slowest = min((step.bandwidth_bytes_per_s for step in route.steps), default=0.0)
        end = f", {_rate(slowest)}" if route.steps else ""
        head = f"route from {route.source} to {route.target}: "
        lines.append(f"{head}{_count(len(route.steps), 'link')}, {_time(route.latency_s)}{end}")
        lines += (
            f"  {_rate(step.bandwidth_bytes_per_s):>12}  {_time(step.latency_s):>9}  {_step_text(step)}"
            + ("" if step.sharing == "SHARED" else f" ({step.sharing.lower()})")
            for step in route.steps
        )
    return lines


def _step_text(step: RouteStep) -> str:
    return step.link if step.joins == step.link else f"{step.joins} ({step.link})"


def _seat_lines(seats: tuple[HostRanks, ...] | None, cores: str) -> list[str]:
    if seats is None:
        return []
    n_ranks = sum(len(seat.ranks) for seat in seats)
    lines = [f"{_count(n_ranks, 'rank')} on {_count(len(seats), 'host')}"]
    lines += _facts([("cores", cores)] if cores else [])
    lines += _facts([(seat.host, _ranks_text(seat.ranks)) for seat in seats[:_LINES_MAX]])
    if len(seats) > _LINES_MAX:
        lines.append(f"  ... and {len(seats) - _LINES_MAX:,} more hosts (all: --json)")
    return lines


def _ranks_text(ranks: Sequence[int]) -> str:
    """Numbers in short form: 0-7, or 0, 4, ..., 28."""
    count = f" ({len(ranks):,})"
    if len(ranks) > 1 and ranks[-1] - ranks[0] == len(ranks) - 1:
        return f"{ranks[0]}-{ranks[-1]}{count}"
    if len(ranks) <= _RANKS_MAX:
        return ", ".join(map(str, ranks))
    return f"{', '.join(map(str, ranks[: _RANKS_MAX - 1]))}, ..., {ranks[-1]}{count}"


def _finding_lines(machine: Overview, machine_warnings: Sequence[MachineWarning]) -> list[str]:
    pairs = "" if machine.reach is None else f", {_count(machine.reach.n_pairs, 'route')} walked"
    what = f"{machine.name}: {_count(machine.n_hosts, 'host')}, {_count(machine.n_links, 'link')}{pairs}"
    lines = [f"{finding.what}: {finding.text}" if finding.what else finding.text for finding in machine_warnings]
    return [
        f"{what}: {_count(len(machine_warnings), 'warning') if machine_warnings else 'no warnings'}",
        *(f"  {line}" for line in lines),
    ]


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _rate(bandwidth_bytes_per_s: float) -> str:
    from smpy.units import format_bytes

    return f"{format_bytes(bandwidth_bytes_per_s)}/s"


def _time(time_s: float) -> str:
    from smpy.units import format_time

    return format_time(time_s)
