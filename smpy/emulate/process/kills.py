"""A rank that kills its process by a signal, or aborts, ends the run, as under mpiexec."""

from __future__ import annotations

import functools
import os
import signal
from typing import Final, NoReturn

from smpy.emulate.patches import Patches
from smpy.emulate.ranks import RankState, running
from smpy.engine.outcomes import Failed
from smpy.engine.running import named_call

_HARMLESS: Final = frozenset(
    getattr(signal, name)
    for name in ("SIGCHLD", "SIGCONT", "SIGURG", "SIGWINCH", "SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU")
    if hasattr(signal, name)
)


def is_of_run(handler: object) -> bool:
    """Whether the handler of a signal is the run's own, not the program's."""
    return str(getattr(handler, "__module__", "")).startswith("smpy.")


def install_kills(patches: Patches) -> None:
    """Redirect signals that a rank sends to its own process to that rank, until the patches are undone."""
    real_kill, real_raise, real_abort = os.kill, signal.raise_signal, os.abort

    @functools.wraps(real_kill)
    def kill(pid: int, number: int, /) -> None:
        if pid == os.getpid():
            _meet(number, "os.kill")
        real_kill(pid, number)

    @functools.wraps(real_raise)
    def raise_signal(number: int, /) -> None:
        _meet(number, "signal.raise_signal")
        real_raise(number)

    @functools.wraps(real_abort)
    def abort() -> None:
        state = running()
        if state is not None and not state.is_child:
            _die(state, "it called os.abort()")
        real_abort()

    patches.attribute(os, "kill", kill)
    patches.attribute(signal, "raise_signal", raise_signal)
    patches.attribute(os, "abort", abort)


def _meet(number: int, call: str) -> None:
    """Apply a signal to the running rank, unless its program handles the signal."""
    state = running()
    if state is None or state.is_child or number not in signal.valid_signals() or number in _HARMLESS:
        return
    handler = signal.getsignal(number)
    if number == signal.SIGINT and (is_of_run(handler) or handler is signal.default_int_handler):
        raise KeyboardInterrupt
    if is_of_run(handler) or handler == signal.SIG_DFL:
        _die(state, f"it sent itself {signal.Signals(number).name} with {call}")


def _die(state: RankState, how: str) -> NoReturn:
    if state.engine.is_here():
        _end_run(state, how)
    state.engine.break_off(Failed(state.rank, how))


@named_call("")
def _end_run(state: RankState, how: str) -> NoReturn:
    state.engine.stop(Failed(state.rank, how))
    while True:
        state.engine.block("kill")
