"""pdb on ranks: at `breakpoint()`, at the first line of a rank, and where the first rank has failed.

A rank stops at its simulated date: the others go on up to there, and their output until then is shown. From then on the
terminal is the rank's, and the run stands still, until the rank continues. That time is no computing of the rank.
"""

from __future__ import annotations

import io
import pdb  # noqa: T100  # this is its use
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType
from typing import Any, Final, TextIO

from smpy.emulate.modules.streams import Outlet
from smpy.emulate.patches import Patches
from smpy.emulate.ranks import RankState, rank_here
from smpy.emulate.reports.tracebacks import report
from smpy.emulate.run.interrupts import set_handler
from smpy.engine.running import named_call
from smpy.engine.thread_ranks import OURS
from smpy.errors import Interrupted, UsageError

with suppress(ImportError):  # not every Python has it; ranks need not import it then
    import readline  # noqa: F401  # pdb does

_set_trace: Final = pdb.set_trace


def check_terminal() -> None:
    """Refuse to debug without a terminal.

    Raises
    ------
    UsageError
        If standard input or output is none.
    """
    if not (sys.stdin and sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "the debugger (--pdb) talks to a terminal, and standard input or output is none: start `smpy run` from a "
            "terminal, without redirecting them"
        )


class RankDebuggers:
    """Debuggers of a run's ranks.

    Parameters
    ----------
    stdin : text stream
        The terminal.
    outlet : Outlet
        Standard output, to the terminal.
    chosen_rank : int or None
        The one rank that stops at breakpoints, and first at its first line; None: all stop at breakpoints.
    """

    def __init__(self, stdin: TextIO, outlet: Outlet, chosen_rank: int | None) -> None:
        self._stdin = stdin
        self._stdout = _Terminal(outlet)
        self._chosen_rank = chosen_rank
        self._of_rank: dict[int, RankDebugger] = {}

    def install(self, patches: Patches) -> None:
        """Have `breakpoint` and `pdb.set_trace` stop the running rank, until the patches are undone."""

        def set_trace(*args: Any, **kwargs: Any) -> None:
            state = rank_here()
            if state is None or state.is_child:
                _set_trace(*args, **kwargs)
            elif self._chosen_rank in (None, state.rank):
                frame: FrameType | None = sys._getframe()
                while frame is not None and _is_ours(frame):
                    frame = frame.f_back
                self._debugger(state).stop_at(frame, kwargs.get("header"))

        patches.attribute(pdb, "set_trace", set_trace)

    def begin(self) -> None:
        """Stop the running rank at the first line of its program, if it is the chosen one."""
        state = rank_here()
        if state is not None and state.rank == self._chosen_rank:
            self._debugger(state).stop_at_next_line()

    def examine(self, state: RankState, error: BaseException) -> None:
        """Let the user look at the frames of the first rank that fails, in simulated time."""
        traceback = _of_program(error.__traceback__)
        if state.is_child or traceback is None:
            return
        _wait_for_date(state)  # the run ends there if another rank has failed before
        self._debugger(state).examine(error, traceback)

    def _debugger(self, state: RankState) -> RankDebugger:
        if state.rank not in self._of_rank:
            self._of_rank[state.rank] = RankDebugger(state, self._stdin, self._stdout)
        return self._of_rank[state.rank]


