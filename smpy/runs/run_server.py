"""A process that has imported all that runs need, and forks itself for each run.

`smpy.runs.warm_server` starts this server, which has one thread. The server parses no requests: its socket brings the
memory limit of the run (0: no limit) and descriptors. These are the run's control socket, the file of the request and
later of the reply, and standard input, output and error.

A guard (`smpy.runs.guard`) stands between the server and a run. The control socket connects it to the caller, who
sends signals (each byte is the number of one), or has the run killed by closing the socket. The guard answers when
the run begins; at its end it sends the status from `waitpid`, and whether the run held too much memory.

A run ends with the server, and the server with the process that started it.
"""

from __future__ import annotations

import array
import atexit
import ctypes
import gc
import os
import selectors
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import Final, NoReturn

from smpy.collectives.choice import selection_on
from smpy.collectives.register import OPERATIONS, algorithms_of
from smpy.emulate.config import description_of, with_host_speed
from smpy.emulate.process.blas_threads import load_with_threads, threads_here
from smpy.emulate.reports.left_behind import flush_files, leave
from smpy.emulate.run.run import run as turn
from smpy.errors import Interrupted, NoRoomError, SmpyError, UsageError
from smpy.options import RunConfig
from smpy.records.files import check_writable
from smpy.records.this_machine import this_machine
from smpy.runs.descendants import adopt_orphans, end_descendants
from smpy.runs.files_read import FilesRead
from smpy.runs.guard import Guard
from smpy.runs.own_stream import own_copy, own_streams
from smpy.runs.request import (
    BEGUN,
    ENDED,
    MEMORY_LIMIT,
    N_DESCRIPTORS,
    Elsewhere,
    Reply,
    RunInputs,
    RunRequest,
    read_value,
    write_value,
)
from smpy.runs.run_text import command_line
from smpy.runs.variables_read import VariablesRead

_IMPORTED: Final = ("smpy.mpi.MPI", "smpy.platforms.machine")
_C: Final = ctypes.CDLL(None)

# exit codes of `smpy run`
EXIT_FAILURE: Final = 1
EXIT_USAGE: Final = 2
EXIT_INTERRUPTED: Final = 130  # 128 + SIGINT, as shells say it


def main(of_every_run: frozenset[str]) -> NoReturn:
    """Serve until the caller has gone; in the process of a run, perform it.

    Parameters
    ----------
    of_every_run : set of str
        Modules that `smpy run` has imported, too, before it begins a run.
    """
    _, number, threads = sys.argv
    gc.disable()
    _import(threads)
    gc.collect()
    gc.freeze()  # garbage collections in runs skip these objects, and so do not copy their pages
    gc.enable()
    request = Server(socket.socket(fileno=int(number))).serve()
    perform(request, threads, _tops(sys.modules) - _tops(of_every_run))


def _tops(modules: Iterable[str]) -> frozenset[str]:
    return frozenset(name.partition(".")[0] for name in modules)


def _import(threads: str) -> None:
    if threads == "own":
        import_module("numpy")
    else:
        load_with_threads(int(threads))
    for name in _IMPORTED:
        import_module(name)
    for operation in OPERATIONS:
        algorithms_of(operation)


# ---- the server ----


