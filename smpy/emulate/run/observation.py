"""Observation of a run's measured bursts: separates the program's files from libraries, and samples lines."""

from __future__ import annotations

import os
import signal
import site
import sys
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from smpy.compute.clock.observed_bursts import ObservedBursts
from smpy.compute.clock.sampled_stacks import Place, SampledStacks
from smpy.emulate.modules.named_packages import find_module
from smpy.emulate.patches import Patches
from smpy.emulate.reports.ranks_in_text import path_in_text, place_of
from smpy.engine.surface import surface
from smpy.engine.thread_ranks import OURS
from smpy.records.computing_lines import function_name, shares_of

if TYPE_CHECKING:
    from smpy.records.call_stacks import CallStacks, StackCall
    from smpy.records.profile import RunProfile

_STANDARD: Final = ("stdlib", "platstdlib", "purelib", "platlib")


def start_sampler(patches: Patches, home: str, packages: Iterable[str]) -> None:
    """Sample the running lines of the program until the world ends.

    No samples are taken without the compiled surface, on a system without such timers, or after the program sets a
    handler for the timer's signal.

    Parameters
    ----------
    patches : Patches
        Notes `signal.signal`, to put it back.
    home : str
        Folder of the program: its files are the program's, except libraries that are installed below it.
    packages : iterable of str
        Installed packages that are the program's, too.
    """
    if surface is None:
        return
    libraries = {*map(sysconfig.get_path, _STANDARD), *site.getsitepackages(), site.getusersitepackages()}
    of_program = {home, os.path.realpath(home), *_folders(home, packages)}
    is_program = dict.fromkeys(map(_folder, libraries), False) | dict.fromkeys(map(_folder, of_program), True)
    number = surface.start_sampler([*{**is_program, OURS: False}.items()])
    if number:
        patches.attribute(signal, "signal", _yielding(signal.signal, number))


def _yielding(set_handler: Callable[[int, Any], Any], number: int) -> Callable[[int, Any], Any]:
    """`signal.signal` that stops the sampler before it sets a handler for the sampler's signal."""

    def set_one(signalnum: int, handler: Any) -> Any:
        if signalnum == number:
            surface.stop_sampler()
        return set_handler(signalnum, handler)

    return set_one


def _folders(home: str, packages: Iterable[str]) -> Iterable[str]:
    for package in packages:
        spec = find_module(package, [home, *sys.path])
        yield from (spec.submodule_search_locations or ()) if spec is not None else ()


def _folder(path: str) -> str:
    return path.rstrip(os.sep) + os.sep


def observed_profile(profile: RunProfile, bursts: ObservedBursts, home: str) -> RunProfile:
    """The profile of a measured run, with its computing lines, call stacks and the spread of equal bursts."""
    computed_s = profile.computed_s()
    by_end: dict[str, Counter[tuple[str, str]]] = {}
    name_of_end: dict[Place, str] = {}
    for place, samples in bursts.samples.items():
        end = place_of(*place, home)
        name_of_end[place] = end if end in computed_s else ""  # bursts that an import ended have none there
        places = by_end.setdefault(name_of_end[place], Counter())
        for (file, function, line), count in samples.items():
            places[function_name(function), place_of(file, line, home)] += count
    seconds_of_sample = {end: computed_s.get(end, 0.0) / places.total() for end, places in by_end.items()}
    seconds_of_place = {place: seconds_of_sample[end] for place, end in name_of_end.items()}
    return replace(
        profile,
        computing_lines=[row for end, places in by_end.items() for row in shares_of(end, places)],
        call_stacks=_call_stacks(bursts.stacks, seconds_of_place, home) if by_end else None,
        burst_spread=bursts.spread.spread(),
    )


def _call_stacks(stacks: SampledStacks, seconds_of_place: Mapping[Place, float], home: str) -> CallStacks:
    """Call stacks in seconds; a comprehension is a part of its function."""
    from smpy.records.call_stacks import CallStacks, StackCall, StackTime  # short runs have no samples

    numbers: list[int] = []
    indices: dict[StackCall, int] = {}
    calls: list[StackCall] = []
    for caller, file, function, line in stacks.calls:
        above_number = numbers[caller] if caller >= 0 else -1
        call = StackCall(above_number, function_name(function), path_in_text(file, home), line)
        above = calls[call.caller] if call.caller >= 0 else None
        is_inner = above is not None and not line and above[1:] == call[1:]
        if is_inner:
            numbers.append(call.caller)
            continue
        if call not in indices:
            indices[call] = len(calls)
            calls.append(call)
        numbers.append(indices[call])
    seconds: dict[tuple[int, int, int], float] = {}
    for cell, count in stacks.samples.items():
        key = cell.ranks, cell.window, numbers[cell.call]
        seconds[key] = seconds.get(key, 0.0) + count * seconds_of_place[cell.end]
    times = [StackTime(*key, spent_s) for key, spent_s in sorted(seconds.items()) if spent_s > 0]
    return CallStacks(stacks.window_s, stacks.ranks_per_cell, calls, times)
