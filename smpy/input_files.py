"""Files that the user names are read whole, or refused at once: no devices, directories or endless ones."""

from __future__ import annotations

import json
import os
import select
import stat
from pathlib import Path
from typing import Any, Final, NoReturn

_BYTES_MAX: Final = 256 << 20
_PIECE_BYTES: Final = 1 << 16  # from 128 KiB on, glibc's thresholds for the program's own arrays would move
_PIPE_WAIT_S: Final = 0.5  # for somebody to open its other end


def read_input(path: str | Path, what: str) -> bytes:
    """The content of a file; of a pipe, such as a shell's `<(command)`, what comes through it.

    Parameters
    ----------
    path : str or path
        The file.
    what : str
        Purpose of the file, for the message: "platform file".

    Raises
    ------
    OSError
        If it cannot be read, or is no file of a size that makes sense; `strerror` says why.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except ValueError:
        raise OSError(None, "its name has a null character") from None
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(None, "it is a directory")
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise OSError(None, f"it is a device: this is no {what}")
        if os.fstat(descriptor).st_size > _BYTES_MAX:
            raise OSError(None, f"it is larger than {_BYTES_MAX >> 20} MiB: this is no {what}")
        return _read_pipe(descriptor, what) if stat.S_ISFIFO(mode) else _read_all(descriptor, what)
    finally:
        os.close(descriptor)


def read_text(path: str | Path, what: str) -> str:
    """Text of a file, as `read_input` reads it, without the byte order mark that editors of Windows write.

    Raises
    ------
    OSError
        Under the conditions of `read_input`, and if it is not in UTF-8.
    """
    try:
        return read_input(path, what).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise OSError(None, "it is not a text file in UTF-8") from None


def read_plain_file(path: str | Path, what: str) -> bytes:
    """Content of a regular file; refuses pipes, which could keep the reader waiting.

    Parameters
    ----------
    path : str or path
        The file.
    what : str
        Purpose of the file, for the message: "trace".

    Raises
    ------
    OSError
        Under the conditions of `read_input`, and for a pipe or a socket.
    """
    if not stat.S_ISREG(mode := os.stat(path).st_mode) and not stat.S_ISDIR(mode):
        raise OSError(None, f"it is no plain file: this is no {what}")
    return read_input(path, what)


def strict_json(text: str | bytes) -> Any:
    """Parse JSON; refuses NaN and infinities, which Python's reader takes for numbers.

    Raises
    ------
    ValueError
        If it is no JSON.
    """
    return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _read_pipe(pipe: int, what: str) -> bytes:
    """Content of a pipe; waits for it, if the other end is open."""
    select.select([pipe], [], [], _PIPE_WAIT_S)
    try:
        first = os.read(pipe, _PIECE_BYTES)
        if not first:
            raise OSError(None, "it is a pipe, and nobody writes into it")
    except BlockingIOError:  # somebody may
        first = b""
    os.set_blocking(pipe, True)
    return first + _read_all(pipe, what)


def _read_all(descriptor: int, what: str) -> bytes:
    data = bytearray()
    while piece := os.read(descriptor, _PIECE_BYTES):
        data += piece
        if len(data) > _BYTES_MAX:
            raise OSError(None, f"more than {_BYTES_MAX >> 20} MiB come out of it: this is no {what}")
    return bytes(data)
