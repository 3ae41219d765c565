"""Files of a time-independent trace, which SimGrid's `smpirun -trace-ti` writes, read piece by piece.

A main file lists one file per rank, in order; if it lists a single file, that file has the lines of all ranks. Files
are read as ranks need them; from a single file, actions of other ranks are held until their turn.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from smpy.engine.trace import dtype_of
from smpy.errors import UsageError
from smpy.importers.time_independent_actions import ROW_FIELDS, Actions, Row

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PIECES_BYTES: Final = 16 << 20  # size of all ranks' pieces together
_PIECE_MIN_BYTES, _PIECE_MAX_BYTES = 4096, 1 << 20
_LINE_MAX_BYTES: Final = 64 << 20
_LINE_NUMBER_MAX: Final = (1 << 31) - 1  # of a row
_HEAD_BYTES: Final = 4096
_NAME_SHOWN_MAX: Final = 200
_RANK_DIGITS_MAX: Final = 18


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

    def place(self, rank: int, line: int) -> str:
        """File and line of an action of a rank."""
        return f"{self.files[0 if self.is_shared else rank]}, line {line}"


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
        pieces = iter(lambda: _piece(stream, path, _PIECE_MAX_BYTES), b"")
        lines = [line.strip() for piece in pieces for line in _text(piece, path, 0).split("\n")]
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


def is_main_file(path: Path, head: bytes) -> bool:
    """Whether a file lists files of which the first one begins with an action of a rank; `head` is its begin."""
    names = [line for line in head.splitlines() if line.strip() and not line.lstrip().startswith(b"#")]
    if not names or b"\0" in names[0]:
        return False
    try:
        with _opened(_found(path, str(names[0].strip(), "utf-8", "surrogateescape"))) as stream:
            words = stream.read(_HEAD_BYTES).split()
    except (UsageError, OSError):
        return False
    return len(words) > 1 and (words[0].startswith(b"#") or (words[0].isdigit() and words[1].isalpha()))


def _found(main: Path, name: str) -> Path:
    with suppress(OSError, ValueError):  # no name of a file
        for path in (Path(name), main.parent / name):
            if path.is_file():
                return path
    raise UsageError(f"{main} lists {name[:_NAME_SHOWN_MAX]!r}, which is no file here, nor beside it")


class RowReader:
    """Reader of rows from the files, piece by piece.

    Parameters
    ----------
    trace : TimeIndependentTrace
        The files.
    actions : sequence of Actions
        Converter of each rank's lines.

    Attributes
    ----------
    n_tests : int
        Number of tests of requests.
    n_bytes : int
        Bytes that have been read.
    """

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
        self.n_tests = self.n_bytes = 0

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
            for line in _text(_piece(stream, path, self._piece_bytes), path, line_number).split("\n"):
                line_number += 1
                words = line.split()
                if not words or words[0].startswith("#"):
                    continue
                try:
                    rank = self._rank(words)
                    if 0 <= rank - first < len(readers):
                        reader = readers[rank - first]
                        reader.line = min(line_number, _LINE_NUMBER_MAX)
                        reader.add(words[1:])
                except UsageError as error:
                    raise UsageError(f"{path}, line {line_number}: {error}") from None
            line_number -= 1  # a piece ends with the end of a line
            self.n_bytes += stream.tell() - self._place[number]
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
        if not words[0].isdecimal() or len(words[0]) > _RANK_DIGITS_MAX:
            raise UsageError(
                f"{words[0][:_NAME_SHOWN_MAX]!r} is no rank: a line is RANK ACTION ..., such as `0 compute 1e9`"
            )
        rank = int(words[0])
        if rank >= n:
            raise UsageError(f"it is of rank {rank}, and there are ranks 0 to {n - 1}")
        if len(words) < 2:
            raise UsageError("it has a rank, and no action")
        self.n_tests += words[1] == "test"
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


def _piece(stream: BinaryIO, path: Path, n_bytes: int) -> bytes:
    """Whole lines of about `n_bytes` bytes together."""
    piece = stream.read(n_bytes)
    if piece and not piece.endswith(b"\n"):
        rest = stream.readline(_LINE_MAX_BYTES)
        if len(rest) == _LINE_MAX_BYTES:
            raise UsageError(f"{path} has a line of more than {_LINE_MAX_BYTES >> 20} MiB: this is no trace")
        piece += rest
    return piece


def _text(piece: bytes, path: Path, n_lines_before: int) -> str:
    if b"\0" in piece:
        number = n_lines_before + 1 + piece[: piece.index(b"\0")].count(b"\n")
        raise UsageError(f"{path}, line {number}: this is no text")
    return str(piece, "utf-8", "surrogateescape")
