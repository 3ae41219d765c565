"""Standard output and error through descriptors of our own: a program may close or redirect those of the process.

Printed text is collected, and written when it is flushed. A stream is given up if its reader is gone, its disk is
full, or its reader still does not read when the run is to end. It raises one error then; the run that prints on it
goes on.
"""

from __future__ import annotations

import errno
import io
import os
import select
import signal
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Final, TextIO

_POLL_S: Final = 0.1
_PATIENCE_S: Final = 0.5  # wait for a reader, once the user wants the run to end
_LIKELY_FREE: Final = (960, 200)  # above the numbers that programs close, below the usual limits 1,024 and 256
_PIPE_BYTES: Final = getattr(select, "PIPE_BUF", 512)  # a pipe that is ready takes so many bytes at once
_FILE_BYTES: Final = 1 << 20

# Originals of functions that a program could replace.
_write, _clock_s, _poll = os.write, monotonic, getattr(select, "poll", None)
_mask, _take_signal = signal.pthread_sigmask, getattr(signal, "sigtimedwait", None)
_BROKEN_PIPE: Final = {signal.SIGPIPE}


class OwnStream(io.TextIOBase):
    """A text stream on a copy of a standard descriptor.

    Parameters
    ----------
    stream : text stream
        The interpreter's, for the descriptor's number and the encoding.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        stream.flush()
        self.name: str = stream.name
        self._standard = stream.fileno()
        self._descriptor = own_copy(self._standard)
        self._encoding = stream.encoding or "utf-8"
        self._is_terminal = stream.isatty()
        is_file = stat.S_ISREG(os.fstat(self._standard).st_mode)
        self._bytes_at_once = _FILE_BYTES if is_file else _PIPE_BYTES
        self._poller = None if is_file or _poll is None else _poll()
        self._collected = bytearray()
        self._is_given_up = False
        self._patience_s = float("inf")
        self._is_mid_line = False

    def write(self, text: str, /) -> int:
        """Collect text; a terminal shows each line at once."""
        if not self._is_given_up:
            try:
                self._collected += text.encode(self._encoding, "surrogateescape")
            except UnicodeEncodeError:
                self._collected += text.encode(self._encoding, "backslashreplace")
            self._is_mid_line = not text.endswith("\n") if text else self._is_mid_line
            if self._is_terminal and "\n" in text:
                self.flush()
        return len(text)

    def flush(self) -> None:
        """Write the collected text.

        Raises
        ------
        OSError
            If the text cannot be written. This is raised once; then the stream is silent.
        """
        while self._collected:
            piece = bytes(self._collected[: self._bytes_at_once])
            del self._collected[: len(piece)]
            try:
                while piece:
                    piece = piece[self._write_some(piece) :]
            except OSError:
                self._is_given_up = True
                self._collected.clear()
                raise

    def leaves_mid_line(self, other: OwnStream) -> bool:
        """Whether this stream has an unfinished line that the next output of `other` would continue."""
        with suppress(OSError):
            return self._is_mid_line and os.path.sameopenfile(self._descriptor, other._descriptor)
        return False

    def hurry(self) -> None:
        """Stop waiting for a slow reader: the run is to end. A signal handler may call this."""
        self._patience_s = _PATIENCE_S

    def _write_some(self, piece: bytes) -> int:
        self._await_reader()
        try:
            with _no_broken_pipe_signal():
                return _write(self._descriptor, piece)
        except BlockingIOError:  # the pipe was made non-blocking
            return 0
        except OSError as error:
            if error.errno != errno.EBADF or self._descriptor == self._standard:
                raise
            self._descriptor = self._standard  # the program may have closed our copy, but not this one
            return 0

    def _await_reader(self) -> None:
        if self._poller is None:
            return
        self._poller.register(self._descriptor, select.POLLOUT)
        began_s = _clock_s()
        while not (events := self._poller.poll(_POLL_S * 1000)):
            if _clock_s() - began_s > self._patience_s:
                raise TimeoutError(errno.ETIMEDOUT, "nobody reads it")
        self._poller.unregister(self._descriptor)
        if events[0][1] & select.POLLERR:
            raise BrokenPipeError(errno.EPIPE, "nobody reads it any more")

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self._is_terminal

    def fileno(self) -> int:
        return self._standard

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding


@contextmanager
def _no_broken_pipe_signal() -> Iterator[None]:
    """Block SIGPIPE in the body, so that a write without a reader fails and does not kill the program."""
    if _take_signal is None:  # not on macOS
        yield
        return
    blocked = _mask(signal.SIG_BLOCK, _BROKEN_PIPE)
    try:
        yield
    finally:
        if not blocked & _BROKEN_PIPE:
            _take_signal(_BROKEN_PIPE, 0)
            _mask(signal.SIG_SETMASK, blocked)


def own_copy(descriptor: int) -> int:
    """A copy of a descriptor under a high number, which child processes do not inherit."""
    with suppress(ImportError):  # not every system has fcntl
        import fcntl

        for number in _LIKELY_FREE:
            with suppress(OSError):  # the limit of descriptors is lower
                return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, number)
    return os.dup(descriptor)


@contextmanager
def own_streams() -> Iterator[None]:
    """Replace `sys.stdout` and `sys.stderr` by `OwnStream`s, unless they were replaced before."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _own(sys.stdout, sys.__stdout__), _own(sys.stderr, sys.__stderr__)
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):
                stream.flush()
        sys.stdout, sys.stderr = before


def _own(stream: TextIO | None, first: TextIO | None) -> TextIO:
    if stream is None:  # the descriptor was closed before smpy began, as in daemons
        return io.StringIO()
    return OwnStream(stream) if stream is first else stream  # type: ignore[return-value]  # typeshed's class and the io module's


def end_line() -> None:
    """End an unfinished line of standard output before text on standard error, if both go to the same place."""
    out, err = sys.stdout, sys.stderr
    if isinstance(out, OwnStream) and isinstance(err, OwnStream) and out.leaves_mid_line(err):
        err.write("\n")


def hurry() -> None:
    """Stop waiting for slow readers: the user wants the command to end."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, OwnStream):
            stream.hurry()
