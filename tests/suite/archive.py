"""The source archive of mpi4py, with its tests and demonstrations: found, or downloaded; never part of the project."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Final

VERSION: Final = "4.1.2"
VARIABLE: Final = "SMPY_MPI4PY_SOURCE"
_NAME: Final = f"mpi4py-{VERSION}"


class NotThereError(Exception):
    """The archive cannot be had; the message says why."""


def find_source(cache: Path) -> Path:
    """The unpacked archive: the folder that an environment variable names, else one in a cache.

    Parameters
    ----------
    cache : Path
        Folder that keeps the download.

    Raises
    ------
    NotThereError
        If there is none.
    """
    if named := os.environ.get(VARIABLE):
        if not Path(named, "test", "main.py").is_file():
            raise NotThereError(f"{VARIABLE}={named} is no unpacked source archive of mpi4py")
        return Path(named)
    source = cache / _NAME
    if not source.is_dir():
        with tarfile.open(_download(cache)) as archive:
            archive.extractall(cache, filter="data")
    return source


def _download(cache: Path) -> Path:
    archive = cache / f"{_NAME}.tar.gz"
    if archive.exists():
        return archive
    options = ["--quiet", "--no-binary", "mpi4py", "--no-deps", "--dest", str(cache)]
    command = [sys.executable, "-m", "pip", "download", *options, f"mpi4py=={VERSION}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not archive.exists():
        said = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise NotThereError(f"pip cannot download {_NAME}.tar.gz ({said}); {VARIABLE} can name an unpacked one")
    return archive
