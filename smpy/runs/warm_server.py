"""The caller's side of a server that forks a process for each run; it is started when needed, and kept.

A server is kept as long as a new one would be equal: smpy's files have not changed, nor the variables that an
interpreter or a library reads only at its start. Everything else goes with each request. Any number of threads may
ask for runs at the same time. A process that is forked starts servers of its own.
"""

from __future__ import annotations

import atexit
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import BinaryIO, Final

from smpy.runs.request import BEGUN, ENDED, MEMORY_LIMIT, Threads, read_bytes
from smpy.runs.run import KilledError

_SERVERS_MAX: Final = 4
_GRACE_S: Final = 5.0  # for an interrupted run to report its place
_SHOWING_S: Final = 0.1  # between two looks at a run's output
_WAITING_S: Final = 86_400.0  # below the longest timeout of poll, 24 days
_CLOSING_S: Final = 5.0
_TOLD_MAX: Final = 2000

_SMPY: Final = Path(__file__).parent.parent
_BOOT: Final = """
import sys
if sys.path[:1] == [""]:
    del sys.path[0]
sys.path.insert(0, sys.argv.pop(1))
import smpy
del sys.path[0]
import smpy.emulate.run.run
of_every_run = frozenset(sys.modules)
from smpy.runs.run_server import main
main(of_every_run)
"""

