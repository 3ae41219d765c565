"""Child processes that ranks fork: the run continues in the parent only, and the child is an ordinary process.

A child prints directly, handles signals and `os._exit` like any process, cannot call MPI, and ends when its rank's
code ends, without reporting to the run. Its clock is that of a thread (`smpy.engine.thread_ranks`).
"""

from __future__ import annotations

import functools
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any, Final, NoReturn

from smpy.emulate.modules.streams import Outlet
from smpy.emulate.patches import Patches
from smpy.emulate.process.kills import is_of_run
from smpy.emulate.ranks import RankState, running
from smpy.errors import UsageError

_real_exit: Final = os._exit
_outlets: tuple[Outlet, ...] = ()  # of the run under way
_forking: Final = threading.local()


def install_forks(patches: Patches, outlets: tuple[Outlet, Outlet]) -> None:
    """Make forked children leave the run, until the patches are undone."""
    patches.attribute(sys.modules[__name__], "_outlets", outlets)
    _register()
    for name in ("execv", "execve"):  # the others call these
        patches.attribute(os, name, _in_child_only(getattr(os, name)))


@functools.cache
def _register() -> None:
    """Register the fork handlers permanently: Python cannot unregister them."""
    os.register_at_fork(before=_hold_signals, after_in_parent=_let_signals_come, after_in_child=_leave_run)


def _hold_signals() -> None:
    """Block signals until the child has installed its own handlers."""
    _forking.mask_before = signal.pthread_sigmask(signal.SIG_BLOCK, _handled_by_the_run())


def _let_signals_come() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, _forking.mask_before)


def _leave_run() -> None:
    state = running()
    if state is not None and not state.is_child:
        _become_child(state)
    _let_signals_come()


def _become_child(state: RankState) -> None:
    state.engine.leave(state.rank)
    state.is_child = True
    state.unfinished = None  # the parent prints it
    for descriptor, outlet in enumerate(_outlets, start=1):
        stream = open(  # noqa: SIM115  # as long as the process
            descriptor,
            "w",
            encoding=outlet.stream.encoding or "utf-8",
            errors="surrogateescape",
            closefd=False,
            buffering=1,
        )
        outlet.enter_child(stream)
    for number in _handled_by_the_run():
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def _handled_by_the_run() -> list[int]:
    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    return [number for number, handler in handlers.items() if is_of_run(handler)]


def end_child(code: int) -> NoReturn:
    """End the process as Python does at the end of a program."""
    for outlet in _outlets:
        outlet.flush()
    _real_exit(code)


def _in_child_only(real: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(real)
    def execute(path: Any, *args: Any, **kwargs: Any) -> Any:
        state = running()
        if state is not None and not state.is_child:
            raise UsageError(
                f"os.{real.__name__}({os.fsdecode(path)!r}): rank {state.rank} cannot become another program, for all "
                "ranks live in its process: use subprocess, or call it in a child process"
            )
        return real(path, *args, **kwargs)

    return execute
