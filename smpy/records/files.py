"""Atomic writing of record files: they appear whole or not at all."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from smpy.errors import UsageError


def check_writable(path: Path) -> None:
    """Check before a long run that its record can be written.

    Parameters
    ----------
    path : Path
        File that `write_whole` will be asked to write.

    Raises
    ------
    UsageError
        If the folder does not exist or refuses a new file, or if the file itself is protected.
    """
    try:
        if path.is_dir():
            raise IsADirectoryError(None, "it is a folder")
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError(None, "it is write-protected")
        if not _is_stream(path):
            scratch = scratch_of(path.resolve())
            scratch.open("w").close()
            scratch.unlink()
    except OSError as error:
        raise UsageError(complaint(path, error)) from error


def write_whole(path: Path, text: str) -> None:
    """Write `text` to a file beside `path`, then move it there.

    Parameters
    ----------
    path : Path
        File to write; an existing one is replaced. A pipe or a device is written to directly.
    text : str
        All of it.

    Raises
    ------
    UsageError
        If the disk is full, or the file cannot be written; `path` is then as it was.
    """
    data = text.encode(errors="backslashreplace")  # names may come from any bytes of a shell
    try:
        if _is_stream(path):
            _write(str(path), os.O_APPEND, data)
            return
        target = path.resolve()
        scratch = scratch_of(target)
        with signals_held():
            try:
                _write(str(scratch), os.O_CREAT | os.O_TRUNC, data)
                os.replace(scratch, target)
            except BaseException:
                with suppress(OSError):
                    os.unlink(scratch)
                raise
    except OSError as error:
        raise UsageError(complaint(path, error)) from error


@contextmanager
def in_place_when_whole(path: Path) -> Iterator[Path]:
    """Yield a file to write beside `path`, for content too long for memory; it replaces `path` at the end.

    Parameters
    ----------
    path : Path
        File to write; an existing one is replaced.

    Yields
    ------
    Path
        File to open and write.

    Raises
    ------
    UsageError
        If it cannot be written; after any error `path` is as it was.
    """
    check_writable(path)
    if _is_stream(path):
        yield path
        return
    target = path.resolve()
    scratch = scratch_of(target)
    try:
        yield scratch
        os.replace(scratch, target)
    except OSError as error:
        raise UsageError(complaint(path, error)) from error
    finally:
        with suppress(OSError):
            os.unlink(scratch)


def _write(path: str, flags: int, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | flags, 0o666)
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    finally:
        os.close(descriptor)


@contextmanager
def signals_held() -> Iterator[None]:
    """Block signals that end the process, so that a file is either complete or absent."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _is_stream(path: Path) -> bool:
    """Whether a path is a pipe or a device; /dev/stdout counts even if redirected to a file."""
    return path.exists() and (not path.is_file() or path.absolute().is_relative_to("/dev"))


def scratch_of(target: Path) -> Path:
    """Temporary path of a file, while it is written."""
    return target.with_name(f".{target.name}.{os.getpid()}")


def complaint(path: Path, error: OSError) -> str:
    """Error message for a file that cannot be written."""
    return f"cannot write {path}: {error.strerror or error}; name a file in a folder that takes it"
