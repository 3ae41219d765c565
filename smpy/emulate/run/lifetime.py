"""The life of a rank: it starts, runs the program, and ends as a process would."""

from __future__ import annotations

import atexit
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from threading import current_thread
from typing import TYPE_CHECKING, Any, Final

from smpy.emulate.modules.imports import Importer
from smpy.emulate.modules.streams import RankOutput
from smpy.emulate.patches import Patches
from smpy.emulate.process.forks import end_child
from smpy.emulate.ranks import RankState, begin, end, is_for_all, running
from smpy.emulate.reports.tracebacks import line_of_error, report
from smpy.emulate.run.module_cleanup import release
from smpy.emulate.run.program import Program
from smpy.engine.outcomes import Aborted, Failed, Refused
from smpy.engine.running import named_call
from smpy.errors import MissingHardwareError

if TYPE_CHECKING:
    from smpy.emulate.threads.rank_threads import RankThreads
    from smpy.engine.engine import Engine


_CODES_END: Final = sys.maxsize  # largest exit code that C can hold


class _Exit(BaseException):
    """Exception that `os._exit` raises on a rank."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Lifetime:
    """Runs the life of every rank: its start, its program, its end.

    Parameters
    ----------
    engine : Engine
        The ranks' engine.
    program : Program
        Program that they run.
    importer : Importer
        Source of their modules.
    streams : tuple of RankOutput
        Standard output and standard error of the ranks.

    Attributes
    ----------
    exit_code : int
        The first one, in simulated time, that is not 0.
    first_exit : str
        Rank with that exit code, and the date of its end; empty as long as the code is 0.
    starts : dict of int to callable
        Starts of ranks that others have started: each makes the running rank ready for its program, and gives that.
    """

    def __init__(
        self, engine: Engine, program: Program, importer: Importer, streams: tuple[RankOutput, RankOutput]
    ) -> None:
        self._engine = engine
        self._program = program
        self._importer = importer
        self._streams = streams
        self.exit_code = 0
        self.first_exit = ""
        self.starts: dict[int, Callable[[RankState], Program]] = {}
        self._living: dict[int, RankState] = {}
        self.at_begin: list[Callable[[], None]] = []
        self.before_end: list[Callable[[RankState], None]] = []
        self.at_end: list[Callable[[RankState], None]] = []
        self.at_failure: list[Callable[[RankState, BaseException], None]] = []
        self.when_out_of_memory: Callable[[], object] = list

    def live(self, rank: int) -> None:
        """Body of a rank; it raises nothing."""
        state = self._living[rank] = RankState(rank, self._engine)
        begin(state)
        for begun in self.at_begin:
            begun()
        code = self._run(state)
        if code is not None:
            self._end(state, code)
        clock = self._engine.clock
        if clock is not None:
            clock.stop()
        if code is not None:
            del self._living[rank]
        end(state)

    def write_unfinished(self) -> None:
        """Write unfinished lines of ranks that failed, or that the end of the run stopped."""
        for _, state in sorted(self._living.items()):
            for stream in self._streams:
                stream.write_unfinished(state)

    def _run(self, state: RankState) -> int | None:
        """Run the program; return its exit code, or None if it failed."""
        clock = self._engine.clock
        try:
            start = self.starts.pop(state.rank, None)
            program = self._program if start is None else start(state)
            execute = program.prepare(state, self._importer)
            if clock is not None:
                clock.start()
            execute()
        except SystemExit as exit_:
            return _code_of(exit_)
        except _Exit as exit_:
            state.at_exit = None  # such an exit runs no exit functions
            state.waits_for_threads = False
            return _code_of(exit_)
        except BaseException as error:  # noqa: BLE001  # the rank fails, not smpy
            self._fail(state, error)
            return None
        return 0

    def _end(self, state: RankState, code: int) -> None:
        """End the rank as Python ends a process: call exit functions, delete modules, set the exit code."""
        for action in self.before_end:
            action(state)
        code = _call_at_exit(state, code)
        modules = list(state.modules.values())
        release([*modules[:1], *reversed(modules[1:])], self._engine.clock)
        for action in self.at_end:
            action(state)
        if state.is_child:
            end_child(code)
        for stream in self._streams:
            stream.release(state)
        if state.abort_status:
            self._stop(Aborted(state.rank, state.abort_status))
        elif code:
            named_call("")(self._engine.note)(partial(self._note_exit, state.rank, code))

    def _note_exit(self, rank: int, code: int) -> None:
        if not self.exit_code:
            self.exit_code = code
            self.first_exit = f"rank {rank} ended with exit code {code} at {self._engine.now_s:.9g} s"

    def _fail(self, state: RankState, error: BaseException) -> None:
        """End the run where the rank is now, unless another rank fails at an earlier simulated time."""
        if isinstance(error, MemoryError):
            self.when_out_of_memory()
        for action in self.at_failure:
            action(state, error)
        if isinstance(error, MissingHardwareError) and not state.is_child:
            self._stop(Refused(f"{line_of_error(error, self._program.home)}: {error}"))
            return
        try:
            text = self._last_words(error)
        except MemoryError:
            text = "MemoryError"
        if state.is_child:
            print(text, file=sys.stderr)  # noqa: T201  # as python does
            self._end(state, 1)
        self._stop(Failed(state.rank, text))

    @staticmethod
    def _last_words(error: BaseException) -> str:
        """Report of an error; empty when the program's own `sys.excepthook` has reported it."""
        hook = sys.excepthook
        if hook is sys.__excepthook__:
            return report(error)
        try:
            hook(type(error), error, error.__traceback__)
        except BaseException as other:  # noqa: BLE001  # the rank fails in any case
            return report(other)
        return ""

    def _stop(self, how: Failed | Aborted | Refused) -> None:
        """End the run at the running rank's date."""
        clock = self._engine.clock
        if clock is not None:
            clock.stop()
        self._engine.stop(how)


