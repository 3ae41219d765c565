"""Replay of SimGrid's time-independent traces, which `smpirun -trace-ti` writes and `smpirun -replay` performs.

A main file lists one file per rank, in order; if it lists a single file, that file has the lines of all ranks. Files
are read piece by piece, as ranks need them; from a single file, actions of other ranks are held until their turn.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from smpy.collectives.choice import selection_on
from smpy.collectives.comm_hosts import HostsOfComm
from smpy.collectives.hosts import Hosts
from smpy.collectives.world_schedules import Algorithms
from smpy.engine.replaying import ReplayEngine
from smpy.engine.trace import dtype_of
from smpy.errors import UsageError
from smpy.platforms.machine import with_collectives
from smpy.platforms.placement.placement import place
from smpy.replay.changes import Better, checked, faster, improve_links
from smpy.replay.replay import ReplayResult, machine_with, result_of
from smpy.replay.replay_recording import CallSites, ReplayedProgram, ReplayRecording, check_recordable, settings_of
from smpy.replay.time_independent_actions import ROW_FIELDS, Actions, Row, ScheduleOf

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from smpy.platforms.description import Description

_PIECES_BYTES: Final = 16 << 20  # size of all ranks' pieces together
_PIECE_MIN_BYTES, _PIECE_MAX_BYTES = 4096, 1 << 20
_LINE_MAX_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class TimeIndependentTrace:
    """The files of a trace.

    Attributes
    ----------
    path : path
        The main file.
    files : tuple of path
        One file per rank, or one for all ranks.
    n_ranks : int
        Number of ranks that perform the trace.
    """

    path: Path
    files: tuple[Path, ...]
    n_ranks: int

    @property
    def is_shared(self) -> bool:
        """Whether all ranks' lines are in one file."""
        return len(self.files) == 1


def read_main_file(path: str | Path, n_ranks: int | None = None) -> TimeIndependentTrace:
    """Find the files of a trace; names in it are relative to the working folder or, if missing there, to the main file.

    Parameters
    ----------
    path : str or path
        The main file.
    n_ranks : int, optional
        Number of ranks; by default, that of the files.

    Raises
    ------
    UsageError
        If a file is missing, or their number is not that of the ranks.
    """
    path = Path(path)
    with _opened(path) as stream:
        lines = [_text(line, path, i).strip() for i, line in enumerate(_lines(stream, path), start=1)]
    names = [line for line in lines if line and not line.startswith("#")]
    if not names:
        raise UsageError(f"{path} lists no files of ranks")
    files = tuple(_found(path, name) for name in names)
    if n_ranks is None:
        if len(files) == 1:
            raise UsageError(f"{path} lists one file for all ranks: say with -np how many there are")
        n_ranks = len(files)
    if len(files) not in (1, n_ranks):
        raise UsageError(f"{path} lists {len(files):,} files of ranks, and -np asks for {n_ranks:,} ranks")
    return TimeIndependentTrace(path, files, n_ranks)


def _found(main: Path, name: str) -> Path:
    for path in (Path(name), main.parent / name):
        if path.is_file():
            return path
    raise UsageError(f"{main} lists {name!r}, which is no file here, nor beside it")


def replay_time_independent(
    trace: TimeIndependentTrace,
    platform: str | Path | Description,
    *,
    options: Iterable[tuple[str, str]] = (),
    network: str | None = None,
    collectives: str | None = None,
    algorithms: Iterable[tuple[str, str]] | None = None,
    cpu: float = 1.0,
    ideal: Iterable[str] = (),
    better: Iterable[Better] = (),
    on_yield: Callable[[], None] = lambda: None,
    to: str | Path | None = None,
    overwrite: bool = False,
    **placement: Any,
) -> ReplayResult:
    """Perform a time-independent trace; parameters are those of `replay`.

    Raises
    ------
    UsageError
        If a line cannot be performed: file, line and why; or if the trace does not fit the machine.
    SmpyError
        If it cannot be performed there.
    """
    changes, ideal = checked(better), tuple(ideal)
    if to is not None:
        check_recordable(to, None, changes, ideal)
    options, algorithms = tuple(options), [(operation, name) for operation, name in algorithms or ()]
    machine = machine_with(platform, trace.n_ranks, options, network, ideal, changes)
    if collectives is not None:
        machine = with_collectives(machine, collectives)
    built = machine.build()
    improve_links(built, changes)
    host_of_rank = place(built, trace.n_ranks, **{name: value for name, value in placement.items() if value})
    engine = ReplayEngine(built, built.models, host_of_rank)
    try:
        known = Algorithms(selection_on(built.models, algorithms))
        hosts = HostsOfComm(lambda: Hosts(engine.hosts_of(range(trace.n_ranks))))

        def schedules() -> ScheduleOf:
            """Schedules for one rank: ranks make the same calls, and each has its own state of the host search."""
            own = HostsOfComm(hosts.known)
            return lambda operation, query: known.schedule(engine, operation, query, own)

        names = [engine.host_name(rank) for rank in range(trace.n_ranks)]
        times = faster(changes, cpu, host_of_rank=names, kernel_of_site=(), rank_of_site=()).flop_of_rank
        recording = None
        if to is not None:
            recording = ReplayRecording(
                to,
                engine,
                machine,
                ReplayedProgram.of_file(trace.path, engine.platform.speed_flop_per_s(host_of_rank[0])),
                CallSites.of_programs(trace.n_ranks),
                known,
                forced=algorithms,
                settings=settings_of(options, network),
                overwrite=overwrite,
            )
        site_of = None if recording is None else recording.sites.site
        rows = _RowReader(
            trace,
            [
                Actions(rank, trace.n_ranks, schedules(), engine.sends_at_once, float(times[rank]), site_of)
                for rank in range(trace.n_ranks)
            ],
        )
        perform = engine.perform if recording is None else recording.perform
        perform(rows.rows_for, on_yield)
        return result_of(engine, machine, depends_on_time=rows.has_tests)
    finally:
        engine.close()


