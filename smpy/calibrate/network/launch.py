"""Runs the measuring program under a real mpiexec."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Final

from smpy.errors import UsageError

_PROGRAM: Final = Path(__file__).with_name("measure.py")
_ALONE: Final = 3  # exit status of the program
_END_S: Final = 5.0
_LINES_SHOWN: Final = 6


def find_mpiexec(command: str | None) -> list[str]:
    """Words of the command that starts MPI programs.

    Parameters
    ----------
    command : str or None
        By the user; with options of its own, perhaps.

    Raises
    ------
    UsageError
        If there is none.
    """
    if command is not None:
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise UsageError(f"--mpiexec {command!r} is no command: {error}") from None
        launcher = shutil.which(words[0]) if words else None
        if launcher is None:
            raise UsageError(f"--mpiexec {command!r}: there is no such command")
        return [launcher, *words[1:]]
    beside = Path(sys.executable).with_name("mpiexec")
    launcher = str(beside) if beside.exists() else shutil.which("mpiexec")
    if launcher is None:
        raise UsageError(
            f"there is no mpiexec, neither beside {sys.executable} nor on PATH: pip install '.[mpi]' brings "
            "one; or name yours by --mpiexec, or the output of a benchmark by --from"
        )
    return [launcher]


def measure(
    raw: Path,
    plan: dict[str, int],
    mpiexec: Sequence[str],
    progress: Callable[[int, int], object] = lambda _n, _total: None,
    *,
    n_paired: int = 0,
) -> None:
    """Measure with two ranks; each time is in the raw file as soon as it is measured.

    Parameters
    ----------
    raw : Path
        The CSV file; an existing one is replaced, unless times of pairs are added to it.
    plan : dict of str to int
        Fields of the program's `Plan`.
    mpiexec : sequence of str
        The command that starts MPI programs.
    progress : callable
        Told how many of how many sizes are done.
    n_paired : int
        So many ranks exchange messages in pairs instead; their times are added to the raw file.

    Raises
    ------
    UsageError
        If mpi4py is not installed, or the program fails.
    """
    if find_spec("mpi4py") is None:
        raise UsageError(f"mpi4py is not installed for {sys.executable}: pip install mpi4py, or '.[mpi]'")
    words = [sys.executable, str(_PROGRAM), str(raw.resolve()), json.dumps(plan), *(["pairs"] if n_paired else [])]
    command = [*mpiexec, "-n", str(n_paired or 2), *words]
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        try:
            process = subprocess.Popen(  # noqa: S603 -- the user's own mpiexec
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,  # smpy handles Ctrl-C, and ends mpiexec itself
            )
        except OSError as error:
            raise UsageError(f"cannot run {mpiexec[0]}: {error.strerror or error}") from error
        with process:
            try:
                _follow(process, progress)
            except BaseException:
                _end(process)
                raise
        if process.returncode:
            raise UsageError(_complaint(process.returncode, command, errors))


def _follow(process: subprocess.Popen[str], progress: Callable[[int, int], object]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        with suppress(ValueError):
            done, total = map(int, line.split())
            progress(done, total)
    process.wait()


def _end(process: subprocess.Popen[str]) -> None:
    """End mpiexec, which ends its ranks; kill all of them if it does not."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)


def _complaint(code: int, command: Sequence[str], errors: IO[str]) -> str:
    errors.seek(0)
    error_lines = [line.rstrip() for line in errors if line.strip()]
    if any("the only one of its MPI_COMM_WORLD" in line for line in error_lines) or code == _ALONE:
        return (
            f"under {command[0]} each process is rank 0 of 1: it belongs to another MPI than mpi4py; name the right "
            "one by --mpiexec, or install mpi4py for it"
        )
    shown = "\n  ".join(error_lines[-_LINES_SHOWN:]) or "it printed no error"
    return f"{shlex.join(command[:-1])} ended with code {code}:\n  {shown}"
