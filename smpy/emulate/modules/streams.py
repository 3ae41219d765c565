"""Standard streams of the ranks: whole lines of output in simulated order; input goes to rank 0."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TextIO

from smpy.emulate.ranks import RankState, running
from smpy.engine.running import named_call

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_ERRORS: Final = "surrogateescape"  # bytes that are no valid text are passed through
_UNFLUSHED_MAX: Final = 1 << 16  # characters
_WAITING_MAX: Final = 1 << 24  # characters that wait for their date
_LINE: Final = re.compile(r"(?:^|(?<=\n)|(?<=\r)(?!\n))(?!\r(?!\n))(?=.)", re.DOTALL)  # place of a line's label


@named_call("")
def _leave_note(state: RankState, action: Callable[[], None], *, waits: bool) -> None:
    """Call `action` when simulated time reaches the rank's date; the rank continues then, or at once."""
    state.engine.note(action)
    if waits:
        state.engine.block("")


def _nothing() -> None:
    """Stand in for `hurry` on a stream that has no such method."""


class Outlet:
    """The real stream, to which all ranks' lines go, one rank at a time.

    The run continues in silence when the reader is gone, as in `smpy run ... | head`, or when the disk is full; the
    latter is reported at the end.

    Parameters
    ----------
    stream : text stream
        The real stream.
    is_labelled : bool
        Whether each line begins with the number of its rank.

    Attributes
    ----------
    trouble : OSError or None
        Why output was lost.
    """

    def __init__(self, stream: TextIO, *, is_labelled: bool = False) -> None:
        self.stream = stream
        self.trouble: OSError | None = None
        self._is_labelled = is_labelled
        self._is_given_up = False
        self._begins_line = True
        self._unfinished_by: int | None = None
        self._left: dict[int, Callable[[], None]] = {}  # in the order of printing, numbered
        self._n_left = 0
        self._n_unflushed = 0
        self._n_waiting = 0
        self._is_busy = False
        self._when_done: Callable[[], None] | None = None

    def leave(self, state: RankState, take: Callable[[], str]) -> None:
        """Write text of the running rank at its date; ranks wait while much text is pending."""
        with self._undisturbed():
            text = take()
            self._n_waiting += len(text)
            self._n_left = number = self._n_left + 1

            def write() -> None:
                with self._undisturbed():
                    del self._left[number]  # by number: a function that refers to itself would keep the text for long
                    self._n_waiting -= len(text)
                    self._write(state.rank, text)

            self._left[number] = write
        _leave_note(state, write, waits=self._n_waiting > _WAITING_MAX)

    def write_rest(self) -> None:
        """Write pending text whose dates will not be reached."""
        for write in list(self._left.values()):
            write()

    def write_now(self, rank: int, text: str) -> None:
        """Write a rank's text at once, after the run has ended."""
        with self._undisturbed():
            self._write(rank, text)

    def flush(self) -> None:
        with self._undisturbed():
            self._flush()

    def finish(self) -> None:
        """Write what is held here, at the end of the run: nothing but what the stream holds."""

    def enter_child(self, stream: TextIO) -> None:
        """Write to another stream, in a child process."""
        self.stream = stream

    def hurry(self) -> None:
        """Stop writing to a stream that nobody reads: the run will end. A signal handler may call this."""
        getattr(self.stream, "hurry", _nothing)()

    def when_done(self, action: Callable[[], None]) -> None:
        """Call `action` after the write under way, or at once: a signal handler may interrupt any line."""
        if self._is_busy:
            self._when_done = action
        else:
            action()

    @contextmanager
    def _undisturbed(self) -> Iterator[None]:
        """Delay a signal's action during a write, so that no text is lost or repeated."""
        self._is_busy = True
        try:
            yield
        finally:
            self._is_busy = False
        if self._when_done is not None:
            action, self._when_done = self._when_done, None
            action()

    def _write(self, rank: int, text: str) -> None:
        """Write a rank's text; first end a line that another rank left unfinished."""
        end = "\n" if self._unfinished_by not in (None, rank) else ""
        if self._is_labelled and rank >= 0:
            text = _labelled(text, f"[{rank}] ", begins_line=self._begins_line or bool(end))
        self._unfinished_by = None if text.endswith("\n") else rank
        self._begins_line = text.endswith(("\n", "\r"))
        text = end + text
        self._try(partial(self._put, text))
        self._n_unflushed += len(text)
        if self._n_unflushed > _UNFLUSHED_MAX:
            self._flush()

    def _put(self, text: str) -> None:
        try:
            self.stream.write(text)
        except UnicodeEncodeError:
            self._write_bytes(text)

    def _flush(self) -> None:
        self._n_unflushed = 0
        self._try(self.stream.flush)

    def _try(self, action: Callable[[], object]) -> None:
        """Call a function that writes, unless the stream is given up; give it up if it raises OSError."""
        if self._is_given_up:
            return
        try:
            action()
        except OSError as error:
            self._is_given_up = True
            if not isinstance(error, BrokenPipeError):
                self.trouble = error

    def _write_bytes(self, text: str) -> None:
        raw = encoded(text, self.stream)
        if (buffer := getattr(self.stream, "buffer", None)) is None:
            self.stream.write(raw.decode(self.stream.encoding or "utf-8", "backslashreplace"))
        else:
            self.stream.flush()
            buffer.write(raw)


