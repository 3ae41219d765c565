"""Cleans up after ranks that did not end: unwritten text in files, threads, child processes."""

from __future__ import annotations

import gc
import io
import os
import stat
import sys
import threading
from contextlib import suppress
from typing import Final, NoReturn

_FILES: Final = (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)


def flush_files() -> None:
    """Write the buffers of open files, as Python does at its exit."""
    for file in gc.get_objects():
        if issubclass(type(file), _FILES):  # isinstance would dereference weak references
            with suppress(OSError, ValueError):  # closed, or the disk is full
                if stat.S_ISREG(os.fstat(file.fileno()).st_mode):  # a pipe may block
                    file.flush()


def leave(code: int) -> NoReturn:
    """End the process of a run that ended early, without running the ranks' code; mpiexec kills processes likewise.

    Files are flushed, as Python does when a process fails.
    """
    flush_files()
    multiprocessing = sys.modules.get("multiprocessing")
    children = [] if multiprocessing is None else multiprocessing.active_children()
    for child in children:
        child.terminate()
    main = threading.main_thread()
    has_threads = any(thread is not main and not thread.daemon for thread in threading.enumerate())
    if not (children or has_threads or _exit_is_locked()):
        sys.exit(code)
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # closed, or its reader is gone
            stream.flush()
    os._exit(code)


def _exit_is_locked() -> bool:
    """Whether a rank stopped while it gave work to a pool of threads, and holds a lock that the exit needs."""
    pools = sys.modules.get("concurrent.futures.thread")
    return pools is not None and pools._global_shutdown_lock.locked()
