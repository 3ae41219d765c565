"""`smpy.simulate`: a run in a process of its own, from its options to its value."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pickle import UnpicklingError
from typing import Any, Final, TypedDict

from smpy.arguments import BYTES_MAX, RANKS_MAX, seconds, text, whole_number
from smpy.engine import running
from smpy.errors import Interrupted, SmpyError, UsageError
from smpy.options import RunConfig
from smpy.platforms.description import Description
from smpy.runs.output import Output, read_output, remarks_on_output
from smpy.runs.request import Elsewhere, MadeProgram, Reply, RunInputs, RunRequest, Threads, read_value, write_value
from smpy.runs.run import KilledError, MemoryLimitError, Run, RunError, TimeLimitError
from smpy.runs.run_text import run_config
from smpy.runs.signature import takes_options
from smpy.runs.warm_server import Files, ProcessEnd, empty_file, warm_server
from smpy.units import format_bytes, format_time

_STARTS_MAX: Final = 10  # starts of servers that are killed; a server that ends by itself counts as five
_SHOWN_BYTES: Final = 1 << 20  # text shown at a time
_SIGNALLED: Final = 128  # plus the signal's number: the exit code of shells

_threads: Threads = "1"  # of BLAS in the last run's server: computing is measured unless options say otherwise


class _Limits(TypedDict):
    timeout_s: float | None
    memory_limit_bytes: int | None


@takes_options
def simulate(
    program: str | os.PathLike[str] | Callable[..., object],
    *args: object,
    ranks: int,
    timeout_s: float | None = None,
    memory_limit_bytes: int | None = None,
    stdin: str = "",
    **options: object,
) -> Run:
    """Run an mpi4py program on a simulated machine, in a process of its own.

    Parameters
    ----------
    program : str, path or callable
        A Python file; with `module=True`, a module. Or a function, which each rank calls: one of a module, or of the
        notebook or script that runs now.
    *args : object
        The program's arguments, each made a string; of a function, its arguments, which must be able to be pickled.
    ranks : int
        Number of ranks.
    timeout_s : float, optional
        Longest time that the run may take, in seconds of real time.
    memory_limit_bytes : int, optional
        Memory that the run may hold with all processes that it starts; a page that several share counts once.
    stdin : str
        Standard input of rank 0.
    **options : object
        The options of `smpy run`, with underscores for dashes. Repeatable ones take a list, or a mapping:
        `set={"host.cores": 8}`, `algorithm={"bcast": "ring"}`. `platform` may also be a `Description`.

    Returns
    -------
    Run
        The run: its summary, its output, and the values that a function has returned.

    Raises
    ------
    UsageError
        If the options, or the files that they name, cannot be used. A mistake in another argument is a `TypeError` or
        a `ValueError`, too, which names the argument, before anything starts.
    RunError
        If the run failed, ended with an exit code other than 0, or went beyond a limit.
    KeyboardInterrupt
        If Ctrl-C came: the run has ended.

    Examples
    --------
    >>> import smpy
    >>> run = smpy.simulate("apps/ring.py", ranks=64, platform="hdr", compute="none")  # doctest: +SKIP
    >>> run.summary.messages, round(run.makespan_s, 9)  # doctest: +SKIP
    (960, 0.000103189)
    """
    platform = options.get("platform")
    machine = platform if isinstance(platform, Description) else None
    if machine is not None:
        del options["platform"]
    options["ranks"] = whole_number("ranks", ranks, RANKS_MAX)
    limits: _Limits = {"timeout_s": timeout_s, "memory_limit_bytes": memory_limit_bytes}
    if not callable(program):
        words = [value if isinstance(value, os.PathLike) else str(value) for value in args]
        return perform_run(run_config(program, words, options, machine), **limits, stdin=stdin)
    from smpy.runs.function_program import function_program

    with function_program(program, args) as made_program:
        run = run_config(made_program.file, [], options, machine)
        run = replace(run, private=(*run.private, *made_program.private))
        return perform_run(run, made_program, **limits, stdin=stdin)


def perform_run(
    run: RunConfig,
    made_program: MadeProgram | None = None,
    *,
    timeout_s: float | None = None,
    memory_limit_bytes: int | None = None,
    stdin: str = "",
    show: Callable[[bytes, bytes], None] | None = None,
    directory: str | None = None,
    environment: Mapping[str, str] | None = None,
    notes_reads: bool = False,
) -> Run:
    """Perform a run in a process of its own.

    Parameters
    ----------
    run : RunConfig
        The run.
    made_program : MadeProgram, optional
        The program, if it was made for this run.
    timeout_s, memory_limit_bytes, stdin
        The same as in `simulate`.
    show : callable, optional
        Called with new text of standard output and of standard error, as the run goes on.
    directory : str, optional
        Working directory of the run; by default, the present one.
    environment : mapping of str to str, optional
        All its environment variables; by default, those of this process.
    notes_reads : bool
        Whether the run reports the files and variables that it has read.

    Raises
    ------
    UsageError, RunError, KeyboardInterrupt
        Under the conditions of `simulate`.
    """
    if running.is_running():
        raise UsageError("smpy.simulate: a program that is simulated cannot start another simulation")
    if timeout_s is not None:
        timeout_s = seconds("timeout_s", timeout_s)
    if memory_limit_bytes is not None:
        memory_limit_bytes = whole_number("memory_limit_bytes", memory_limit_bytes, BYTES_MAX)
    text("stdin", stdin)
    where = _directory() if directory is None else directory
    variables = dict(os.environ if environment is None else environment)
    request = RunRequest(run, where, variables, made_program, notes_reads)
    return _value(*_answer(request, stdin, timeout_s, memory_limit_bytes, show), timeout_s, memory_limit_bytes)


def check_run(run: RunConfig, directory: str) -> str:
    """Read the machine of a run, in a process of its own, as `perform_run` would.

    Returns
    -------
    str
        A fingerprint of the machine and what it costs.

    Raises
    ------
    UsageError
        If it cannot be used.
    """
    request = RunRequest(run, directory, dict(os.environ), is_check=True)
    reply, ended, out, err = _answer(request, "", None, None, None)
    if reply is None or reply.failure is not None:
        _value(reply, ended, out, err, None, None)
        return ""
    return reply.fingerprint


def _answer(
    request: RunRequest,
    stdin: str,
    timeout_s: float | None,
    memory_limit_bytes: int | None,
    show: Callable[[bytes, bytes], None] | None,
) -> tuple[Reply | None, ProcessEnd, Output, Output]:
    """Reply to a request, and the end, the standard output and the standard error of its process."""
    global _threads
    threads = _threads
    while True:
        with _files(stdin) as files:
            shower = _Shower(files, show) if show else None
            ended = _perform(request, files, threads, timeout_s, memory_limit_bytes, shower)
            reply = _reply(files)
            if isinstance(reply, Elsewhere):
                _threads = threads = reply.threads
                continue
            encoding = reply.encoding if reply is not None else "utf-8"
            out = read_output(files.stdout, encoding, "stdout")
            err = read_output(files.stderr, encoding, "stderr")
        return reply, ended, out, err


def _directory() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise UsageError("the working directory is no more: os.chdir to one that is") from None


@contextmanager
def _files(stdin: str) -> Iterator[Files]:
    with ExitStack() as stack:
        request, input_file, out, err = (stack.enter_context(empty_file()) for _ in range(4))
        input_file.write(stdin.encode("utf-8", "surrogateescape"))
        input_file.seek(0)
        yield Files(request.fileno(), input_file.fileno(), out.fileno(), err.fileno())


def _perform(
    request: RunRequest,
    files: Files,
    threads: Threads,
    timeout_s: float | None,
    memory_limit_bytes: int | None,
    show: _Shower | None,
) -> ProcessEnd:
    """Let a server perform the run, or another server if the first one has just ended."""
    last_words = ""
    n_ended = 0
    while n_ended < _STARTS_MAX:
        write_value(files.request, request)
        server = warm_server(threads, request.environment)
        ended = server.run(files, timeout_s, memory_limit_bytes, show)
        if ended is not None:
            if show is not None:
                show()
            return ended
        last_words = server.last_words()
        n_ended += 1 if server.was_killed else _STARTS_MAX // 2
    raise SmpyError(f"the process that starts runs does not start{last_words}")


def _reply(files: Files) -> Reply | Elsewhere | None:
    """Reply that the run has left in its file; None: it left none."""
    try:
        reply = read_value(files.request)
    except (UnpicklingError, EOFError):  # the process ended while it wrote
        return None
    return None if isinstance(reply, RunRequest) else reply


def _value(
    reply: Reply | None,
    ended: ProcessEnd,
    out: Output,
    err: Output,
    timeout_s: float | None,
    memory_limit_bytes: int | None,
) -> Run:
    """Return the run, or raise its error."""
    code = os.waitstatus_to_exitcode(ended.status)
    exit_code = code if code >= 0 else _SIGNALLED - code
    failure = reply.failure if reply is not None else None
    summary = reply.summary if reply is not None else None
    if summary is not None:
        summary = replace(summary, remarks=(*summary.remarks, *remarks_on_output(out, err)))
    reads = reply.reads if reply is not None else RunInputs()

    def error(kind: type[RunError], message: str) -> RunError:
        return kind(
            message,
            stdout=out.text,
            stderr=err.text,
            exit_code=exit_code,
            summary=summary,
            failure=failure,
            reads=reads,
            stdout_file=out.file,
            stderr_file=err.file,
        )

    where = f":\n{failure}" if isinstance(failure, Interrupted) else ""
    if ended.by_memory_limit:
        message = f"the run held more memory than memory_limit_bytes allows, {format_bytes(memory_limit_bytes or 0)}"
        return _raise(error(MemoryLimitError, message + where))
    if ended.by_time_limit:
        message = f"the run took longer than timeout_s allows, {format_time(timeout_s or 0.0)}"
        return _raise(error(TimeLimitError, message + (where or ", and did not end when it was interrupted")))
    if code < 0:
        message = f"the run's process was ended by {signal.Signals(-code).name}"
        kind = KilledError if -code == signal.SIGKILL else RunError
        return _raise(error(kind, f"{message}; its last words:\n{err.text[-2000:]}" if err.text else message))
    if reply is None:
        message = f"the run's process ended without a result, with exit code {code}"
        return _raise(error(RunError, f"{message}; its last words:\n{err.text[-2000:]}" if err.text else message))
    if summary is None and isinstance(failure, UsageError):
        raise failure
    if failure is not None:
        return _raise(error(RunError, str(failure)))
    if exit_code:
        return _raise(error(RunError, reply.first_exit or f"the run's process ended with exit code {code}"))
    assert summary is not None  # runs that end well have one
    try:
        returned = tuple(_returned(rank, data) for rank, data in enumerate(reply.returned))
    except UsageError as unreadable:
        return _raise(error(RunError, str(unreadable)))
    return Run(summary, out.text, err.text, exit_code, reply.trace, reads, returned, out.file, err.file)


def _returned(rank: int, data: bytes | None) -> Any:
    """Value that a rank's function has returned."""
    try:
        return None if data is None else pickle.loads(data)  # noqa: S301  # written by the run of this process
    except Exception as error:  # noqa: BLE001  # classes raise what they like
        raise UsageError(f"the value that rank {rank} returned cannot be read here: {error}") from None


def _raise(error: RunError) -> Run:
    raise error


class _Shower:
    """Passes on the text that a run has printed since the last call."""

    def __init__(self, files: Files, show: Callable[[bytes, bytes], None]) -> None:
        self._files = files
        self._show = show
        self._shown = [0, 0]

    def __call__(self) -> None:
        while any(pieces := [self._next(0, self._files.stdout), self._next(1, self._files.stderr)]):
            self._show(*pieces)

    def _next(self, number: int, file: int) -> bytes:
        piece = os.pread(file, _SHOWN_BYTES, self._shown[number])
        self._shown[number] += len(piece)
        return piece
