"""Journal of a study: stores each point as soon as it has finished.

It is an SQLite file. Rows of points that have just ended are written in one transaction: once `add` has returned, a
killed process loses none of them. Each row has a checksum; the readable part of a damaged file is kept. The reader
checks all of it, as the file may come from somebody else.

Keys are hashes of runs.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from smpy.errors import SmpyError, UsageError
from smpy.study.cost import is_parts_record

_FORMAT: Final = 3
_BUSY_S: Final = 30.0  # longest wait for another process that is writing
_LENGTH_MAX: Final = 64 << 20  # bytes of a row
_TABLES: Final = (
    "CREATE TABLE origins (id INTEGER PRIMARY KEY, origin TEXT NOT NULL UNIQUE)",
    "CREATE TABLE finished (key TEXT PRIMARY KEY, origin INTEGER NOT NULL, entry TEXT NOT NULL, checksum TEXT)",
)
_ROWS: Final = "SELECT finished.rowid, key, finished.origin, entry, checksum FROM finished"


@dataclass(frozen=True, slots=True)
class RunOrigin:
    """Files, versions and variables that a run depends on, beside its options.

    Attributes
    ----------
    files : mapping of str to str
        Hashes of files that it read, by path (relative to the study's folder if inside it).
    versions : mapping of str to str
        Versions of smpy, numpy and Python.
    variables : mapping of str to str
        Hashes of environment variables that it read, by name.
    """

    files: Mapping[str, str]
    versions: Mapping[str, str]
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entry:
    """Outcome of a point.

    Attributes
    ----------
    row : mapping
        Columns of the table: simulated ones, and those of this machine.
    error : str
        Reason of its failure; empty if it did not fail.
    output : str
        The end of what the program printed.
    over : {"", "time", "memory"}
        Limit that it exceeded; empty: none.
    limit : float or None
        Value of that limit, in seconds or bytes.
    is_measured : bool
        Whether computing was measured: another run would take another time.
    is_outside : bool
        Whether it failed for a reason that may be gone: options or files that could not be read, a full disk.
    matches : mapping of str to (float or None)
        Numbers that regular expressions find in all that the program printed, if `output` is not all of it.
    run : str
        The run in JSON (`smpy.runs.run_text`).
    """

    row: Mapping[str, Any]
    error: str = ""
    output: str = ""
    over: str = ""
    limit: float | None = None
    is_measured: bool = False
    is_outside: bool = False
    matches: Mapping[str, float | None] = field(default_factory=dict)
    run: str = ""


class Journal:
    """The journal of a study.

    Parameters
    ----------
    path : Path
        Its file; created if it is missing.

    Attributes
    ----------
    damage : str
        Description of the damage seen so far; empty: none.

    Raises
    ------
    UsageError
        If another version has written it, or it cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damage = ""
        self._format = 0
        if path.exists() and not path.is_file():
            raise UsageError(f"{path} is no plain file: move it away, or name another folder (--folder)")
        with self._naming_errors("open"):
            self._db = sqlite3.connect(path, timeout=_BUSY_S)
            try:
                self._open()
            except sqlite3.Error as error:
                if not _is_damage(error):
                    self._db.close()
                    raise
                self._lose(f"nothing of it can be read ({error})")
            except UsageError:
                self._db.close()
                raise

    def _open(self) -> None:
        db = self._db
        db.text_factory = bytes
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LENGTH_MAX)
        db.execute("PRAGMA trusted_schema = OFF")
        db.execute("PRAGMA cell_size_check = ON")
        self._format, tables = self._layout()
        if self._format not in (0, _FORMAT):
            raise UsageError(f"{self.path} was written by another version of smpy: name another folder (--folder)")
        if not self._format and not tables:
            self._format, tables = self._created()
        if tables != [text.encode() for text in _TABLES]:
            self._format = 0
            self._lose("nothing of it can be read (its tables are not those of a journal)")

    def _layout(self) -> tuple[int, list[bytes]]:
        """Number of the format, and the SQL statements that created the tables."""
        query = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid"
        (number,) = self._db.execute("PRAGMA user_version").fetchone()
        return number, [text for (text,) in self._db.execute(query)]

    def _created(self) -> tuple[int, list[bytes]]:
        """Create the tables, all or none and only once, and return the layout."""
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            if self._layout() == (0, []):
                for table in _TABLES:
                    self._db.execute(table)
                self._db.execute(f"PRAGMA user_version = {_FORMAT}")
        return self._layout()

    def close(self) -> None:
        self._db.close()

    def add(self, entries: Iterable[tuple[str, RunOrigin, Entry]]) -> None:
        """Write the entries of points by their keys; replaces earlier ones.

        Raises
        ------
        SmpyError
            If there is no room; none of them is written then.
        """
        with self._naming_errors("write"), self._db:
            for key, origin, entry in entries:
                text, outcome = json.dumps(asdict(origin), sort_keys=True), json.dumps(asdict(entry))
                self._db.execute("INSERT OR IGNORE INTO origins (origin) VALUES (?)", (text,))
                self._db.execute(
                    "INSERT OR REPLACE INTO finished (key, origin, entry, checksum) "
                    "VALUES (?, (SELECT id FROM origins WHERE origin = ?), ?, ?)",
                    (key, text, outcome, _checksum(key.encode(), text.encode(), outcome.encode())),
                )

    def get(self, key: str) -> tuple[RunOrigin, Entry] | None:
        """Outcome of the point with this key; None: it has not finished, or its row cannot be read."""
        with self._naming_errors("read"):
            if not self._format:
                return None
            row = self._db.execute(f"{_ROWS} WHERE key = ?", (key,)).fetchone()
            if row is None:
                return None
            origin = self._origin(row[2])
        try:
            return _read_row(row, origin)[1:]
        except ValueError:
            return None

    def entries(self) -> Iterator[tuple[str, RunOrigin, Entry]]:
        """Rows that can be read."""
        if not self._format:
            return
        with self._naming_errors("read"):
            origins = dict(self._all("SELECT id, origin FROM origins"))
            n_lost = 0
            for row in self._all(_ROWS):
                origin = origins[row[2]] if row[2] in origins else self._origin(row[2])  # may have been added meanwhile
                try:
                    read = _read_row(row, origin)
                except ValueError:
                    n_lost += 1
                else:
                    yield read
        if n_lost:
            self._lose(f"{n_lost:,} finished point{'s' * (n_lost != 1)} cannot be read")

    def _origin(self, number: Any) -> Any:
        try:
            row = self._db.execute("SELECT origin FROM origins WHERE id = ?", (number,)).fetchone()
        except sqlite3.Error as error:
            if not _is_damage(error):
                raise
            return None
        return row and row[0]

    def check(self) -> None:
        """Check the whole file; sets `damage`."""
        try:
            if self._format:
                (answer,) = self._db.execute("PRAGMA integrity_check(1)").fetchone()
                if answer != b"ok":
                    self._lose(answer.decode(errors="replace").splitlines()[-1])
        except sqlite3.Error as error:
            if not _is_damage(error):
                raise
            self._lose(str(error))

    def repaired(self) -> Journal:
        """Journal with the rows that can be read; keeps the damaged file beside it.

        Raises
        ------
        UsageError
            If the new journal cannot be written.
        """
        scratch = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        kept = self.path.with_name(f"{self.path.name}.damaged")
        try:
            scratch.unlink(missing_ok=True)
            with closing(Journal(scratch)) as new:
                new.add(self.entries())
            self.close()
            os.replace(self.path, kept)
            os.replace(scratch, self.path)
        except OSError as error:
            raise UsageError(f"cannot write the journal {self.path}: {error.strerror}") from error
        finally:
            with suppress(OSError):
                scratch.unlink()
        repaired = Journal(self.path)
        repaired.damage = f"{self.damage}; the damaged file is kept as {kept.name}"
        return repaired

    def _all(self, query: str) -> Iterator[Any]:
        """Rows of a query; around an unreadable part, the rows before it, then those after it in reverse order."""
        seen = set()
        for order in ("", " ORDER BY rowid DESC"):
            try:
                for row in self._db.execute(query + order):
                    if row[0] in seen:
                        return
                    seen.add(row[0])
                    yield row
            except sqlite3.Error as error:
                if not _is_damage(error):
                    raise
                self._lose(f"a part of it cannot be read ({error})")
            else:
                return

    def _lose(self, what: str) -> None:
        if not self.damage:
            self.damage = f"{self.path} is damaged: {what}"

    def variables(self) -> set[str]:
        """Names of all environment variables that the journal's runs have read."""
        return {name for _, origin, _ in self.entries() for name in origin.variables}

    @contextmanager
    def _naming_errors(self, what: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            full = "; what has finished is kept: make room, and run the study again" if _is_full(error) else ""
            kind = SmpyError if full else UsageError
            raise kind(f"cannot {what} the journal {self.path}: {error}{full}") from error


def _is_full(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorname", "").startswith(("SQLITE_FULL", "SQLITE_IOERR"))


def _is_damage(error: sqlite3.Error) -> bool:
    """Whether the file is damaged, rather than busy, protected or on a full disk."""
    name = getattr(error, "sqlite_errorname", "")
    wrong = (
        "SQLITE_CORRUPT",
        "SQLITE_NOTADB",
        "SQLITE_ERROR",
        "SQLITE_FORMAT",
        "SQLITE_TOOBIG",
        "SQLITE_IOERR_SHORT_READ",
    )
    return name.startswith(wrong)


# ---- rows ----


def _checksum(key: bytes, origin: bytes, entry: bytes) -> str:
    return sha256(b"\0".join((key, origin, entry))).hexdigest()


def _read_row(row: tuple[Any, ...], origin: Any) -> tuple[str, RunOrigin, Entry]:
    """Check and decode a row.

    Raises
    ------
    ValueError
        If it has changed since it was written.
    """
    _, key, _, entry, checksum = row
    if not (isinstance(key, bytes) and isinstance(origin, bytes) and isinstance(entry, bytes)):
        raise ValueError("a text is missing")  # noqa: TRY004  # the file is wrong, not an argument
    if checksum is not None and checksum != _checksum(key, origin, entry).encode():
        raise ValueError("it has changed")
    try:
        return key.decode(), RunOrigin(**_checked(origin, _ORIGIN)), Entry(**_checked(entry, _ENTRY))
    except (TypeError, RecursionError) as error:
        raise ValueError("it lacks a part") from error


def _checked(text: bytes, rules: Mapping[str, Callable[[Any], bool]]) -> dict[str, Any]:
    content = json.loads(text)
    if not isinstance(content, dict) or not all(key in rules and rules[key](value) for key, value in content.items()):
        raise ValueError("it has a wrong key or value")
    return content


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1 << 1000)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _table_of(rule: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(map(rule, value.values()))


def _is_row(value: Any) -> bool:
    """Whether a value is a row of a table; a row with `parts` has the columns that pricing needs."""
    if not isinstance(value, dict) or (value.get("parts") is not None and None in map(value.get, _PRICED)):
        return False
    return all(_COLUMNS.get(name, _is_number)(each) for name, each in value.items())


_PRICED: Final = ("makespan_s", "compute_share", "ranks")
_COLUMNS: Final = {
    "parts": lambda value: value is None or (_is_text(value) and is_parts_record(value)),
    "is_reused": _is_bool,
}
_ORIGIN: Final = {"files": _table_of(_is_text), "versions": _table_of(_is_text), "variables": _table_of(_is_text)}
_ENTRY: Final[dict[str, Callable[[Any], bool]]] = {
    "row": _is_row,
    "error": _is_text,
    "output": _is_text,
    "over": lambda value: value in ("", "time", "memory"),
    "limit": _is_number,
    "is_measured": _is_bool,
    "is_outside": _is_bool,
    "matches": _table_of(_is_number),
    "run": _is_text,
}
