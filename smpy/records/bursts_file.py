"""The file of a run's bursts: measured seconds of each rank's computing between two calls.

    smpy bursts 4 <bytes of the head>      a line
    head                                   a JSON object, filled up with spaces to its length; rewritten at the end
    block, block, ...                      each a JSON line, then compressed columns of the lengths that it names

A sequence holds the bursts of one rank, one kind, and one pair of places in the program where they begin and end. A
row stands for the next bursts of its sequence: `n_short` bursts that were too short to be charged, then one of
`seconds`, or none if this is 0. Columns of a block:

    sequences    uint32   new sequences: all ranks, then all places of begin, all places of end, and all kinds
    sequence     uint32   of each row; sequences are numbered in the order in which they appear
    n_short      uint32
    seconds      float64

The JSON line of a block has these keys, too. `places` are new places ("program.py:12"), numbered in the order in which
they appear; number 0 is outside the program. `spawned` are new ranks that others have spawned, each with the rank that
spawned it and how many ranks that one had spawned before; they are numbered after the run's first ranks. `sources` are
the SHA-256 of the program's files.

A row takes 16 bytes before compression. Blocks can be read however the recording ended; the head says whether it was
completed. The head's `crc32` covers its other keys; that of a block's line covers its other keys and the columns.
Files of earlier versions lack the bursts in which calls pickle objects, and are refused.
"""

from __future__ import annotations

import json
import os
import sys
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from math import inf
from pathlib import Path
from typing import Any, BinaryIO, Final, NoReturn

from smpy.errors import UsageError
from smpy.records.files import complaint, scratch_of, signals_held

MAGIC: Final = b"smpy bursts "
VERSION: Final = 4
_ROWS_MAX: Final = 1 << 15  # rows of a block
_N_COLUMNS: Final = 4
_NUMBERS_MAX: Final = 1 << 22  # numbers of a column: no more are unpacked, whatever the file says
_SPARE_BYTES: Final = 1024  # spare bytes of the head for entries at the end of a recording
_COMPRESSION: Final = 1
_UNDER_WAY: Final = "under way"
_WHOLE: Final = "whole"

# The original function: during a run, the patched `os.write` looks up the running rank.
_write_some: Final = os.write


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """The run that recorded a file of bursts.

    Attributes
    ----------
    program : str
        Name of its file, or of the module.
    args : tuple of str
        The program's arguments.
    n_ranks : int
        Size of the world.
    """

    program: str
    args: tuple[str, ...]
    n_ranks: int


