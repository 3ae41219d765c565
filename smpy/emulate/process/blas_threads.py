"""Limits BLAS to one thread unless the user has set a number: a measured rank computes with one thread."""

from __future__ import annotations

import importlib
import os
import sys
from functools import partial
from typing import Final

from smpy.emulate.patches import Patches
from smpy.records.remark import Remark

# OpenBLAS, MKL and BLIS read their own variables first; Apple's Accelerate reads only its own
_VARIABLES: Final = ("OMP_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")

_has_one = False


def remarks_on_threads() -> tuple[Remark, ...]:
    """Remark that BLAS was loaded before a measured run with no number of threads set."""
    if "numpy" not in sys.modules or _has_one or any(name.endswith("_NUM_THREADS") for name in os.environ):
        return ()
    return (Remark("threads", ("BLAS was loaded too early to be given one thread: set OMP_NUM_THREADS=1",), {}),)


def load_with_one_thread() -> None:
    """Load numpy before a measured run, with one thread for its BLAS."""
    global _has_one
    patches = Patches()
    install_blas_threads(patches)
    importlib.import_module("numpy")
    patches.undo()
    _has_one = True


def install_blas_threads(patches: Patches) -> None:
    """Limit BLAS to one thread when the program loads it, until the patches are undone.

    Only libraries in C see this: `os.environ` has what it would have under mpiexec.
    """
    for name in _VARIABLES:
        if name not in os.environ:
            os.putenv(name, "1")
            patches.later(partial(os.unsetenv, name))