class _RowReader:
    """Reader of rows from the files, piece by piece."""

    def __init__(self, trace: TimeIndependentTrace, actions: Sequence[Actions]) -> None:
        self._trace = trace
        self._actions = actions
        n_files = len(trace.files)
        self._place = array("q", bytes(8 * n_files))
        self._line = array("q", bytes(8 * n_files))
        self._is_read = bytearray(n_files)
        self._piece_bytes = min(max(_PIECES_BYTES // n_files, _PIECE_MIN_BYTES), _PIECE_MAX_BYTES)
        self._dtype = dtype_of("actions")
        assert self._dtype.names == ROW_FIELDS
        self.has_tests = False

    def rows_for(self, rank: int) -> NDArray[np.void] | None:
        """Return the next rows of a rank, perhaps with rows of other ranks; None: it has ended."""
        import numpy as np

        number = 0 if self._trace.is_shared else rank
        readers = self._actions if self._trace.is_shared else self._actions[rank : rank + 1]
        rows: list[Row] = []
        while not rows and not self._is_read[number]:
            self._read_piece(number, readers)
            for reader in readers:
                rows += reader.rows
                reader.rows.clear()
        return np.array(rows, self._dtype) if rows else None

    def _read_piece(self, number: int, readers: Sequence[Actions]) -> None:
        path = self._trace.files[number]
        first = readers[0].rank
        line_number = self._line[number]
        with _opened(path) as stream:
            stream.seek(self._place[number])
            for line in _lines(stream, path, self._piece_bytes):
                line_number += 1
                words = _text(line, path, line_number).split()
                if not words or words[0].startswith("#"):
                    continue
                try:
                    rank = self._rank(words)
                    if 0 <= rank - first < len(readers):
                        readers[rank - first].add(words[1:])
                except UsageError as error:
                    raise UsageError(f"{path}, line {line_number}: {error}") from None
            self._place[number] = stream.tell()
            is_over = not stream.read(1)
        self._line[number] = line_number
        if is_over:
            self._is_read[number] = True
            for reader in readers:
                try:
                    reader.end()
                except UsageError as error:
                    raise UsageError(f"{path}: {error}") from None

    def _rank(self, words: Sequence[str]) -> int:
        n = self._trace.n_ranks
        if not words[0].isdecimal():
            raise UsageError(f"{words[0]!r} is no rank: a line is RANK ACTION ..., such as `0 compute 1e9`")
        rank = int(words[0])
        if rank >= n:
            raise UsageError(f"it is of rank {rank}, and there are ranks 0 to {n - 1}")
        if len(words) < 2:
            raise UsageError("it has a rank, and no action")
        self.has_tests |= words[1] == "test"
        return rank


def _opened(path: Path) -> BinaryIO:
    try:
        if not path.is_file():
            raise UsageError(
                f"cannot read {str(path)!r}: it is no file" if path.exists() else f"there is no file {str(path)!r}"
            )
        return open(path, "rb")
    except OSError as error:
        raise UsageError(f"cannot read {str(path)!r}: {error.strerror}") from None


def _lines(stream: BinaryIO, path: Path, n_bytes: int | None = None) -> Iterable[bytes]:
    """Whole lines, until `n_bytes` bytes have been read."""
    n_read = 0
    while n_bytes is None or n_read < n_bytes:
        line = stream.readline(_LINE_MAX_BYTES)
        if not line:
            return
        if len(line) == _LINE_MAX_BYTES:
            raise UsageError(f"{path} has a line of more than {_LINE_MAX_BYTES >> 20} MiB: this is no trace")
        n_read += len(line)
        yield line


def _text(line: bytes, path: Path, number: int) -> str:
    if b"\0" in line:
        raise UsageError(f"{path}, line {number}: this is no text")
    return str(line, "utf-8", "surrogateescape")
