"""Threads and child processes of ranks that a run has not seen end: they would keep the process from ending."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from typing import NoReturn


def leave(code: int) -> NoReturn:
    """End the process of a run that ended early; mpiexec kills processes without asking, too."""
    multiprocessing = sys.modules.get("multiprocessing")
    children = [] if multiprocessing is None else multiprocessing.active_children()
    for child in children:
        child.terminate()
    main = threading.main_thread()
    if not children and all(thread.daemon or thread is main for thread in threading.enumerate()):
        sys.exit(code)
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # closed, or nobody reads
            stream.flush()
    os._exit(code)