class BurstsWriter:
    """Writes bursts while they are measured, into a file beside the final one.

    If writing fails, as on a full disk, the blocks written so far stay, and nothing more is added.

    Parameters
    ----------
    path : Path
        Final place of the file.
    run : RecordedRun
        Run that is recorded.

    Attributes
    ----------
    n_bursts : int
        Number of bursts added that are longer than 0.
    trouble : OSError or None
        Reason why it no longer writes; None while it does.

    Raises
    ------
    UsageError
        If the file cannot be written.
    """

    def __init__(self, path: Path, run: RecordedRun) -> None:
        self.path: Final = path
        self.n_bursts = 0
        self.trouble: OSError | None = None
        self._head: Final[dict[str, Any]] = {
            "program": run.program,
            "args": list(run.args),
            "ranks": run.n_ranks,
            "byte_order": sys.byteorder,
        }
        self._head_bytes = len(json.dumps(self._head)) + _SPARE_BYTES
        self._first_line: Final = MAGIC + b"%d %d\n" % (VERSION, self._head_bytes)
        self._n_sequences = self._n_written = 0
        self._sequences: Final = tuple(array("I") for _ in range(4))
        self._rows: Final = array("I"), array("I"), array("d")
        self._places: list[str] = []
        self._spawned: list[tuple[int, int]] = []
        self._sources: dict[str, str] = {}
        if path.exists() and not path.is_file():
            raise UsageError(f"cannot write {path}: bursts go to a plain file; name one")
        try:
            self._target: Final = path.resolve()
            self._scratch: Final = scratch_of(self._target)
            flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC
            self._descriptor = os.open(self._scratch, flags, 0o666)
            self._end = 0
            self._append(self._first_line + self._head_text(_UNDER_WAY))
        except OSError as error:
            raise UsageError(complaint(path, error)) from error

    def add_rank(self, parent: int, ordinal: int) -> None:
        """Note the next rank started by rank `parent`, which had started `ordinal` ranks before."""
        self._spawned.append((parent, ordinal))

    def add_sequence(self, rank: int, begins: int, ends: int, kind: int) -> int:
        """Add a sequence and return its number."""
        for column, value in zip(self._sequences, (rank, begins, ends, kind), strict=True):
            column.append(value)
        self._n_sequences += 1
        return self._n_sequences - 1

    def add_place(self, text: str) -> None:
        """Add the next place."""
        self._places.append(text)

    def add_source(self, place: str, file: Path) -> None:
        """Note the checksum of a file of the program; do nothing if the file does not exist."""
        with suppress(OSError):
            self._sources[place] = hash_of(file)

    def add(self, sequence: int, n_short: int, seconds: float) -> None:
        """Add a burst, and the number of short ones before it in its sequence."""
        of_row, short, took_s = self._rows
        of_row.append(sequence)
        short.append(n_short)
        took_s.append(seconds)
        self.n_bursts += seconds > 0
        if len(of_row) >= _ROWS_MAX:
            self.flush()

    def flush(self) -> None:
        """Write the bursts added since the last call."""
        if self.trouble is None:
            columns = [b"".join(column.tobytes() for column in self._sequences), *(row.tobytes() for row in self._rows)]
            packed = [zlib.compress(column, _COMPRESSION) for column in columns]
            head = {
                "bytes": [len(column) for column in packed],
                "n_sequences": len(self._sequences[0]),
                "n_rows": len(self._rows[0]),
                "places": self._places,
                "spawned": self._spawned,
                "sources": self._sources,
            }
            try:
                self._append(b"".join([json.dumps(head | {"crc32": _sum_of(head, packed)}).encode(), b"\n", *packed]))
                self._n_written = self.n_bursts
            except OSError as error:
                self.trouble = error
        for numbers in (*self._sequences, *self._rows[:2]):
            del numbers[:]
        del self._rows[2][:]
        self._places, self._spawned, self._sources = [], [], {}

    def close(self, cut_short: str = "") -> None:
        """Write the rest, and move the file to its final place.

        Parameters
        ----------
        cut_short : str, optional
            Why the run ended before its end.

        Raises
        ------
        UsageError
            If not all could be written. The file then holds the bursts written so far, and says that it was cut short.
        """
        with signals_held():
            self.flush()
            if self.trouble is not None:
                cut_short = f"it could not be written: {self.trouble.strerror}"
            try:
                self._write_at(len(self._first_line), self._head_text(cut_short or _WHOLE))
                os.replace(self._scratch, self._target)
            except OSError as error:
                self.trouble = error
            finally:
                os.close(self._descriptor)
        if self.trouble is not None:
            raise UsageError(
                f"{complaint(self.path, self.trouble)}; {self._n_written:,} of {self.n_bursts:,} bursts are there"
            )

    def _head_text(self, status: str) -> bytes:
        """The head, filled up to its fixed length; a long status is cut."""
        head = self._head | {"status": status[: _SPARE_BYTES // 8], "bytes": self._end, "bursts": self._n_written}
        return json.dumps(head | {"crc32": _sum_of(head)}).ljust(self._head_bytes - 1).encode() + b"\n"

    def _append(self, data: bytes) -> None:
        """Write all bytes at the end, or none."""
        with signals_held():
            try:
                self._write_at(self._end, data)
            except OSError:
                with suppress(OSError):
                    os.ftruncate(self._descriptor, self._end)
                raise
            self._end += len(data)

    def _write_at(self, place: int, data: bytes) -> None:
        os.lseek(self._descriptor, place, os.SEEK_SET)
        while data:
            data = data[_write_some(self._descriptor, data) :]


def _sum_of(head: Mapping[str, Any], columns: Iterable[bytes] = ()) -> int:
    """Checksum of a head, without its own entry, and of the bytes after it."""
    total = zlib.crc32(json.dumps({key: head[key] for key in head if key != "crc32"}, sort_keys=True).encode())
    for column in columns:
        total = zlib.crc32(column, total)
    return total


@dataclass(slots=True)
class RecordedBursts:
    """Content of a file of bursts.

    Attributes
    ----------
    path : Path
        The file.
    run : RecordedRun
        Run that was recorded.
    cut_short : str
        Why the recording ended before its run; empty if it did not.
    places : list of str
        By number.
    sources : dict of str to str
        SHA-256 of the program's files, by their place.
    sequences : list of (rank, begins, ends, kind)
        By number.
    spawned : list of (rank, ordinal)
        The rank that spawned each further rank, and how many it had spawned before.
    rows : tuple of array
        Sequence, n_short and seconds of each row, in the order of the recording.
    sha256 : str
        Checksum of the file.
    """

    path: Path
    run: RecordedRun
    cut_short: str
    places: list[str] = field(default_factory=lambda: [""])
    sources: dict[str, str] = field(default_factory=dict)
    sequences: list[tuple[int, int, int, int]] = field(default_factory=list)
    spawned: list[tuple[int, int]] = field(default_factory=list)
    rows: tuple[array[int], array[int], array[float]] = field(
        default_factory=lambda: (array("I"), array("I"), array("d"))
    )
    sha256: str = ""


def read_bursts(path: Path) -> RecordedBursts:
    """Read a file of bursts.

    Raises
    ------
    UsageError
        If it is no such file, or has changed since it was written.
    """
    if path.exists() and not path.is_file():
        raise UsageError(f"cannot read bursts {path}: it is no plain file")
    try:
        with path.open("rb") as file:
            return _read(path, file)
    except OSError as error:
        raise UsageError(f"cannot read bursts {path}: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError, zlib.error) as error:
        raise UsageError(f"bursts {path}: the file is damaged; record again with --compute record:FILE") from error


def _read(path: Path, file: BinaryIO) -> RecordedBursts:
    first = file.readline(64)
    if not first.startswith(MAGIC):
        raise UsageError(f"{path} is no file of bursts: --compute record:FILE writes one")
    version, head_bytes = map(int, first[len(MAGIC) :].split())
    if version != VERSION:
        raise UsageError(f"bursts {path}: it is of another version of smpy ({version}): record again")
    n_bytes = os.fstat(file.fileno()).st_size
    head = json.loads(file.read(min(head_bytes, n_bytes)))
    _check_head(head)
    if head["crc32"] != _sum_of(head):
        raise ValueError("head")
    if head["byte_order"] != sys.byteorder:
        raise UsageError(f"bursts {path}: a machine of another byte order has written it: record again")
    status = head["status"]
    if status != _UNDER_WAY and n_bytes != head["bytes"]:
        _truncated(path)
    run = RecordedRun(head["program"], tuple(head["args"]), head["ranks"])
    cut_short = {_WHOLE: "", _UNDER_WAY: "its run was killed"}.get(status, status)
    recorded = RecordedBursts(path, run, cut_short)
    for block, columns in _blocks(path, file, may_end=status == _UNDER_WAY):
        recorded.places += block["places"]
        recorded.spawned += _spawned(block["spawned"])
        recorded.sources.update(block["sources"])
        numbers = array("I", columns[0])
        n = block["n_sequences"]
        recorded.sequences += zip(*(numbers[i * n : (i + 1) * n] for i in range(4)), strict=True)
        of_row, n_short, seconds = recorded.rows
        of_row.frombytes(columns[1])
        n_short.frombytes(columns[2])
        seconds.frombytes(columns[3])
    _check(recorded)
    file.seek(0)
    recorded.sha256 = _hash(file)
    return recorded


def _check_head(head: Any) -> None:
    if not all(isinstance(head[name], str) for name in ("program", "status", "byte_order")):
        raise ValueError("texts")
    if not _is_count(head["ranks"]) or not all(isinstance(arg, str) for arg in head["args"]):
        raise ValueError("ranks")


def _check_block(block: Any) -> None:
    if not all(_is_count(block[name]) and block[name] <= _NUMBERS_MAX for name in ("n_sequences", "n_rows")):
        raise ValueError("lengths")
    if len(block["bytes"]) != _N_COLUMNS or not all(map(_is_count, block["bytes"])):
        raise ValueError("columns")
    texts = [*block["places"], *block["sources"], *block["sources"].values()]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("places")


def _spawned(pairs: Any) -> Iterator[tuple[int, int]]:
    for parent, ordinal in pairs:
        if not _is_count(parent) or not _is_count(ordinal):
            raise ValueError("spawned")
        yield parent, ordinal


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 32


def _blocks(path: Path, file: BinaryIO, *, may_end: bool) -> Iterator[tuple[Mapping[str, Any], list[bytes]]]:
    """Each block's line and columns; for a recording that was killed, only the complete blocks."""
    n_bytes = os.fstat(file.fileno()).st_size
    while line := file.readline():
        if not line.endswith(b"\n"):
            break
        block = json.loads(line)
        _check_block(block)
        if file.tell() + sum(block["bytes"]) > n_bytes:
            break
        packed = [file.read(length) for length in block["bytes"]]
        if block["crc32"] != _sum_of(block, packed):
            raise ValueError("block")
        n, m = block["n_sequences"], block["n_rows"]
        yield block, [_unpacked(*each) for each in zip(packed, (16 * n, 4 * m, 4 * m, 8 * m), strict=True)]
    else:
        return
    if not may_end:
        _truncated(path)


def _unpacked(column: bytes, n_bytes: int) -> bytes:
    """A column of exactly `n_bytes` bytes; unpacks no more than that."""
    unpack = zlib.decompressobj()
    data = unpack.decompress(column, n_bytes + 1)
    if len(data) != n_bytes or not unpack.eof:
        raise ValueError("length")
    return data


def _truncated(path: Path) -> NoReturn:
    raise UsageError(f"bursts {path}: the file is not as long as it was written; copy it again, or record again")


def _check(recorded: RecordedBursts) -> None:
    """Refuse numbers of places, ranks and sequences that do not exist."""
    of_row, short, took_s = recorded.rows
    n_places, n_ranks = len(recorded.places), recorded.run.n_ranks
    n_all_ranks = n_ranks + len(recorded.spawned)
    if any(parent >= number for number, (parent, _) in enumerate(recorded.spawned, n_ranks)):
        raise ValueError("spawned")
    if len(set(recorded.spawned)) != len(recorded.spawned):
        raise ValueError("spawned")
    if not len(of_row) == len(short) == len(took_s) or max(of_row, default=-1) >= len(recorded.sequences):
        raise ValueError("rows")
    if any(own >= n_all_ranks or max(begins, ends) >= n_places for own, begins, ends, _ in recorded.sequences):
        raise ValueError("sequences")
    if not all(n > 0 if seconds == 0 else 0 < seconds < inf for n, seconds in zip(short, took_s, strict=True)):
        raise ValueError("seconds")


def hash_of(file: Path) -> str:
    """SHA-256 of a file's content."""
    with file.open("rb") as opened:
        return _hash(opened)


def _hash(file: BinaryIO) -> str:
    digest = sha256()
    while piece := file.read(1 << 20):
        digest.update(piece)
    return digest.hexdigest()
