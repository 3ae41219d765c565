"""Requests of a caller to the process that performs a run, and the replies of that process."""

from __future__ import annotations

import os
import pickle
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from smpy.errors import SmpyError
from smpy.options import RunConfig

if TYPE_CHECKING:
    from smpy.records.summary import Summary

MEMORY_LIMIT: Final = struct.Struct("=Q")
"""Format of the message to the server beside descriptors: memory limit of the run in bytes; 0: no limit."""

N_DESCRIPTORS: Final = 5
"""Number of descriptors sent: control socket, request, standard input, output and error."""

BEGUN: Final = b"b"
"""Message that comes back through the control socket once the process of the run exists."""

ENDED: Final = struct.Struct("=i?")
"""Format of the message at the end of that process: its `waitpid` status, whether it held too much memory."""

Threads = str
"""Threads with which BLAS was loaded: their number, or "own", as many as the environment sets."""


@dataclass(frozen=True, slots=True)
class MadeProgram:
    """A file that was written for one run.

    Attributes
    ----------
    file : str
        Its path.
    name : str
        Name of the program in the run's record.
    home : str
        Folder whose modules are the program's own.
    private : tuple of str
        Packages of which each rank has its own copy.
    path : tuple of str
        Folders to search for modules after `sys.path`.
    args : tuple of str
        The program's arguments, for the record.
    is_function : bool
        Whether it calls a function, whose value each rank keeps.
    """

    file: str
    name: str
    home: str
    private: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    is_function: bool = False


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A run and its surroundings.

    Attributes
    ----------
    run : RunConfig
        The run.
    directory : str
        Working directory.
    environment : mapping of str to str
        All environment variables.
    made_program : MadeProgram or None
        The program, if it was made for this run.
    notes_reads : bool
        Whether the reply lists files and variables that were read.
    is_check : bool
        Whether the machine is only read, and nothing runs.
    """

    run: RunConfig
    directory: str
    environment: Mapping[str, str]
    made_program: MadeProgram | None = None
    notes_reads: bool = False
    is_check: bool = False


@dataclass(frozen=True, slots=True)
class RunInputs:
    """Files and environment variables that a run has read: when one differs, the run is a different one.

    Attributes
    ----------
    files : mapping of str to str
        Files, by path, and hashes (`smpy.runs.files_read`).
    variables : mapping of str to str
        Environment variables, by name, and hashes (`smpy.runs.variables_read`).
    """

    files: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reply:
    """End of a run.

    Attributes
    ----------
    exit_code : int
        The command's.
    failure : SmpyError or None
        Error that ended the run before all ranks had ended, or prevented its start.
    first_exit : str
        Rank with that exit code, if the run ended by itself; empty when the code is 0.
    summary : Summary or None
        Summary of the run; None: it did not begin.
    encoding : str
        Encoding of its output.
    trace : Path or None
        Folder of its trace.
    reads : RunInputs
        Files and variables that it has read, if the request has `notes_reads`.
    fingerprint : str
        Fingerprint of the machine and its costs, if it was only read.
    returned : tuple of bytes or None
        Pickled value of each rank's function, which is None if the rank ended before; empty if the program is a file.
    """

    exit_code: int
    failure: SmpyError | None = None
    first_exit: str = ""
    summary: Summary | None = None
    encoding: str = "utf-8"
    trace: Path | None = None
    reads: RunInputs = field(default_factory=RunInputs)
    fingerprint: str = ""
    returned: tuple[bytes | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Reply of a run that has not begun: it needs a process where BLAS was loaded with other threads."""

    threads: Threads


def write_value(descriptor: int, value: RunRequest | Reply | Elsewhere) -> None:
    """Write a value to a file, in place of its content."""
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    data = memoryview(pickle.dumps(value, pickle.HIGHEST_PROTOCOL))
    while data:
        data = data[os.write(descriptor, data) :]


def read_value(descriptor: int) -> RunRequest | Reply | Elsewhere:
    """Read the value that a file contains."""
    value = pickle.loads(read_bytes(descriptor))  # noqa: S301  # written by a process that runs what this one asked for
    assert isinstance(value, RunRequest | Reply | Elsewhere)
    return value


def read_bytes(descriptor: int) -> bytes:
    """Whole content of a file, from any position."""
    size = os.fstat(descriptor).st_size
    pieces, at = [], 0
    while at < size and (piece := os.pread(descriptor, size - at, at)):
        pieces.append(piece)
        at += len(piece)
    return b"".join(pieces)