# prefixes of variables read once, by the interpreter, the C library and libraries of linear algebra
_READ_ONCE: Final = (
    "BLIS_", "DYLD_", "GLIBC_", "GOMP_", "GOTO_", "HOME", "KMP_", "LANG", "LC_", "LD_", "MALLOC_", "MKL_", "NPY_",
    "OMP_", "OPENBLAS_", "PYTHON", "VECLIB_"
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """End of the process of a run.

    Attributes
    ----------
    status : int
        Status from `os.waitpid`.
    by_memory_limit, by_time_limit : bool
        Whether the process was ended because of this limit.
    """

    status: int
    by_memory_limit: bool
    by_time_limit: bool


@dataclass(frozen=True, slots=True)
class Files:
    """Descriptors of the files that a run reads and writes.

    Attributes
    ----------
    request : int
        File with the request, which has the reply when the run has ended.
    stdin, stdout, stderr : int
        Standard streams of the run; the last two are files.
    """

    request: int
    stdin: int
    stdout: int
    stderr: int


class WarmServer:
    """A server, and the socket to it.

    Parameters
    ----------
    threads : Threads
        Threads with which it loads BLAS.
    environment : mapping of str to str
        Its environment variables.
    """

    def __init__(self, threads: Threads, environment: Mapping[str, str]) -> None:
        self._sending = threading.Lock()
        self._controls: set[socket.socket] = set()
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  # as long as the server
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603  # this interpreter
                [sys.executable, "-c", _BOOT, str(_SMPY.parent), str(theirs.fileno()), threads],
                stdin=subprocess.DEVNULL,
                stdout=self._stderr,
                stderr=self._stderr,
                pass_fds=[theirs.fileno()],
                cwd="/",
                env=environment,
                start_new_session=True,  # Ctrl-C comes to the caller alone
            )

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    @property
    def was_killed(self) -> bool:
        return self._process.poll() == -signal.SIGKILL

    @property
    def is_idle(self) -> bool:
        return not self._controls

    def run(
        self,
        files: Files,
        timeout_s: float | None = None,
        memory_limit_bytes: int | None = None,
        show: Callable[[], None] | None = None,
    ) -> ProcessEnd | None:
        """Start a run on the server, and wait for its end.

        Parameters
        ----------
        files : Files
            Files that it reads and writes.
        timeout_s : float, optional
            Longest real time that it may take, once its process exists.
        memory_limit_bytes : int, optional
            Memory that its process may hold, with all processes that descend from it.
        show : callable, optional
            Called again and again while it runs.

        Returns
        -------
        ProcessEnd or None
            None: the server had gone before it began the run.

        Raises
        ------
        KeyboardInterrupt
            If Ctrl-C came: the run has ended.
        KilledError
            If the server ended before its run.
        """
        control, theirs = socket.socketpair()
        self._controls.add(control)
        try:
            with theirs:
                descriptors = [theirs.fileno(), files.request, files.stdin, files.stdout, files.stderr]
                try:
                    with self._sending:
                        socket.send_fds(self._socket, [MEMORY_LIMIT.pack(memory_limit_bytes or 0)], descriptors)
                except OSError:
                    return None
            if control.recv(len(BEGUN)) != BEGUN:
                return None
            return self._await(control, timeout_s, show)
        finally:
            self._controls.discard(control)
            control.close()  # kills a run that has not ended

    def _await(
        self, control: socket.socket, timeout_s: float | None, show: Callable[[], None] | None
    ) -> ProcessEnd | None:
        try:
            is_over = _readable(control, timeout_s, show)
        except KeyboardInterrupt:
            _end(control)
            raise
        if not is_over:
            _end(control)
        end = control.recv(ENDED.size)
        if len(end) == ENDED.size:
            status, by_memory_limit = ENDED.unpack(end)
            if status != signal.SIGKILL or self.is_alive:
                return ProcessEnd(status, by_memory_limit, not is_over)
        raise KilledError(f"the process that starts runs has ended, and so has this run{self.last_words()}")

    def last_words(self) -> str:
        """End of the text that the server printed, in a form to append to a sentence; empty: no text."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_CLOSING_S)
        text = read_bytes(self._stderr.fileno())[-_TOLD_MAX:].decode(errors="replace").strip()
        return f":\n{text}" if text else ""

    def close(self) -> None:
        """End the server and its runs."""
        self._socket.close()
        for control in list(self._controls):
            with suppress(OSError):
                control.shutdown(socket.SHUT_RDWR)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_CLOSING_S)
        self._stderr.close()

    def forget(self) -> None:
        """Leave the server to the process that has started it; called in a forked process."""
        self._socket.close()
        self._stderr.close()
        for control in self._controls:
            control.close()
        self._process.returncode = 0  # another process waits for it


def _readable(control: socket.socket, timeout_s: float | None, show: Callable[[], None] | None) -> bool:
    """Wait until there is something to read; False: the time has passed."""
    until_s = None if timeout_s is None else monotonic() + timeout_s
    poller = select.poll()
    poller.register(control, select.POLLIN)
    while True:
        left_s = None if until_s is None else max(0.0, until_s - monotonic())
        step_s = min(_WAITING_S if show is None else _SHOWING_S, _WAITING_S if left_s is None else left_s)
        if poller.poll(step_s * 1000):
            return True
        if show is not None:
            show()
        if left_s is not None and left_s <= 0:
            return False


def _end(control: socket.socket) -> None:
    """Interrupt a run; kill it when it does not end, or a second Ctrl-C comes."""
    with suppress(OSError, KeyboardInterrupt):
        control.send(bytes([signal.SIGINT]))
        if _readable(control, _GRACE_S, None):
            return
    with suppress(OSError):
        control.shutdown(socket.SHUT_WR)
        _readable(control, _GRACE_S, None)


# ---- those of this process ----

_Key = tuple[object, ...]
_servers: Final[dict[_Key, WarmServer]] = {}  # the most recently used one comes last
_choosing: Final = threading.Lock()


def warm_server(threads: Threads, environment: Mapping[str, str]) -> WarmServer:
    """A running server that equals a new one with these variables, or a new one."""
    variables = {name: value for name, value in environment.items() if is_read_once(name)}
    key = (threads, sys.executable, frozenset(variables.items()), frozenset(_state_of_files()))
    with _choosing:
        server = _servers.pop(key, None)
        if server is None or not server.is_alive:
            if server is not None:
                server.close()
            for old in [old for old, kept in _servers.items() if kept.is_idle][: len(_servers) - _SERVERS_MAX + 1]:
                _servers.pop(old).close()
            server = WarmServer(threads, environment)
        _servers[key] = server
        return server


def is_read_once(name: str) -> bool:
    """Whether an interpreter or a library reads this variable at its start, and never again."""
    return name.startswith(_READ_ONCE)


def _state_of_files() -> Iterator[tuple[str, int, int]]:
    """Path, date of writing in nanoseconds, and size of each of smpy's files."""
    waiting = [str(_SMPY)]
    while waiting:
        for entry in os.scandir(waiting.pop()):
            if entry.name == "__pycache__":
                continue
            if entry.is_dir():
                waiting.append(entry.path)
            else:
                stat = entry.stat()
                yield entry.path, stat.st_mtime_ns, stat.st_size


@atexit.register
def close_servers() -> None:
    """End all servers of this process."""
    with _choosing:
        while _servers:
            _servers.popitem()[1].close()


def _forget_servers() -> None:
    for server in _servers.values():
        server.forget()
    _servers.clear()
    _choosing._at_fork_reinit()  # type: ignore[attr-defined]  # as `threading` resets its own locks


os.register_at_fork(after_in_child=_forget_servers)


def empty_file() -> BinaryIO:
    """A file without a name."""
    return tempfile.TemporaryFile()
