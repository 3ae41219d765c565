"""The progress line of a long run: redrawn in place, and erased before other output."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any, Final, TextIO

from smpy.units import format_bytes, format_time

if TYPE_CHECKING:
    from smpy.emulate.run.run import RunProgress
    from smpy.study.state import StudyProgress

FIRST_S: Final = 1.0  # shorter runs show none
EVERY_S: Final = 0.2
FILE_EVERY_S: Final = 30.0  # where no terminal shows it
ERASE: Final = "\r\x1b[K"


class ProgressLine:
    """Draws the progress of a run on a terminal, at most every `EVERY_S`; called with each `RunProgress`."""

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal
        self._is_drawn = False
        self._next_s = FIRST_S

    def __call__(self, progress: RunProgress) -> None:
        if progress.wall_s < self._next_s:
            return
        self._next_s = progress.wall_s + EVERY_S
        line = (
            f"smpy: {format_time(progress.now_s)} simulated in {format_time(progress.wall_s)}, "
            f"{progress.events_per_s:,.0f} events/s, {format_bytes(progress.rss_bytes)}"
        )
        self._terminal.write(ERASE + line[: _columns() - 1])
        self._terminal.flush()
        self._is_drawn = True

    def erase(self) -> None:
        if self._is_drawn:
            self._is_drawn = False
            self._terminal.write(ERASE)
            self._terminal.flush()


def _columns() -> int:
    """Width of the terminal; short runs draw no line and need no `shutil`."""
    import shutil

    return shutil.get_terminal_size().columns


class _AfterErasing:
    """A stream on the same terminal, which erases the progress line before each write."""

    def __init__(self, stream: TextIO, line: ProgressLine) -> None:
        self._stream = stream
        self._line = line

    def __getattr__(self, name: str) -> Any:
        if name in ("write", "writelines", "buffer"):
            self._line.erase()
        return getattr(self._stream, name)


@contextmanager
def progress_line(is_wanted: bool) -> Iterator[ProgressLine | None]:
    """A progress line on standard error while the body runs; None: no terminal would show it."""
    out, err = sys.stdout, sys.stderr
    if not is_wanted or not err.isatty():
        yield None
        return
    line = ProgressLine(err)
    if out.isatty():
        sys.stdout = _AfterErasing(out, line)
    sys.stderr = _AfterErasing(err, line)
    try:
        yield line
    finally:
        line.erase()
        sys.stdout, sys.stderr = out, err


@contextmanager
def replay_progress() -> Iterator[Callable[[str], None] | None]:
    """Show the present replay on a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    try:
        yield lambda text: _show(f"{ERASE}smpy: replaying {text}"[:100])
    finally:
        _show(ERASE)


@contextmanager
def share_progress(done: str) -> Iterator[Callable[[float], None]]:
    """Show the share of a file that has been read, and an estimate of the time left, on a terminal."""
    if not sys.stderr.isatty():
        yield lambda share: None
        return
    began_s = next_s = perf_counter()

    def show(share: float) -> None:
        nonlocal next_s
        now_s = perf_counter()
        if now_s < next_s or share <= 0:
            return
        next_s = now_s + EVERY_S
        left = format_time((now_s - began_s) * (1 / min(share, 1.0) - 1))
        _show(f"{ERASE}smpy: {share:.0%} {done}, about {left} left"[: _columns() - 1])

    try:
        yield show
    finally:
        _show(ERASE)


@contextmanager
def study_progress(*, is_wanted: bool = True) -> Iterator[Callable[[StudyProgress], None] | None]:
    """Show the progress of a study: on a terminal in a line, else in a new line every `FILE_EVERY_S`."""
    if not is_wanted:
        yield None
        return
    if not sys.stderr.isatty():
        yield _ProgressLog(sys.stderr)
        return
    try:
        yield lambda progress: _show(ERASE + _study_text(progress)[: _columns() - 1])
    finally:
        _show(ERASE)


class _ProgressLog:
    """Writes the progress of a study into a file."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._next_s = monotonic() + FILE_EVERY_S

    def __call__(self, progress: StudyProgress) -> None:
        if monotonic() < self._next_s:
            return
        self._next_s = monotonic() + FILE_EVERY_S
        self._file.write(_study_text(progress) + "\n")
        self._file.flush()


def _study_text(progress: StudyProgress) -> str:
    failed = f", {progress.n_failed:,} of them failed" if progress.n_failed else ""
    n_left = progress.n_points - progress.n_done
    left = f"{n_left:,} {'is' if n_left == 1 else 'are'} left"
    about = f", about {format_time(progress.left_s)} left" if progress.left_s else ""
    return f"smpy: {progress.n_done:,} of {progress.n_points:,} points have ended{failed}, {left}{about}"


def _show(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
