"""New folders that appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree

from smpy.errors import UsageError
from smpy.records.files import complaint, scratch_of


@contextmanager
def new_folder_when_whole(path: Path) -> Iterator[Path]:
    """Yield a new folder to fill beside `path`; it becomes `path` at the end.

    Parameters
    ----------
    path : Path
        Folder to write, which does not exist yet.

    Yields
    ------
    Path
        Folder to fill.

    Raises
    ------
    UsageError
        If there is something at `path`, or the folder cannot be written; after any error nothing of it is left.
    """
    target = path.resolve()
    scratch = scratch_of(target)
    try:
        if target.exists():
            raise UsageError(f"cannot write {path}: it exists already; remove it, or name another one")
        scratch.mkdir()
        yield scratch
        os.replace(scratch, target)
    except OSError as error:
        raise UsageError(complaint(path, error)) from error
    finally:
        rmtree(scratch, ignore_errors=True)
