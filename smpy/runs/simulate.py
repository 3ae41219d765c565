"""`smpy.simulate`: a run in a process of its own, from its options to its value."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from math import isfinite
from pickle import UnpicklingError
from typing import Final, TypedDict

from smpy.engine import running
from smpy.errors import Interrupted, SmpyError, UsageError
from smpy.platforms.description import Description
from smpy.runs.command_line import command_line
from smpy.runs.reads import Reads
from smpy.runs.request import Elsewhere, MadeProgram, Reply, Request, Threads, read_bytes, read_value, write_value
from smpy.runs.run import MemoryLimitError, Run, RunError, TimeLimitError
from smpy.runs.warm_server import Ended, Files, empty_file, warm_server
from smpy.units import format_bytes, format_time

_SIGNALLED: Final = 128  # and the signal's number: the exit code that shells tell

_threads: Threads = (
    "one"  # how the last run's server had loaded BLAS: computing is measured unless options say otherwise
)


class _Limits(TypedDict):
    timeout_s: float | None
    memory_limit_bytes: int | None


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
        How long the run may take, in seconds of real time.
    memory_limit_bytes : int, optional
        How much memory its process may hold.
    stdin : str
        What rank 0 reads from standard input.
    **options : object
        The options of `smpy run`, as `smpy run --help` has them, with underscores for dashes: `platform`, `compute`,
        `map_by`, ... Those that may be repeated take a list, or a mapping: `set={"host.cores": 8}`,
        `algorithm={"bcast": "ring"}`. `platform` may also be a `Description`.

    Returns
    -------
    Run
        What it took, and what it printed.

    Raises
    ------
    UsageError
        If the options, or the files that they name, cannot be used.
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
    line = command_line(_number_of(ranks), options)
    limits: _Limits = {"timeout_s": timeout_s, "memory_limit_bytes": memory_limit_bytes}
    if not callable(program):
        return run_line([*line, os.fspath(program), *map(_argument, args)], machine, **limits, stdin=stdin)
    from smpy.runs.function_program import function_program

    with function_program(program, args) as made:
        line += [f"--private={package}" for package in made.private]
        return run_line([*line, made.file], machine, made, **limits, stdin=stdin)


def _number_of(ranks: object) -> int:
    if not isinstance(ranks, int) or isinstance(ranks, bool):
        raise UsageError(f"ranks={ranks!r}: how many ranks? Say a whole number")
    return ranks


def _argument(value: object) -> str:
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def run_line(
    arguments: list[str],
    platform: Description | None = None,
    made: MadeProgram | None = None,
    *,
    timeout_s: float | None = None,
    memory_limit_bytes: int | None = None,
    stdin: str = "",
    show: Callable[[bytes, bytes], None] | None = None,
    directory: str | None = None,
    notes_reads: bool = False,
) -> Run:
    """Perform `smpy run` with these arguments, in a process of its own.

    Parameters
    ----------
    arguments : list of str
        What stands after `smpy run`.
    platform : Description, optional
        The machine, if it was made in Python.
    made : MadeProgram, optional
        The program, if it was made for this run.
    timeout_s, memory_limit_bytes, stdin
        As `simulate` has them.
    show : callable, optional
        Given what has been printed, on standard output and on standard error, as the run goes on.
    directory : str, optional
        Where it runs; by default, here.
    notes_reads : bool
        Whether it tells what it has read.

    Raises
    ------
    UsageError, RunError, KeyboardInterrupt
        As `simulate` does.
    """
    if running.is_running():
        raise UsageError("smpy.simulate: a program that is simulated cannot start another simulation")
    _check_limit("timeout_s", timeout_s)
    _check_limit("memory_limit_bytes", memory_limit_bytes)
    where = _directory() if directory is None else directory
    request = Request(tuple(arguments), where, dict(os.environ), platform, made, notes_reads)
    return _value(*_answer(request, stdin, timeout_s, memory_limit_bytes, show), timeout_s, memory_limit_bytes)


def check_line(arguments: list[str], directory: str) -> str:
    """Read the options of a run and its machine, in a process of its own, as `run_line` would.

    Returns
    -------
    str
        A fingerprint of the machine and what it costs.

    Raises
    ------
    UsageError
        If they cannot be used.
    """
    request = Request(tuple(arguments), directory, dict(os.environ), is_check=True)
    reply, ended, out, err = _answer(request, "", None, None, None)
    if reply is None or reply.failure is not None:
        _value(reply, ended, out, err, None, None)
        return ""
    return reply.fingerprint


def _answer(
    request: Request,
    stdin: str,
    timeout_s: float | None,
    memory_limit_bytes: int | None,
    show: Callable[[bytes, bytes], None] | None,
) -> tuple[Reply | None, Ended, str, str]:
    """What comes of a request, how its process ended, and what that printed."""
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
            out, err = (read_bytes(file).decode(encoding, "backslashreplace") for file in (files.stdout, files.stderr))
        return reply, ended, out, err


def _check_limit(name: str, value: object) -> None:
    if value is not None and not (isinstance(value, (int, float)) and isfinite(value) and value > 0):
        raise UsageError(f"{name}={value!r}: a limit is a positive number")


def _directory() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise UsageError("the working directory is no more: os.chdir to one that is") from None


@contextmanager
def _files(stdin: str) -> Iterator[Files]:
    with ExitStack() as stack:
        request, given, out, err = (stack.enter_context(empty_file()) for _ in range(4))
        given.write(stdin.encode("utf-8", "surrogateescape"))
        given.seek(0)
        yield Files(request.fileno(), given.fileno(), out.fileno(), err.fileno())


def _perform(
    request: Request,
    files: Files,
    threads: Threads,
    timeout_s: float | None,
    memory_limit_bytes: int | None,
    show: _Shower | None,
) -> Ended:
    """Have the run performed, by another server if the first one has just gone."""
    told = ""
    for _ in range(2):
        write_value(files.request, request)
        server = warm_server(threads)
        ended = server.run(files, timeout_s, memory_limit_bytes, show)
        if ended is not None:
            if show is not None:
                show()
            return ended
        told = server.last_words()
    raise SmpyError(f"the process that starts runs does not start{told}")


def _reply(files: Files) -> Reply | Elsewhere | None:
    """What the run has left; None where it could not."""
    try:
        reply = read_value(files.request)
    except (UnpicklingError, EOFError):  # it ended while it wrote
        return None
    return None if isinstance(reply, Request) else reply


def _value(
    reply: Reply | None, ended: Ended, out: str, err: str, timeout_s: float | None, memory_limit_bytes: int | None
) -> Run:
    """The run, or what is raised in its place."""
    code = os.waitstatus_to_exitcode(ended.status)
    exit_code = code if code >= 0 else _SIGNALLED - code
    failure = reply.failure if reply is not None else None
    summary = reply.summary if reply is not None else None
    reads = reply.reads if reply is not None else Reads()

    def error(kind: type[RunError], message: str) -> RunError:
        return kind(message, stdout=out, stderr=err, exit_code=exit_code, summary=summary, failure=failure, reads=reads)

    where = f":\n{failure}" if isinstance(failure, Interrupted) else ""
    if ended.by_memory_limit:
        told = f"the run held more memory than memory_limit_bytes allows, {format_bytes(memory_limit_bytes or 0)}"
        return _raise(error(MemoryLimitError, told + where))
    if ended.by_time_limit:
        told = f"the run took longer than timeout_s allows, {format_time(timeout_s or 0.0)}"
        return _raise(error(TimeLimitError, told + (where or ", and did not end when it was interrupted")))
    if code < 0:
        told = f"the run's process was ended by {signal.Signals(-code).name}"
        return _raise(error(RunError, f"{told}; its last words:\n{err[-2000:]}" if err else told))
    if reply is None:
        told = f"the run's process ended without a result, with exit code {code}"
        return _raise(error(RunError, f"{told}; its last words:\n{err[-2000:]}" if err else told))
    if summary is None and isinstance(failure, UsageError):
        raise failure
    if failure is not None:
        return _raise(error(RunError, str(failure)))
    if exit_code:
        return _raise(error(RunError, reply.first_exit or f"the run's process ended with exit code {code}"))
    assert summary is not None  # it went well
    return Run(summary, out, err, exit_code, reply.trace, reads)


def _raise(error: RunError) -> Run:
    raise error


class _Shower:
    """Hands on what a run has printed since the last time."""

    def __init__(self, files: Files, show: Callable[[bytes, bytes], None]) -> None:
        self._files = files
        self._show = show
        self._shown = [0, 0]

    def __call__(self) -> None:
        pieces = []
        for number, file in enumerate((self._files.stdout, self._files.stderr)):
            size = os.fstat(file).st_size
            pieces.append(os.pread(file, size - self._shown[number], self._shown[number]))
            self._shown[number] += len(pieces[-1])
        if any(pieces):
            self._show(*pieces)
