"""Files of the ranks' output (`--output-dir`): one a rank, with its standard output and standard error in order."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Final, TextIO

from smpy.emulate.modules.streams import Outlet, encoded
from smpy.errors import UsageError

_HELD_MAX: Final = 1 << 24  # bytes of all ranks between two writes
_EVERY_S: Final = 1.0  # real time between two writes, so that a reader sees a run go on
_NAME: Final = re.compile(r"rank-\d+\.txt")
_clock_s: Final = monotonic  # a program may replace it


class OutputFiles:
    """A file a rank in one folder. No file stays open: there may be more ranks than descriptors.

    Parameters
    ----------
    folder : Path
        Folder of the files, created if it does not exist. It must be empty or hold such files, which are removed.
    n_ranks : int
        Number of ranks; numbers in names have as many digits as the last one.

    Raises
    ------
    UsageError
        If the folder cannot be written, or holds something else.
    """

    def __init__(self, folder: Path, n_ranks: int) -> None:
        self._folder = folder.absolute()  # programs change folders
        self._digits = len(str(n_ranks - 1))
        self._held: dict[int, list[bytes]] = {}
        self._n_held = 0
        self._written_s = _clock_s()
        self._unfinished: dict[int, FileOutlet] = {}
        self._make_room(folder)

    def _make_room(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            there = sorted(folder.iterdir())
            other = next((path.name for path in there if not _NAME.fullmatch(path.name)), None)
            if other is not None:
                raise UsageError(f"{folder} holds {other!r}, which is no rank's output: name a new or an empty folder")
            for path in there:
                path.unlink()
            probe = self._path(0)
            probe.touch()
            probe.unlink()
        except OSError as error:
            message = f"cannot write the ranks' output to {folder}: {error.strerror or error}; name another folder"
            raise UsageError(message) from error

    def add(self, outlet: FileOutlet, rank: int, text: bytes) -> None:
        """Add text of a rank; first end a line that its other stream has left unfinished.

        Raises
        ------
        OSError
            If the files cannot be written.
        """
        pieces = self._held.setdefault(rank, [])
        if self._unfinished.get(rank, outlet) is not outlet:
            pieces.append(b"\n")
        pieces.append(text)
        if text.endswith(b"\n"):
            self._unfinished.pop(rank, None)
        else:
            self._unfinished[rank] = outlet
        self._n_held += len(text)
        if self._n_held > _HELD_MAX:
            self.write()

    def write_sometimes(self) -> None:
        """Write held text, if the last write is some time ago."""
        if _clock_s() - self._written_s > _EVERY_S:
            self.write()

    def write(self) -> None:
        """Write held text.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        held, self._held, self._n_held = self._held, {}, 0
        for rank, pieces in held.items():
            self._append(rank, b"".join(pieces))
        self._written_s = _clock_s()

    def forget(self) -> None:
        """Drop held text, in a child process: its parent writes it."""
        self._held = {}

    def _append(self, rank: int, text: bytes) -> None:
        with self._path(rank).open("ab", buffering=0) as file:
            while text:
                text = text[file.write(text) :]

    def _path(self, rank: int) -> Path:
        return self._folder / f"rank-{rank:0{self._digits}}.txt"


class FileOutlet(Outlet):
    """Outlet whose ranks write to files of their own; remarks of smpy's go to the stream.

    Parameters
    ----------
    stream : text stream
        The real stream.
    files : OutputFiles
        The files.
    """

    def __init__(self, stream: TextIO, files: OutputFiles) -> None:
        super().__init__(stream)
        self._files = files

    def finish(self) -> None:
        """Write all text that has come, at the end of the run."""
        super().finish()
        with self._undisturbed():
            self._try(self._files.write)

    def enter_child(self, stream: TextIO) -> None:
        """Write to another stream, in a child process."""
        super().enter_child(stream)
        self._files.forget()

    def _write(self, rank: int, text: str) -> None:
        if rank < 0:
            super()._write(rank, text)
        else:
            self._try(partial(self._files.add, self, rank, encoded(text, self.stream)))

    def _flush(self) -> None:
        super()._flush()
        self._try(self._files.write_sometimes)
