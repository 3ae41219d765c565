"""Tasks of a study on Dask's workers: each runs one point, and returns its row of the table.

A few tasks more than there are workers are handed out at a time, so that a study of any length costs little memory and
ends soon after Ctrl-C. A task whose worker dies is handed out again.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from smpy.analysis import lost
from smpy.errors import NoRoomError, SmpyError, UsageError
from smpy.platforms.host_names import expand_name
from smpy.records.files import write_whole
from smpy.records.trace import Trace
from smpy.runs.request import RunInputs
from smpy.runs.run import KilledError, MemoryLimitError, Run, RunError, TimeLimitError, again_if_killed
from smpy.runs.run_text import from_json
from smpy.runs.simulate import perform_run
from smpy.study.carried_variables import CarriedVariables, variables_of_a_run
from smpy.study.cost import parts_record, recorded_run_eur
from smpy.study.dask_cluster import TRIES_MAX, DaskConnection, dask_connection
from smpy.study.journal import Entry
from smpy.study.results import kept_output

if TYPE_CHECKING:
    from smpy.records.summary import Summary

_ERROR_MAX: Final = 2_000
_AHEAD: Final = 3  # tasks handed out per worker
_LOOK_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class Task:
    """A point as a worker receives it.

    Attributes
    ----------
    key : str
        Key of the point.
    run : str
        Its run in JSON.
    directory : str
        Folder it runs in.
    folder : str
        Folder of the study, for files to keep.
    patterns : tuple of str
        Regular expressions of the numbers to take from its output.
    keeps_profile, keeps_trace, keeps_lost : bool
        Whether a profile, a trace and the lost time are kept beside the row.
    limit_s, limit_bytes : float or None
        Limits of real time and memory.
    variables : mapping of str to (str or None)
        Environment variables that it carries (`smpy.study.carried_variables`).
    """

    key: str
    run: str
    directory: str
    folder: str
    patterns: tuple[str, ...]
    keeps_profile: bool
    keeps_trace: bool
    keeps_lost: bool
    limit_s: float | None
    limit_bytes: int | None
    variables: Mapping[str, str | None] = field(default_factory=dict)


Done = Callable[[Sequence[tuple[Task, Entry, RunInputs]]], None]


class SchedulerLostError(SmpyError):
    """The scheduler, or the connection to it, was lost."""


# ---- in the process of the study ----


def run_tasks(
    tasks: Sequence[Task],
    done: Done,
    variables: CarriedVariables,
    *,
    n_workers: int,
    scheduler: str | None = None,
    show_dashboard: Callable[[str], None] | None = None,
    more: Callable[[], Sequence[Task]] = lambda: (),
) -> None:
    """Run points, each once.

    Parameters
    ----------
    tasks : sequence of Task
        In the order in which they are begun.
    done : callable
        Called with the points that have ended since its last call, at least every second.
    variables : CarriedVariables
        Environment variables for the points.
    n_workers : int
        Processes on this machine.
    scheduler : str, optional
        Address of a Dask scheduler, whose workers are used instead.
    show_dashboard : callable, optional
        Called with the address of the dashboard of this machine's workers.
    more : callable, optional
        Called when all have ended: returns further points, or none.

    Raises
    ------
    UsageError
        If Dask or cryptography is not installed, there is no such scheduler, or no dashboard.
    SchedulerLostError
        If the scheduler, or the connection to it, is lost.
    SmpyError
        If workers do not start.
    KeyboardInterrupt
        If Ctrl-C came: points that were running here have ended.
    """
    with dask_connection(n_workers, scheduler, show_dashboard) as connection:
        try:
            hand_out = _HandOut(connection, done, variables)
            while tasks:
                hand_out.run(tasks)
                tasks = more()
        except _LostError as error:
            where = f"the scheduler at {scheduler}" if scheduler else "the scheduler of this study"
            raise SchedulerLostError(f"{where} has gone; what has finished is kept: run the study again") from error


class _LostError(Exception):
    """The scheduler was lost while points were out."""


@contextmanager
def _as_lost_error() -> Iterator[None]:
    """Turn errors of a lost scheduler in the body into `_LostError`."""
    from distributed import CancelledError

    try:
        yield
    except (OSError, RuntimeError, ValueError, CancelledError) as error:  # a closing client raises these, too
        raise _LostError from error


class _HandOut:
    """Hands out tasks: a few more than there are workers."""

    def __init__(
        self,
        connection: DaskConnection,
        done: Done,
        variables: CarriedVariables,
    ) -> None:
        self._dask, self._done, self._variables = connection, done, variables
        self._waiting: Iterator[Task] = iter(())
        self._tries: dict[str, int] = {}
        self._out: dict[Any, Task] = {}
        self._ended: SimpleQueue[Any] = SimpleQueue()

    def run(self, tasks: Sequence[Task]) -> None:
        """Hand out all tasks, and report points that finish."""
        self._waiting = iter(tasks)
        self._fill()
        while self._out:
            try:
                futures = [self._ended.get(timeout=_LOOK_S)]
            except Empty:
                self._dask.check()
                if self._dask.client.status != "running":
                    raise _LostError from None
                self._done(())
                self._fill()  # there may be more workers now
                continue
            with suppress(Empty):
                while True:
                    futures.append(self._ended.get_nowait())
            self._take_all(futures)
            self._fill()

    def _take_all(self, futures: Sequence[Any]) -> None:
        """Report finished points, even if the scheduler is lost meanwhile."""
        ended: list[tuple[Task, Entry, RunInputs]] = []
        try:
            for future in futures:
                outcome = self._take(future)
                if outcome is not None:
                    ended.append(outcome)
        finally:
            if ended:
                self._done(ended)

    def _fill(self) -> None:
        with _as_lost_error():
            n = _AHEAD * max(1, self._dask.n_threads())
        while len(self._out) < n and (task := next(self._waiting, None)) is not None:
            self._hand_out(task)

    def _hand_out(self, task: Task) -> None:
        self._tries[task.key] = self._tries.get(task.key, 0) + 1
        task = replace(task, variables=self._variables.current())
        with _as_lost_error():
            future = self._dask.client.submit(perform, task, key=f"smpy-{task.key}-{self._tries[task.key]}", pure=False)
        self._out[future] = task
        future.add_done_callback(self._ended.put)

    def _take(self, future: Any) -> tuple[Task, Entry, RunInputs] | None:
        """Task, entry and reads of a point that has ended; None: it is handed out again."""
        from distributed.scheduler import KilledWorker

        task = self._out.pop(future)
        if future.status == "finished":
            with _as_lost_error():
                outcome: tuple[Entry, RunInputs] = future.result()
            future.release()
            if not self._variables.has_missed(task.variables, outcome[1]):
                return task, *outcome
            self._hand_out(task)
            return None
        if future.status == "lost":  # its worker died before the result was fetched
            self._hand_out(task)
            return None
        if future.status != "error":
            raise _LostError
        with _as_lost_error():
            error = future.exception()
        if not isinstance(error, KilledWorker):
            return task, Entry({}, _in_words(error), is_outside=isinstance(error, OSError)), RunInputs()
        if self._tries[task.key] < TRIES_MAX:
            self._hand_out(task)
            return None
        return task, Entry({}, f"its worker died {TRIES_MAX * TRIES_MAX} times while it ran"), RunInputs()


def _in_words(error: BaseException) -> str:
    if isinstance(error, OSError):
        return f"what it leaves cannot be written: {error}"
    return f"{type(error).__name__}: {error}"


# ---- in a worker ----


def perform(task: Task) -> tuple[Entry, RunInputs]:
    """Run a point.

    Returns
    -------
    Entry
        Also when it failed.
    RunInputs
        Files and environment variables that it read.

    Raises
    ------
    OSError
        If there is no room for the files to keep.
    """
    began_s = perf_counter()
    trace = None
    if task.keeps_trace or task.keeps_lost:
        os.makedirs(os.path.join(task.folder, "traces"), exist_ok=True)
        trace = tempfile.mkdtemp(prefix=f".{task.key}.", dir=os.path.join(task.folder, "traces"))
    try:
        run = _run(task, trace)
        if trace is not None and task.keeps_lost:
            _write_lost(Path(trace), Path(task.folder, "lost"), task.key)
    except SmpyError as error:
        wall_s = perf_counter() - began_s
        entry, reads, summary = (
            _failed(error, wall_s, task),
            getattr(error, "reads", RunInputs()),
            getattr(error, "summary", None),
        )
    else:
        wall_s = perf_counter() - began_s
        reads, summary = run.reads, run.summary
        output, matches = kept_output(run.stdout, task.patterns, run.stdout_file)
        is_measured = run.summary.is_measured_here
        entry = Entry(_row(run.summary, wall_s), output=output, is_measured=is_measured, matches=matches)
    if trace is not None and task.keeps_trace:
        _put(Path(trace), Path(task.folder, "traces", task.key))
    elif trace is not None:
        shutil.rmtree(trace)
    if task.keeps_profile and summary is not None:
        profiles = Path(task.folder, "profiles")
        profiles.mkdir(exist_ok=True)
        summary.write_json(profiles / f"{task.key}.json")
    return entry, reads


def _run(task: Task, trace: str | None) -> Run:
    """Perform the run; perform it again if it is killed."""
    run = replace(from_json(task.run), trace=None if trace is None else Path(trace))

    def attempt() -> Run:
        return perform_run(
            run,
            timeout_s=task.limit_s,
            memory_limit_bytes=task.limit_bytes,
            directory=task.directory,
            environment=variables_of_a_run(task.variables, os.environ),
            notes_reads=True,
        )

    def between() -> None:
        if trace is not None:
            shutil.rmtree(trace)
            os.mkdir(trace, 0o700)

    return again_if_killed(attempt, between)


def _write_lost(trace: Path, folder: Path, key: str) -> None:
    """Write the lost time of a run, from its trace."""
    folder.mkdir(exist_ok=True)
    write_whole(folder / f"{key}.json", f"{lost(Trace(trace), recorded_run_eur(Trace(trace))).to_json()}\n")


def _put(new: Path, place: Path) -> None:
    """Move a folder to its final path, in place of one from a run that was never recorded."""
    shutil.rmtree(place, ignore_errors=True)
    new.rename(place)


def _failed(error: SmpyError, wall_s: float, task: Task) -> Entry:
    over, limit = "", None
    if isinstance(error, TimeLimitError):
        over, limit = "time", task.limit_s
    elif isinstance(error, MemoryLimitError):
        over, limit = "memory", task.limit_bytes
    printed, whole = (error.stdout, error.stdout_file) if isinstance(error, RunError) else ("", None)
    output, matches = kept_output(printed, task.patterns, whole)
    message = str(error)[:_ERROR_MAX] or type(error).__name__
    is_outside = isinstance(error, (UsageError, KilledError)) or (
        isinstance(error, RunError) and isinstance(error.failure, NoRoomError)
    )
    return Entry({"wall_s": wall_s}, message, output, over, limit, is_outside=is_outside, matches=matches)


def _row(summary: Summary, wall_s: float) -> dict[str, Any]:
    machine, energy = summary.inputs.machine, summary.energy
    knows_hosts = machine is not None and energy is not None and len(energy.hosts_j) == machine.n_hosts
    used = {name for entry, _ in summary.inputs.mapping for name in expand_name(entry)}
    knows_used = knows_hosts and energy is not None and used <= energy.hosts_j.keys()
    return {
        "ranks": summary.n_ranks,
        "makespan_s": summary.makespan_s,
        "half_width_s": summary.uncertainty.half_width_s if summary.uncertainty else None,
        "messages": summary.messages,
        "bytes": summary.bytes,
        **{f"{name}_share": share for name, share in asdict(summary.shares).items()},
        "parts": parts_record(machine) if machine else None,
        "used_hosts": len(used),
        "hosts_j": energy.hosts_total_j if energy is not None and knows_hosts else None,
        "used_hosts_j": sum(energy.hosts_j[name] for name in used) if energy is not None and knows_used else None,
        "links_j": energy.links_total_j if energy is not None and energy.links_j else None,
        "wall_s": wall_s,
        "peak_rss_bytes": summary.peak_rss_bytes,
    }