class Server:
    """Forks a guard for each request; the guard forks the run.

    Parameters
    ----------
    requests : socket
        Socket that brings the requests.
    """

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._controls: dict[int, socket.socket] = {}  # by the guard's process number
        self._selector = selectors.DefaultSelector()

    def serve(self) -> int:
        """Serve; returns in each run's process, with the descriptor of its request."""
        adopt_orphans()  # adopts children of a killed guard
        woken, wakes = socket.socketpair()
        for end in (woken, wakes):
            end.setblocking(False)
        signal.set_wakeup_fd(wakes.fileno())
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._selector.register(woken, selectors.EVENT_READ)
        self._selector.register(self._requests, selectors.EVENT_READ)
        is_open = True
        while is_open or self._controls:
            for key, _ in self._selector.select():
                if key.fileobj is woken:
                    with suppress(BlockingIOError):
                        woken.recv(4096)
                    continue
                request = self._receive()
                if request is None:
                    is_open = False
                    self._selector.unregister(self._requests)
                elif (mine := self._fork(*request, (woken, wakes))) is not None:
                    return mine
            self._reap()
        os._exit(0)

    def _receive(self) -> tuple[int, list[int]] | None:
        """Memory limit and descriptors of a request; None: the caller has gone."""
        room = socket.CMSG_LEN(N_DESCRIPTORS * array.array("i").itemsize)
        try:
            data, ancillary, _, _ = self._requests.recvmsg(
                MEMORY_LIMIT.size, room, getattr(socket, "MSG_CMSG_CLOEXEC", 0)
            )
        except OSError:
            return None
        if len(data) < MEMORY_LIMIT.size:
            return None
        descriptors = array.array("i")
        for _, _, content in ancillary:
            descriptors.frombytes(content[: len(content) - len(content) % descriptors.itemsize])
        return MEMORY_LIMIT.unpack(data)[0], list(descriptors)

    def _fork(self, limit_bytes: int, descriptors: list[int], wakers: Iterable[socket.socket]) -> int | None:
        """Fork a guard and its run; in the run's process, return the descriptor of its request."""
        server = os.getpid()
        try:
            control, request, *standard = descriptors
            pid = os.fork()
        except (OSError, ValueError):  # no room for a process or descriptors: the caller sees its socket closed
            for descriptor in descriptors:
                os.close(descriptor)
            return None
        if not pid:
            self._leave(wakers)
            return _guarded(control, request, standard, limit_bytes, server)
        for descriptor in (request, *standard):
            os.close(descriptor)
        self._controls[pid] = socket.socket(fileno=control)
        return None

    def _leave(self, wakers: Iterable[socket.socket]) -> None:
        """Close the server's files and reset its signals in a forked process."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        for own in (self._requests, *wakers, *self._controls.values()):
            own.close()

    def _reap(self) -> None:
        """Close the sockets of runs that have ended; end runs whose guards were killed, and tell their callers."""
        for pid in list(self._controls):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if not ended:
                continue
            with self._controls.pop(pid) as control:
                if os.waitstatus_to_exitcode(status) == 0:
                    continue
                end_descendants(0.0, spared=self._controls)
                with suppress(OSError):  # the caller has gone
                    control.send(ENDED.pack(signal.SIGKILL, False))


def _guarded(control: int, request: int, standard: list[int], limit_bytes: int, server: int) -> int:
    """Guard a run; returns in its process, with the descriptor of its request."""
    guard = Guard(control, limit_bytes=limit_bytes, has_group=True, parent=server)
    try:
        is_run = guard.fork()
    except OSError:
        os._exit(1)
    if not is_run:
        for descriptor in (request, *standard):
            os.close(descriptor)
        with suppress(OSError):  # the caller has gone: the guard notices
            os.write(control, BEGUN)
        ended = guard.watch()
        with suppress(OSError):  # the caller has gone
            os.write(control, ENDED.pack(*ended))
        os._exit(0)
    os.close(control)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, descriptor in enumerate(standard):
        os.dup2(descriptor, number)
        os.close(descriptor)
    return own_copy(request)


# ---- the process of a run ----


def perform(descriptor: int, threads: str, imported: frozenset[str]) -> NoReturn:
    """Perform a run as `smpy run` does, and leave the reply in the file of the request.

    Parameters
    ----------
    descriptor : int
        File descriptor of the request.
    threads : Threads
        Mode in which this process has loaded BLAS.
    imported : set of str
        Packages that this process has imported, and that of `smpy run` has not.
    """
    request = read_value(descriptor)
    assert isinstance(request, RunRequest)
    _enter(request)
    noted = (FilesRead(), VariablesRead()) if request.notes_reads else None
    end: Callable[[int], NoReturn] = _end_process
    with own_streams():
        try:
            reply = _perform(request, threads, imported)
        except KeyboardInterrupt:
            reply = Reply(EXIT_INTERRUPTED, Interrupted("interrupted before the simulation started"), summary=None)
        except SmpyError as error:
            is_usage = isinstance(error, UsageError)
            reply = Reply(EXIT_USAGE if is_usage else EXIT_FAILURE, error)
        else:
            if isinstance(reply, Reply):
                reply = _with_flushed_streams(reply)
                if reply.failure is not None:
                    end = leave
    if noted is not None and isinstance(reply, Reply):
        reply = replace(reply, reads=RunInputs(*(each.hashes() for each in noted)))
    write_value(descriptor, reply)
    end(reply.exit_code if isinstance(reply, Reply) else 0)


def _end_process(code: int) -> NoReturn:
    """End as Python does, but without clearing modules, which would copy all pages shared with the server."""
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads that are no daemons
    atexit._run_exitfuncs()
    flush_files()
    _C.exit(code)  # runs exit functions of libraries
    os._exit(code)


def _enter(request: RunRequest) -> None:
    os.chdir(request.directory)
    os.environ.clear()
    os.environ.update(request.environment)
    time.tzset()
    if request.made_program is not None:
        sys.path += [entry for entry in request.made_program.path if entry not in sys.path]
    sys.argv = ["smpy", "run", *command_line(request.run)]


def _perform(request: RunRequest, threads: str, imported: frozenset[str]) -> Reply | Elsewhere:
    run, made_program = request.run, request.made_program
    if run.check_wildcards:
        raise UsageError("check_wildcards: the command `smpy run` makes such runs; checks=True looks for races")
    if run.repeat > 1:
        raise UsageError("repeat: call smpy.simulate as often, or make a study with repetitions")
    needed = str(threads_here(run.cpus_per_task)) if run.measures_computing else "own"
    if needed != threads:
        return Elsewhere(needed)
    if request.is_check:
        machine = description_of(with_host_speed(run))
        selection_on(machine.models, run.algorithms)
        return Reply(0, fingerprint=f"{machine.fingerprint} {machine.parts_list} {machine.prices}")
    home = None if made_program is None else made_program.home
    _check_own_modules(run, home, imported)
    json_path, trace = (None if path is None else path.absolute() for path in (run.json_path, run.trace))
    if json_path is not None:
        check_writable(json_path)
    outcome = turn(run, home=home)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run has ended
    summary = replace(outcome.summary, host=this_machine(outcome.summary.wall_s))
    if made_program is not None:
        summary = replace(
            summary, inputs=summary.inputs._replace(program=made_program.name, args=(*run.args, *made_program.args))
        )
    if json_path is not None:
        summary.write_json(json_path)
    encoding = sys.stdout.encoding or "utf-8"
    returned: tuple[bytes | None, ...] = ()
    if made_program is not None and made_program.is_function:
        returned = tuple(map(outcome.returned.get, range(run.n_ranks)))
    return Reply(outcome.exit_code, outcome.error, outcome.first_exit, summary, encoding, trace, returned=returned)


def _with_flushed_streams(reply: Reply) -> Reply:
    """Flush both streams; the reply fails if there was no room for the last output."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            if reply.failure is None:
                lost = NoRoomError(f"the program's output was lost: {error.strerror}; make room for it")
                reply = replace(reply, failure=lost, exit_code=reply.exit_code or EXIT_FAILURE)
    return reply


def _check_own_modules(run: RunConfig, home: str | None, imported: frozenset[str]) -> None:
    """Refuse modules of the program if other modules of the same names are already imported."""
    if home is None:
        home = "." if run.is_module else os.path.dirname(os.path.realpath(run.program))
    for name in imported:
        for file in (f"{name}.py", os.path.join(name, "__init__.py")):
            path = os.path.join(home, file)
            if os.path.exists(path):
                raise UsageError(
                    f"{path} has the name of a module that smpy.simulate has imported, so the program would not get "
                    "it: rename it, or use `smpy run`"
                )
