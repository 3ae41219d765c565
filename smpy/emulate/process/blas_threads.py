"""Gives BLAS as many threads as a measured rank has cores, or this machine has, unless the user has set a number."""

from __future__ import annotations

import importlib
import os
import sys
from functools import partial
from typing import Final

from smpy.emulate.patches import Patches
from smpy.engine.processors import usable_processors
from smpy.records.remark import Remark

# OpenBLAS, MKL and BLIS read their own variables first; Apple's Accelerate reads only its own
_VARIABLES: Final = ("OMP_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
_WAITING: Final = {"OPENBLAS_THREAD_TIMEOUT": "4", "OMP_WAIT_POLICY": "passive", "KMP_BLOCKTIME": "0"}
"""Settings that make idle threads sleep at once: busy waiting would count as work."""

_loaded_with = 0


def remarks_on_threads(n_threads: int) -> tuple[Remark, ...]:
    """Remark that BLAS was loaded before a measured run with no, or another, number of threads set."""
    if "numpy" not in sys.modules or _loaded_with == n_threads or _number_is_set():
        return ()
    number = "one thread" if n_threads == 1 else f"{n_threads} threads"
    message = f"BLAS was loaded too early to be given {number}: set OMP_NUM_THREADS={n_threads}"
    return (Remark("threads", (message,), {}),)


def _number_is_set() -> bool:
    return any(name.endswith("_NUM_THREADS") for name in os.environ)


def threads_here(cpus_per_task: int) -> int:
    """Number of threads that libraries get on this machine, for ranks of so many cores."""
    asked = os.environ.get("OPENBLAS_NUM_THREADS") or os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdecimal() and int(asked):
        return int(asked)
    return min(cpus_per_task, len(usable_processors()))


def load_with_threads(n_threads: int) -> None:
    """Load numpy before a measured run, with so many threads for its BLAS."""
    global _loaded_with
    patches = Patches()
    install_blas_threads(patches, n_threads)
    importlib.import_module("numpy")
    patches.undo()
    _loaded_with = n_threads


def install_blas_threads(patches: Patches, n_threads: int) -> None:
    """Limit the threads of BLAS when the program loads it, until the patches are undone.

    Only libraries in C see this: `os.environ` has what it would have under mpiexec.
    """
    settings = dict.fromkeys(_VARIABLES, str(n_threads)) | (_WAITING if n_threads > 1 else {})
    for name, value in settings.items():
        if name not in os.environ:
            os.putenv(name, value)
            patches.later(partial(os.unsetenv, name))