def encoded(text: str, stream: TextIO) -> bytes:
    """Bytes of a rank's text in the encoding of a stream."""
    encoding = stream.encoding or "utf-8"
    try:
        return text.encode(encoding, _ERRORS)
    except UnicodeEncodeError:
        return text.encode(encoding, "backslashreplace")


def _labelled(text: str, label: str, *, begins_line: bool) -> str:
    r"""Text with a label before each of its lines; a carriage return begins a line, too.

    Examples
    --------
    >>> _labelled("a\n\nb\r\nc", "[3] ", begins_line=False)
    'a\n[3] \n[3] b\r\n[3] c'
    >>> _labelled("\r10 %\r20 %", "[0] ", begins_line=True)
    '\r[0] 10 %\r[0] 20 %'
    """
    return _LINE.sub(lambda place: label if begins_line or place.start() else "", text)


class RankOutput(io.TextIOBase):
    """`sys.stdout` or `sys.stderr` of the running rank.

    A line is printed at its date; output of a rank's thread is printed with the rank's next line. Unfinished lines
    are kept until the rank ends them, or itself ends. With a single rank, `flush` prints them too.

    Parameters
    ----------
    outlet : Outlet
        Stream that the lines go to.
    descriptor : int
        1 or 2.
    """

    mode = "w"

    def __init__(self, outlet: Outlet, descriptor: int) -> None:
        super().__init__()
        self._outlet = outlet
        self._descriptor = descriptor
        self.name = "<stdout>" if descriptor == 1 else "<stderr>"
        self.buffer = _OutputBytes(self)

    def write(self, text: str, /) -> int:
        state = running()
        if state is None or state.is_child:
            return self._outlet.stream.write(text)
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        unfinished = state.unfinished or self._begin(state)
        unfinished[self._descriptor].append(text)
        is_ended = "\n" in text or "\r" in text
        if is_ended and state.engine.is_here():  # a thread's text comes with the rank's next line
            self._outlet.leave(state, partial(self._take_lines, state))
        return len(text)

    def _take_lines(self, state: RankState) -> str:
        """Take a rank's printed text, up to the end of its last complete line."""
        pieces = self._begin(state)[self._descriptor]
        n_taken = len(pieces)  # a thread may add to them meanwhile
        text = "".join(pieces[:n_taken])
        end = max(text.rfind("\n"), text.rfind("\r")) + 1
        pieces[:n_taken] = [text[end:]] if end < len(text) else []
        return text[:end]

    def _take_all(self, state: RankState) -> str:
        pieces = self._begin(state)[self._descriptor]
        n_taken = len(pieces)
        text = "".join(pieces[:n_taken])
        del pieces[:n_taken]
        return text

    @staticmethod
    def _begin(state: RankState) -> dict[int, list[str]]:
        if state.unfinished is None:
            state.unfinished = {1: [], 2: []}
        return state.unfinished

    def flush(self) -> None:
        state = running()
        if state is None or state.is_child:
            self._outlet.flush()
        elif state.engine.n_ranks == 1 and state.engine.is_here():
            self.release(state)

    def release(self, state: RankState) -> bool:
        """Print the rank's unfinished line; return whether there was one."""
        if not any(self._begin(state)[self._descriptor]):
            return False
        self._outlet.leave(state, partial(self._take_all, state))
        return True

    def write_unfinished(self, state: RankState) -> None:
        """Write the unfinished line of a rank that had not ended when the run did."""
        if any(self._begin(state)[self._descriptor]):
            self._outlet.write_now(state.rank, self._take_all(state))

    def close(self) -> None:
        """Keep the stream open: all ranks share it."""

    def detach(self) -> Any:
        """Return the byte stream; this text stream stays attached, because all ranks share it."""
        return self.buffer

    def reconfigure(self, **how: object) -> None:
        """Ignore the request: lines are whole and their bytes are kept."""

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return False  # as under mpiexec

    def fileno(self) -> int:
        return self._descriptor

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._outlet.stream.encoding or "utf-8"

    @property
    def errors(self) -> str:  # type: ignore[override]
        return _ERRORS

    @property
    def line_buffering(self) -> bool:
        return True

    def __reduce__(self) -> Any:
        """Reduce to an attribute of `sys`: cloudpickle and dill pickle it, pickle and copy stop at the module."""
        return getattr, (sys, self.name.strip("<>"))

    @property
    def write_through(self) -> bool:
        return False


