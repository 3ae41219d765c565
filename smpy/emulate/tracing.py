"""`sys.settrace`, `sys.setprofile` and cProfile on a rank see what that rank does.

The functions are announced when they are looked up, not when they are called: a frame around them would be traced.
From Python 3.12 the interpreter lets but one cProfile be enabled: the second rank that enables one gets its ValueError.
"""

from __future__ import annotations

import sys
from _lsprof import Profiler
from collections.abc import Callable
from functools import partial
from typing import Any

from smpy.emulate.imports import Importer
from smpy.emulate.patches import Patches
from smpy.emulate.settings import Change, Settings, Value


def install_tracing(patches: Patches, settings: Settings, importer: Importer) -> None:
    """Give every rank its own trace and profile functions until the patches are undone."""
    change_trace = settings.add(Value(sys.gettrace, sys.settrace))
    change_profile = settings.add(Value(sys.getprofile, partial(_set_profile, sys.setprofile)))
    patches.attribute(type(sys), "settrace", _of_sys("settrace", change_trace))
    patches.attribute(type(sys), "setprofile", _of_sys("setprofile", change_profile))
    importer.when_imported("_lsprof", partial(_install_profiler, patches, change_profile))


def _set_profile(set_profile: Callable[[Any], None], profile: Any) -> None:
    if isinstance(profile, Profiler):  # cProfile's, which is no function
        Profiler.enable(profile)
    else:
        set_profile(profile)


def _of_sys(name: str, change: Change) -> property:
    def assign(system: Any, function: object) -> None:
        vars(system)[name] = function

    return _announced(change, lambda system: vars(system)[name], assign)


def _install_profiler(patches: Patches, change: Change) -> None:
    methods = {name: _announced(change, vars(Profiler)[name].__get__) for name in ("enable", "disable")}
    patches.attribute(sys.modules["_lsprof"], "Profiler", type("Profiler", (Profiler,), methods))


def _announced(
    change: Change, find: Callable[[Any], Any], assign: Callable[[Any, Any], None] | None = None
) -> property:
    def look(instance: Any) -> Any:
        change(_nothing)
        return find(instance)

    return property(look, assign)


def _nothing() -> None:
    """What is looked up will be called later."""
