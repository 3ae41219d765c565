"""A trace performed again and again, each time with other changes of its machine."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from smpy.errors import SmpyError, UsageError
from smpy.platforms.description import Description
from smpy.records.held_trace import HeldTrace
from smpy.replay import ReplayResult, replay
from smpy.study.parameters import CPU
from smpy.units import format_time

Changes = tuple[tuple[str, str], ...]
"""Keys of the machine and their new values, in the form of `Parameter`."""

_ALONE_S: Final = 3.0  # shorter work stays in this process: others take a second to start
_PROGRESS_S: Final = 0.2


@dataclass(frozen=True, slots=True)
class Replays:
    """A trace, a machine and a placement to replay it on.

    Attributes
    ----------
    trace : HeldTrace
        Trace to replay.
    platform : str, path, Description or None
        The machine that changes are made to; None: that of the run.
    placement : mapping
        Placement options of `smpy.replay.replay`.
    """

    trace: HeldTrace
    platform: str | Path | Description | None
    placement: Mapping[str, Any]

    def perform(self, changes: Changes) -> ReplayResult:
        """Replay the trace once.

        Raises
        ------
        UsageError, SmpyError
            Errors of `smpy.replay.replay`; the message begins with the changes.
        """
        cpu = float(dict(changes).get(CPU, "x1").removeprefix("x"))
        options = [change for change in changes if change[0] != CPU]
        try:
            return replay(self.trace, platform=self.platform, options=options, cpu=cpu, **self.placement)
        except SmpyError as error:
            if not changes or str(error).startswith("--set"):  # the message names the wrong change already
                raise
            settings = ", ".join(f"{key}={value}" for key, value in changes)
            kind = UsageError if isinstance(error, UsageError) else SmpyError
            raise kind(f"with {settings}: {error}") from error


def makespans_s(
    replays: Replays,
    points: Sequence[Changes],
    n_processes: int = 1,
    progress: Callable[[str], None] | None = None,
) -> list[float]:
    """The makespan at each point, in seconds.

    Parameters
    ----------
    replays : Replays
        Trace and machine to replay.
    points : sequence of Changes
        Changes of the machine at each point.
    n_processes : int
        Largest number of processes; more than one start only if one would take more than some seconds.
    progress : callable, optional
        Called now and then with a text on the progress.

    Raises
    ------
    UsageError, SmpyError
        Errors of `Replays.perform`.
    """
    times_s: list[float] = []
    began_s = shown_s = time.monotonic()
    for makespan_s in _performed(replays, points, n_processes):
        times_s.append(makespan_s)
        now_s = time.monotonic()
        if progress is not None and now_s - shown_s > _PROGRESS_S:
            shown_s = now_s
            left_s = (now_s - began_s) / len(times_s) * (len(points) - len(times_s))
            progress(f"{len(times_s):,} of {len(points):,} points, {format_time(round(left_s, 1))} left")
    return times_s


def _performed(replays: Replays, points: Sequence[Changes], n_processes: int) -> Iterator[float]:
    began_s = time.monotonic()
    for n_done, point in enumerate(points):
        each_s = (time.monotonic() - began_s) / n_done if n_done else 0.0
        if n_processes > 1 and each_s * (len(points) - n_done) > _ALONE_S:
            yield from _side_by_side(replays, points[n_done:], n_processes)
            return
        yield replays.perform(point).makespan_s


def _side_by_side(replays: Replays, points: Sequence[Changes], n_processes: int) -> Iterator[float]:
    """Makespans in the order of the points; each of n processes replays every n-th one."""
    folder = str(replays.trace.folder.absolute())
    with ExitStack() as stack:
        workers = [stack.enter_context(_worker()) for _ in range(n_processes)]
        for i, (tasks, _) in enumerate(workers):
            pickle.dump((folder, replays.platform, dict(replays.placement), points[i::n_processes]), tasks)
            tasks.flush()
        for i in range(len(points)):
            try:
                answer = pickle.load(workers[i % n_processes][1])  # noqa: S301  # our own process has written it
            except EOFError:
                raise SmpyError("a process that performed the trace was killed: is there enough memory?") from None
            if isinstance(answer, SmpyError):
                raise answer
            yield answer


@contextmanager
def _worker() -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Start a worker process; yield its input, for tasks, and its output, for results."""
    line = [sys.executable, "-c", f"from {__name__} import work; work()"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:  # noqa: S603
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdin, process.stdout
        finally:
            process.kill()


def work() -> None:
    """Perform the replays that standard input lists, in a process that `makespans_s` has started."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process, or stops reading
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    folder, platform, placement, points = pickle.load(sys.stdin.buffer)  # noqa: S301  # ours
    replays = Replays(HeldTrace(folder), platform, placement)
    for changes in points:
        try:
            answer: float | SmpyError = replays.perform(changes).makespan_s
        except SmpyError as error:
            answer = error
        pickle.dump(answer, sys.stdout.buffer)
        sys.stdout.buffer.flush()
