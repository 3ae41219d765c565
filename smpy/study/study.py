"""A study: its plan, the state of its points, and their table."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol
from warnings import warn

from smpy.arguments import whole_number, word
from smpy.errors import JournalWarning, UsageError
from smpy.input_files import read_plain_file
from smpy.records.files import write_whole
from smpy.runs.files_read import are_as_they_were, state_of
from smpy.runs.request import RunInputs
from smpy.runs.run import again_if_killed
from smpy.runs.simulate import check_run
from smpy.runs.variables_read import changed_variables, hashes_of
from smpy.study.axes import Value
from smpy.study.carried_variables import CarriedVariables
from smpy.study.dask_cluster import memory_of_a_point, n_workers_here
from smpy.study.definition import Definition, definition_of, read_definition
from smpy.study.export import write_parquet
from smpy.study.journal import Entry, Journal, RunOrigin
from smpy.study.machines import MachineReader, check_sizes
from smpy.study.points import Point, points_of, samples_of_options
from smpy.study.results import are_known
from smpy.study.reuse import Results, located, relative_to
from smpy.study.state import PointCollector, StudyProgress, StudyState
from smpy.study.table import FILES, StudyTable, kept_path, table_of
from smpy.study.tasks import Task, run_tasks
from smpy.study.versions import versions

if TYPE_CHECKING:
    import pandas as pd


class PointSearch(Protocol):
    """Chooses points by the results of those that have ended."""

    @property
    def points(self) -> Sequence[Point]:
        """All points that may be chosen."""

    def next(self, state: StudyState) -> list[Point]:
        """Points to run next; none: the search has ended."""


_DEFINITION: Final = "study.json"
_WORKERS_MAX: Final = 10_000


def is_study(what: Path) -> bool:
    """Whether this is the file or the folder of a study, rather than the folder of a trace."""
    return what.suffix == ".toml" or (what / _DEFINITION).is_file()


class Study:
    """Programs over machines, sizes, numbers of ranks, ...: many runs, compared.

    Parameters
    ----------
    what : str, path or mapping
        A TOML file, the folder of a study that has run, or a mapping with the content of such a file.
    folder : str or path, optional
        Folder of its results; by default `NAME.study`, beside the file or here.

    Raises
    ------
    UsageError
        If it has a key or a value that no study has.

    Examples
    --------
    >>> import smpy
    >>> study = smpy.Study(
    ...     {
    ...         "program": "apps/ring.py",
    ...         "options": {"compute": "none"},
    ...         "axes": {"ranks": [2, 4, 8], "set.network.latency": ["1us", "2us"]},
    ...     }
    ... )
    >>> frame = study.run()  # doctest: +SKIP
    >>> frame[["ranks", "set.network.latency", "makespan_s"]]  # doctest: +SKIP
    """

    def __init__(
        self, what: str | os.PathLike[str] | Mapping[str, Any], folder: str | os.PathLike[str] | None = None
    ) -> None:
        if isinstance(what, Mapping):
            self._content: Mapping[str, Any] = what
            self.definition = definition_of(what)
            place = Path(f"{self.definition.name}.study")
        elif Path(word("what", what)).is_dir():
            self.definition, self._content = _opened(Path(what))
            place = Path(what)
        else:
            self.definition, self._content = read_definition(what)
            place = Path(what).parent / f"{self.definition.name}.study"
        self.folder: Final = (place if folder is None else Path(folder)).absolute()

    @property
    def name(self) -> str:
        return self.definition.name

    @cached_property
    def points(self) -> list[Point]:
        """All its points, in the order of the table."""
        return points_of(self.definition)

    def check(self) -> None:
        """Check options and machines: of each option, read its first and its last value.

        Raises
        ------
        UsageError
            If one cannot be used, or there is no such program.
        """
        self._check_program()
        for point in samples_of_options(self.points):
            try:
                again_if_killed(partial(check_run, point.run, self.definition.folder))
            except UsageError as error:
                raise UsageError(f"point {point.number}: {error}") from None
        if self.definition.weight_kind is not None:
            self._check_sizes()

    def run(
        self,
        *,
        workers: int | None = None,
        scheduler: str | None = None,
        cache: str | os.PathLike[str] | None = None,
        retry_failed: bool = False,
        only: Sequence[Point] | None = None,
        search: PointSearch | None = None,
        progress: Callable[[StudyProgress], None] | None = None,
        show_dashboard: Callable[[str], None] | None = None,
    ) -> pd.DataFrame:
        """Run the points that have not run.

        Parameters
        ----------
        workers : int, optional
            Processes on this machine; by default one per core, less one.
        scheduler : str, optional
            Address of a Dask scheduler, whose workers are used instead. They see the same files as this machine.
        cache : str or path, optional
            Folder of results that studies share.
        retry_failed : bool
            Whether points that failed run again.
        only : sequence of Point, optional
            Some of its points.
        search : PointSearch, optional
            Chooses the points in place of the study's axes.
        progress : callable, optional
            Called with the study's `StudyProgress` whenever a point has ended.
        show_dashboard : callable, optional
            Called with the address of Dask's dashboard, which runs on this machine as long as the points. By default
            there is no dashboard.

        Returns
        -------
        pandas.DataFrame
            The table, as `smpy.study.table.StudyTable` describes it.

        Raises
        ------
        UsageError
            If the study cannot run: its program is not there, another process runs it, ...
        SmpyError
            If it could not go on: the disk is full, the scheduler has gone. Points that have ended are kept.
        """
        if scheduler is not None and show_dashboard is not None:
            raise UsageError(f"the scheduler at {scheduler} has its own dashboard, or none: leave --dashboard out")
        n_workers = n_workers_here() if workers is None else whole_number("workers", workers, _WORKERS_MAX)
        if scheduler is not None:
            scheduler = word("scheduler", scheduler)
        if cache is not None:
            cache = word("cache", cache)
        self._check_program()
        possible = self.points if search is None else search.points
        with ExitStack() as stack:
            stack.enter_context(self._locked())
            journal = stack.enter_context(closing(self._journal()))
            results = stack.enter_context(closing(Results(Path(cache), self.definition))) if cache else None
            write_whole(self.folder / _DEFINITION, self._text())
            for scratch in self.folder.glob("traces/.*"):  # left by points whose workers died
                shutil.rmtree(scratch, ignore_errors=True)
            limit_bytes = self.definition.limit_bytes
            if limit_bytes is None and scheduler is None:
                limit_bytes = memory_of_a_point(n_workers)
            state = self._state(journal, possible)
            reused = None if self.definition.keep else results
            collector = PointCollector(state, journal, reused, self.origin, n_workers, progress)

            batches = self._batches(collector, state, only, search, retry_failed, limit_bytes)
            tasks = next(batches, [])
            if tasks:
                names = journal.variables().union(self.definition.environment)
                variables = CarriedVariables(os.environ, names)
                run_tasks(
                    *(tasks, collector.note, variables),
                    n_workers=n_workers,
                    scheduler=scheduler,
                    show_dashboard=show_dashboard,
                    more=lambda: next(batches, []),
                )
            frame = self._table(state if search is None else self._state(journal)).frame
            write_parquet(frame, self.folder / "points.parquet")
            return frame

    def state(self, points: Sequence[Point] | None = None) -> StudyState:
        """State of its points so far, or of other ones."""
        if self._has_no_journal():
            return StudyState()
        with closing(Journal(self._journal_path)) as journal:
            return self._state(journal, points)

    def table(self) -> StudyTable:
        """Results so far, as a table: points that have not ended are not in it."""
        return self._table(self.state())

    def _table(self, state: StudyState) -> StudyTable:
        return table_of(self.definition, self.points, state, self.folder)

    @property
    def is_running(self) -> bool:
        """Whether a process runs it now."""
        try:
            with open(self.folder / "lock", "rb", opener=_open_at_once) as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    # ---- before and after ----

    def _check_program(self) -> None:
        definition = self.definition
        for each in definition.programs:
            if not each.is_module and not Path(definition.folder, each.program).exists():
                raise UsageError(f"there is no program {each.program!r} in {definition.folder}")
        for path in definition.inputs:
            if not Path(definition.folder, path).is_file():
                raise UsageError(f"inputs: there is no file {path!r} in {definition.folder}")

    def _check_sizes(self) -> None:
        reader = MachineReader(self.definition.folder)
        of_programs: dict[tuple[Value, ...], list[Point]] = {}
        for point in self.points:
            of_programs.setdefault(point.values[1:], []).append(point)
        for points in of_programs.values():
            try:
                check_sizes(reader.machine(point.run).n_hosts for point in points)
            except UsageError as error:
                raise UsageError(f"point {points[0].number}: {error}") from None

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Lock the study for this process while the body runs."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            file = open(self.folder / "lock", "ab", opener=_open_at_once)  # noqa: SIM115  # as long as the study runs
        except OSError as error:
            reason = f"{error.strerror}; name another folder (--folder)"
            raise UsageError(f"cannot write the study's folder {self.folder}: {reason}") from error
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(f"the study in {self.folder} is running already") from None
            except OSError:  # a file system without locks
                pass
            yield

    def _text(self) -> str:
        return json.dumps({"folder": self.definition.folder, "study": self._content}, default=str, indent=1) + "\n"

    def _journal(self) -> Journal:
        """Journal for writing; a damaged one is repaired first."""
        self._has_no_journal()
        journal = Journal(self._journal_path)
        journal.check()
        if not journal.damage:
            for _ in journal.entries():
                pass
        return journal.repaired() if journal.damage else journal

    @property
    def _journal_path(self) -> Path:
        return self.folder / "journal.sqlite"

    def _has_no_journal(self) -> bool:
        """Whether the journal is missing or empty; warns of it if the study has begun before."""
        path = self._journal_path
        is_missing = not path.exists()
        if not is_missing and not (path.is_file() and path.stat().st_size == 0):
            return False
        if (self.folder / _DEFINITION).exists():
            how = "missing" if is_missing else "empty"
            warn(f"{path} is {how}: all points run again", JournalWarning, stacklevel=4)
        return True

    def _state(self, journal: Journal, points: Sequence[Point] | None = None) -> StudyState:
        """State of its points, or of other ones."""
        state = StudyState()
        known: dict[str, str | None] = {}
        judged: dict[str, str] = {}
        keys = {point.key for point in (self.points if points is None else points)}
        for key, origin, entry in journal.entries():
            if key not in keys:
                continue
            why = judged.get(text := repr(origin))
            if why is None:
                why = judged[text] = self._why_stale(origin, known)
            state.entries[key] = entry
            if why:
                state.stale[key] = why
            else:
                state.stale.pop(key, None)
        if journal.damage:
            rest = "the rest runs again" if state.entries else "all points run again"
            warn(
                f"{journal.damage}; {len(state.entries):,} finished points are kept, {rest}",
                JournalWarning,
                stacklevel=4,
            )
        return state

    def _why_stale(self, origin: RunOrigin, known: dict[str, str | None]) -> str:
        for name, now in versions().items():
            if origin.versions.get(name) != now:
                return f"{name} was another version"
        files = located(origin.files, self.definition.folder)
        for path in sorted(self.definition.input_paths - files.keys()):
            return f"{path} is an input now"
        for path in files:
            if not are_as_they_were({path: files[path]}, known):
                return f"{path} has changed"
        for name in self.definition.environment:
            if name not in origin.variables:
                return f"the environment variable {name} is an input now"
        names = changed_variables(origin.variables, os.environ)
        return f"the environment variable {names[0]} has changed" if names else ""

    def origin(self, point: Point, reads: RunInputs) -> RunOrigin:
        """Origin of a point's run, from the files and variables that it read."""
        folder = self.definition.folder
        more = set() if point.run.is_module else {os.path.abspath(os.path.join(folder, point.run.program))}
        states = {path: state_of(path) for path in self.definition.input_paths | more if path not in reads.files}
        whole = {**{path: state for path, state in states.items() if state}, **reads.files}
        variables = {**hashes_of(self.definition.environment, os.environ), **reads.variables}
        return RunOrigin(relative_to(whole, folder), versions(), variables)

    def _to_run(
        self, state: StudyState, points: Sequence[Point], retry_failed: bool, share_bytes: int | None = None
    ) -> list[Point]:
        """Points that are to run, once for each key; `share_bytes` limits memory if the study does not."""
        to_run = {}
        for point in points:
            entry = state.current(point.key)
            if entry is None or self._lacks(point, entry) or self._again(entry, retry_failed, share_bytes):
                to_run[point.key] = point
        return list(to_run.values())

    def _batches(
        self,
        collector: PointCollector,
        state: StudyState,
        only: Sequence[Point] | None,
        search: PointSearch | None,
        retry_failed: bool,
        limit_bytes: int | None,
    ) -> Iterator[list[Task]]:
        """Tasks that are known at a time: all of a study, or those that a search chooses after the ones before."""
        if search is None:
            to_run = self._to_run(state, self.points if only is None else only, retry_failed, limit_bytes)
            if to_run:
                self.check()
            choices = iter([(to_run, self.points)])
        else:
            for point in search.points:
                entry = state.current(point.key)
                if entry is not None and self._again(entry, retry_failed, limit_bytes):
                    del state.entries[point.key]
            chosen = iter(partial(search.next, state), [])
            choices = ((self._to_run(state, points, retry_failed, limit_bytes), points) for points in chosen)
        for to_run, counted in choices:
            collector.add(to_run, counted)
            collector.reuse()
            if tasks := [self._task(point, limit_bytes) for point in collector.remaining()]:
                yield tasks

    def _lacks(self, point: Point, entry: Entry) -> bool:
        """Whether a file to keep, or a result to take from the output, is missing from a finished point."""
        if entry.error:
            return False
        files = [kept_path(what, point.key, self.folder) for what in FILES if what in self.definition.keep]
        return not (are_known(self.definition.results, entry) and all(path.exists() for path in files))

    def _again(self, entry: Entry, retry_failed: bool, share_bytes: int | None) -> bool:
        limits = {"time": self.definition.limit_s, "memory": self.definition.limit_bytes or share_bytes}
        limit = limits.get(entry.over)
        is_raised = bool(entry.over) and (limit is None or (entry.limit is not None and limit > entry.limit))
        return bool(entry.error) and (retry_failed or is_raised or entry.is_outside)

    def _task(self, point: Point, limit_bytes: int | None) -> Task:
        return Task(
            key=point.key,
            run=point.text,
            directory=self.definition.folder,
            folder=str(self.folder),
            patterns=tuple(self.definition.results.values()),
            keeps_profile="profile" in self.definition.keep,
            keeps_trace="trace" in self.definition.keep,
            keeps_lost="lost" in self.definition.keep,
            limit_s=self.definition.limit_s,
            limit_bytes=limit_bytes,
        )


def _open_at_once(path: str, flags: int) -> int:
    """Open a file without blocking, even if it is a pipe."""
    return os.open(path, flags | os.O_NONBLOCK, 0o666)


def _opened(folder: Path) -> tuple[Definition, Mapping[str, Any]]:
    """Definition of the study in a folder, and the content of its file."""
    path = folder / _DEFINITION
    try:
        written = json.loads(read_plain_file(path, "study"))
        return definition_of(written["study"], written["folder"]), written["study"]
    except OSError as error:
        raise UsageError(f"{folder} is no folder of a study: {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(
            f"{path} is not what a study has written: {error}; run the study from its TOML file"
        ) from error