class _OutputBytes(io.BufferedIOBase):
    """`sys.stdout.buffer`."""

    def __init__(self, text: RankOutput) -> None:
        super().__init__()
        self._text = text
        self.name = text.name

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            raw = memoryview(data).tobytes()
        except TypeError:
            raise TypeError(f"a bytes-like object is required, not {type(data).__name__!r}") from None
        self._text.write(raw.decode(self._text.encoding, _ERRORS))
        return len(raw)

    def flush(self) -> None:
        self._text.flush()

    def close(self) -> None:
        """Keep the stream open: all ranks share it."""

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        return self._text.fileno()


class RankInput(io.TextIOBase):
    """`sys.stdin` of rank 0: prints the prompt before it reads.

    Parameters
    ----------
    stream : text stream
        The real standard input.
    prompt : RankOutput
        Output on which the rank asks.
    outlet : Outlet
        Stream that this output goes to.
    """

    name = "<stdin>"
    mode = "r"

    def __init__(self, stream: TextIO, prompt: RankOutput, outlet: Outlet) -> None:
        super().__init__()
        self._stream = stream
        self._prompt = prompt
        self._outlet = outlet

    def _ready(self) -> TextIO:
        state = running()
        if state is not None and state.engine.is_here() and self._prompt.release(state):
            named_call("input")(state.engine.block)("input")
            self._outlet.flush()
        return self._stream

    def read(self, size: int | None = -1, /) -> str:
        return self._ready().read(-1 if size is None else size)

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]
        return self._ready().readline(size)

    def __iter__(self) -> Iterator[str]:  # type: ignore[override]  # as typeshed has TextIOBase
        return self

    def __next__(self) -> str:  # type: ignore[override]
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def close(self) -> None:
        """Keep the real stream open: it is not the program's to close."""

    def readable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    @property
    def buffer(self) -> Any:
        return self._ready().buffer

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._stream.encoding


def empty_input() -> TextIO:
    """`sys.stdin` of the other ranks, as under mpiexec."""
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8")


class Switchboard:
    """Stream in `sys` for the interpreter itself: passes everything on to the running rank's stream.

    `print` and `input` read their streams from the dictionary of `sys`, which has room for only one.
    """

    def __init__(self, stream: Callable[[], Any]) -> None:
        self._stream = stream

    def write(self, text: str) -> Any:
        return self._stream().write(text)

    def flush(self) -> None:
        self._stream().flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream(), name)
