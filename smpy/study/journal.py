"""The journal of a study: each finished point is in it at once, and stays.

It is an SQLite file. A row is written in a transaction of its own or together with others that have just ended, so a
process that is killed loses none of those that `add` has returned from.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from smpy.errors import SmpyError, UsageError

_FORMAT: Final = 1
_BUSY_S: Final = 30.0  # for a process that is writing
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS origins (id INTEGER PRIMARY KEY, origin TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS finished (key TEXT PRIMARY KEY, origin INTEGER NOT NULL, entry TEXT NOT NULL);
"""


@dataclass(frozen=True, slots=True)
class Origin:
    """What a run came of, beside its command line.

    Attributes
    ----------
    files : mapping of str to str
        What it read, by path (relative to the study's folder where it lies in it), and hashes.
    versions : mapping of str to str
        Of smpy, numpy and Python.
    variables : mapping of str to str
        Environment variables that it read, by name, and hashes.
    """

    files: Mapping[str, str]
    versions: Mapping[str, str]
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entry:
    """What came of a point.

    Attributes
    ----------
    row : mapping
        Columns of the table: simulated ones, and those of this machine.
    error : str
        Why it failed; empty if it did not.
    output : str
        The end of what the program printed.
    over : {"", "time", "memory"}
        Which limit it went beyond.
    limit : float or None
        That limit, in seconds or bytes.
    is_measured : bool
        Whether computing was measured: another run would take another time.
    is_outside : bool
        Whether it failed by what may have gone: options or files that could not be read, a full disk.
    matches : mapping of str to (float or None)
        What regular expressions find in all that the program printed, where `output` is not all.
    """

    row: Mapping[str, Any]
    error: str = ""
    output: str = ""
    over: str = ""
    limit: float | None = None
    is_measured: bool = False
    is_outside: bool = False
    matches: Mapping[str, float | None] = field(default_factory=dict)


class Journal:
    """The journal of a study.

    Parameters
    ----------
    path : Path
        Its file; made if it is not there.

    Raises
    ------
    UsageError
        If it is no journal, or cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._told("open"):
            self._db = sqlite3.connect(path, timeout=_BUSY_S)
            (found,) = self._db.execute("PRAGMA user_version").fetchone()
            if found not in (0, _FORMAT):
                raise UsageError(f"{path} was written by another version of smpy: name another folder (--folder)")
            if not found:
                self._db.executescript(_TABLES)
                self._db.execute(f"PRAGMA user_version = {_FORMAT}")
                self._db.commit()

    def close(self) -> None:
        self._db.close()

    def add(self, entries: Iterable[tuple[str, Origin, Entry]]) -> None:
        """Write what came of points, by their keys; what was there of them goes.

        Raises
        ------
        SmpyError
            If there is no room; none of them is written then.
        """
        with self._told("write"), self._db:
            for key, origin, entry in entries:
                text = json.dumps(asdict(origin), sort_keys=True)
                self._db.execute("INSERT OR IGNORE INTO origins (origin) VALUES (?)", (text,))
                self._db.execute(
                    "INSERT OR REPLACE INTO finished (key, origin, entry) "
                    "VALUES (?, (SELECT id FROM origins WHERE origin = ?), ?)",
                    (key, text, json.dumps(asdict(entry))),
                )

    def get(self, key: str) -> tuple[Origin, Entry] | None:
        """What came of the point of this key; None: it has not finished."""
        with self._told("read"):
            found = self._db.execute(
                "SELECT origins.origin, entry FROM finished JOIN origins ON origins.id = finished.origin WHERE key = ?",
                (key,),
            ).fetchone()
        return None if found is None else (Origin(**json.loads(found[0])), Entry(**json.loads(found[1])))

    def entries(self) -> Iterator[tuple[str, Origin, Entry]]:
        """All that is in it."""
        with self._told("read"):
            origins = {
                number: Origin(**json.loads(text))
                for number, text in self._db.execute("SELECT id, origin FROM origins")
            }
            for key, origin, entry in self._db.execute("SELECT key, origin, entry FROM finished"):
                yield key, origins[origin], Entry(**json.loads(entry))

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            full = "; what has finished is kept: make room, and run the study again" if _is_full(error) else ""
            kind = SmpyError if full else UsageError
            raise kind(f"cannot {what} the journal {self.path}: {error}{full}") from error


def _is_full(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorname", "").startswith(("SQLITE_FULL", "SQLITE_IOERR"))