class RankDebugger(pdb.Pdb):
    """Debugger of one rank.

    Parameters
    ----------
    state : RankState
        The rank.
    stdin, stdout : text stream
        The terminal.
    """

    def __init__(self, state: RankState, stdin: TextIO, stdout: _Terminal) -> None:
        super().__init__(stdin=stdin, stdout=stdout, nosigint=True)  # type: ignore[arg-type]  # typeshed wants an IO
        self.use_rawinput = True  # lines can be edited: `input` reads from the terminal, too
        self.prompt = f"(Pdb rank {state.rank}) "
        self._state = state
        self._told_s: float | None = None
        self._header: str | None = None
        self._examines_failure = False

    def stop_at(self, frame: FrameType | None, header: str | None) -> None:
        """Stop at the next line of a frame, below a header; frames of smpy are neither traced nor shown."""
        self._header = header
        self.set_trace(frame)
        while frame is not None:
            if _is_ours(frame):
                frame.f_trace = None
            else:
                self.botframe = frame
            frame = frame.f_back

    def stop_at_next_line(self) -> None:
        """Stop at the next line of the program."""
        self.reset()
        self.set_step()
        sys.settrace(self.trace_dispatch)

    @named_call("")
    def examine(self, error: BaseException, traceback: TracebackType) -> None:
        """Let the user look at the frames of an error."""
        self._examines_failure = True
        self._tell_date(f"failed:\n{report(error)}")
        self.reset()
        self.interaction(None, traceback)

    @named_call("")
    def trace_dispatch(self, frame: FrameType, event: str, arg: Any) -> Any:
        """Follow the program; time in here is no computing of the rank."""
        return None if _is_ours(frame) else super().trace_dispatch(frame, event, arg)

    def get_stack(self, *args: Any) -> tuple[list[tuple[FrameType, int]], int]:
        """Frames of the program, those of smpy between them left out: a collective may call its functions."""
        stack, current = super().get_stack(*args)
        theirs = [at for at, (frame, _) in enumerate(stack) if at == current or not _is_ours(frame)]
        return [stack[at] for at in theirs], theirs.index(current)

    def interaction(self, *args: Any) -> None:
        """Wait for the rank's date, then talk to the user."""
        # other ranks run meanwhile, and their frames may be traced
        sys.call_tracing(_wait_for_date, (self._state,))
        self._tell_date("stops")
        if self._header is not None:
            self.message(self._header)
            self._header = None
        with self._at_terminal():
            super().interaction(*args)

    def set_quit(self) -> None:
        """End the run; after a failure, it ends by itself."""
        if self._examines_failure:
            super().set_quit()
            return
        engine = self._state.engine
        engine.give_up(Interrupted(f"the debugger of rank {self._state.rank} was left at {engine.now_s:.9g} s"))

    def _tell_date(self, event: str) -> None:
        now_s = self._state.engine.now_s
        if now_s != self._told_s:
            self._told_s = now_s
            self.message(f"rank {self._state.rank} at {now_s:.9g} s {event}")

    @contextmanager
    def _at_terminal(self) -> Iterator[None]:
        """Make the terminal the rank's standard input and output; Ctrl-C ends a command of pdb, not the run."""
        streams = sys.stdin, sys.stdout
        handler = set_handler(signal.SIGINT, signal.default_int_handler)
        sys.stdin, sys.stdout = self.stdin, self.stdout
        try:
            yield
        finally:
            sys.stdin, sys.stdout = streams
            set_handler(signal.SIGINT, handler)


class _Terminal(io.TextIOBase):
    """Standard output while the terminal is a rank's: text appears at once."""

    def __init__(self, outlet: Outlet) -> None:
        super().__init__()
        self._outlet = outlet

    def write(self, text: str, /) -> int:
        self._outlet.write_now(-1, text)
        return len(text)

    def flush(self) -> None:
        self._outlet.flush()

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return 1

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._outlet.stream.encoding or "utf-8"

    @property
    def errors(self) -> str:  # type: ignore[override]
        return "surrogateescape"


@named_call("breakpoint")
def _wait_for_date(state: RankState) -> None:
    """Let others run until simulated time reaches the rank's date."""
    state.engine.note(_nothing)
    state.engine.block("breakpoint")


def _nothing() -> None:
    """Mark a date."""


def _of_program(traceback: TracebackType | None) -> TracebackType | None:
    """Traceback from the first to the last frame of the program; None: it has none."""
    entries = []
    while traceback is not None:
        entries.append(traceback)
        traceback = traceback.tb_next
    theirs = [i for i, entry in enumerate(entries) if not _is_ours(entry.tb_frame)]
    kept: TracebackType | None = None
    for entry in reversed(entries[theirs[0] : theirs[-1] + 1] if theirs else []):
        kept = TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return kept


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(OURS)