def _call_at_exit(state: RankState, code: int) -> int:
    """Call the functions that the rank registered with `atexit`, and drop them; return the exit code."""
    while state.at_exit:
        function, args, kwargs = state.at_exit.pop()
        try:
            function(*args, **kwargs)
        except SystemExit as exit_:
            code = _code_of(exit_)
        except Exception:  # noqa: BLE001  # said, and passed over, as `atexit` does
            traceback.print_exc()
    return code


def _code_of(exit_: SystemExit | _Exit) -> int:
    """The exit code of `sys.exit` with this argument; text is printed."""
    code = exit_.code
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF if abs(code) <= _CODES_END else 0xFF  # the exit code of -1
    print(code, file=sys.stderr)  # noqa: T201  # as python does
    return 1


def install_exits(patches: Patches, importer: Importer, threads: RankThreads) -> None:
    """Make `atexit` and `os._exit` act on the rank until the patches are undone."""
    real_register, real_unregister, real_exit = atexit.register, atexit.unregister, os._exit

    def register(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        """Call a function when the rank ends."""
        state = running()
        if state is None or not _is_rank_code(sys._getframe(1).f_globals, importer):
            return real_register(function, *args, **kwargs)
        if state.at_exit is None:
            state.at_exit = []
        state.at_exit.append((function, args, kwargs))
        return function

    def unregister(function: Callable[..., Any]) -> None:
        """Do not call a function when the rank ends."""
        state = running()
        if state is None or state.at_exit is None:
            real_unregister(function)
        else:
            state.at_exit[:] = [entry for entry in state.at_exit if entry[0] != function]

    def exit_(status: int) -> None:
        """End the rank at once."""
        state = running()
        if state is None or state.is_child:
            real_exit(status)
        elif not state.engine.is_here():
            state.engine.break_off(Failed(state.rank, f"its thread {current_thread().name} called os._exit({status})"))
        elif (thread := threads.current()) is not None:
            state.engine.stop(Failed(state.rank, f"its thread {thread.name} called os._exit({status})"))
            threads.park(None)
        raise _Exit(status)

    patches.attribute(atexit, "register", register)
    patches.attribute(atexit, "unregister", unregister)
    patches.attribute(os, "_exit", exit_)


def _is_rank_code(variables: Mapping[str, Any], importer: Importer) -> bool:
    """Whether code with these globals acts for a rank, and not for the process.

    Calls of a shared package during its import act for the process; so do those of the standard library at any time.
    """
    name = variables.get("__name__")
    if not isinstance(name, str) or name not in sys.modules or importer.is_private(name):
        return True
    return not is_for_all() and name.partition(".")[0] not in sys.stdlib_module_names
