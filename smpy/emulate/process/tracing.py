"""`sys.settrace`, `sys.setprofile` and cProfile on a rank see only the code of that rank.

The functions are replaced when they are looked up, not when they are called: a wrapper's own frame would be traced. A
trace function sees no frames of smpy, nor of libraries that smpy calls: a real MPI has none, and the function could
not print while one of them runs. From Python 3.12 on the interpreter allows one active cProfile: the second rank that
enables one gets Python's ValueError.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from _lsprof import Profiler
from collections.abc import Callable
from functools import cache, partial
from types import FrameType
from typing import Any

from smpy.emulate.modules.imports import Importer
from smpy.emulate.patches import Patches
from smpy.emulate.process_state import Change, PerRankProcessState, Value
from smpy.engine.thread_ranks import OURS


def install_tracing(patches: Patches, settings: PerRankProcessState, importer: Importer) -> None:
    """Give every rank its own trace and profile functions until the patches are undone."""
    get_trace, set_trace = sys.gettrace, sys.settrace
    change_trace = settings.add(Value(get_trace, set_trace))
    change_profile = settings.add(Value(sys.getprofile, partial(_set_profile, sys.setprofile)))
    patches.attribute(type(sys), "settrace", _announced(change_trace, lambda _: partial(_set_trace, set_trace)))
    patches.attribute(type(sys), "gettrace", property(lambda _: partial(_get_trace, get_trace)))
    patches.attribute(type(sys), "setprofile", _of_sys("setprofile", change_profile))
    importer.when_imported("_lsprof", partial(_install_profiler, patches, change_profile))


@cache
def _libraries() -> tuple[str, ...]:
    """Beginnings of the names of libraries' files; few programs trace, and finding them takes milliseconds."""
    return ("<", *{sysconfig.get_path(name) + os.sep for name in ("stdlib", "purelib", "platlib")})


class _Tracer:
    """A trace function of the program, called for frames of the program and of libraries."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        return None if _is_ours(frame) else self.function(frame, event, arg)


def _is_ours(frame: FrameType | None) -> bool:
    """Whether a frame belongs to smpy, or to a library that smpy calls."""
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(OURS):
            return True
        if not name.startswith(_libraries()):
            return False
        frame = frame.f_back
    return False


def _set_trace(set_trace: Callable[[Any], None], function: Any, /) -> None:
    set_trace(_Tracer(function) if callable(function) else function)


def _get_trace(get_trace: Callable[[], Any]) -> Any:
    tracer = get_trace()
    return tracer.function if isinstance(tracer, _Tracer) else tracer


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
    """Change nothing yet: the function was looked up, and will be called later."""
