"""Observation of a run's measured bursts: separates the program's files from libraries, and samples lines."""

from __future__ import annotations

import os
import signal
import site
import sys
import sysconfig
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from smpy.compute.clock.observed_bursts import ObservedBursts
from smpy.emulate.modules.named_packages import find_module
from smpy.emulate.patches import Patches
from smpy.emulate.reports.ranks_in_text import place_of
from smpy.engine.surface import surface
from smpy.engine.thread_ranks import OURS
from smpy.records.computing_lines import ComputingLine, function_name, shares_of

if TYPE_CHECKING:
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
    """The profile of a measured run, with its computing lines and the spread of equal bursts."""
    lines = _computing_lines(bursts, home, profile.computed_s())
    return replace(profile, computing_lines=lines, burst_spread=bursts.spread.spread())


def _computing_lines(bursts: ObservedBursts, home: str, ends: Collection[str]) -> Sequence[ComputingLine]:
    """Computing lines by the profile's names of lines; bursts that an import ended have none there: an empty name."""
    by_end: dict[str, Counter[tuple[str, str]]] = {}
    for (file, number), samples in bursts.samples.items():
        end = place_of(file, number, home)
        places = by_end.setdefault(end if end in ends else "", Counter())
        for (sampled_file, function, line), count in samples.items():
            places[function_name(function), place_of(sampled_file, line, home)] += count
    return [row for end, places in by_end.items() for row in shares_of(end, places)]
