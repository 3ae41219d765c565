"""BLAS as `scipy.linalg.blas` has it, which takes modelled time.

Names, arguments, results and errors are scipy's. On folded arrays (`smpy.folded`) a call takes the time of the kernel,
unless computing is free, and gives folded results of the same shapes and types; an index of a folded vector is 0, a
dot product or norm 1. Arguments that have memory are left as they are then. Other arrays are computed with by scipy,
which is imported when the first one comes; with ``--compute models`` that takes modelled time, too. Outside a simulated
run every routine is scipy's own. Each takes ``threads=`` besides: the number of threads of modelled time, without it
one on each of the rank's cores (``--cpus-per-task``).

Examples
--------
>>> import smpy
>>> smpy.blas.dgemm(-1.0, smpy.folded((100_000, 50)), smpy.folded((50, 200_000))).shape
(100000, 200000)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from smpy.compute.folded.blas_calls import call_on_folded, has_folded, model_too
from smpy.compute.folded.blas_routines import ROUTINES

_OF_NUMBERS = {"crotg", "drotg", "drotmg", "srotg", "srotmg", "zrotg"}  # make rotations, and take no time
__all__ = list(ROUTINES.keys() | _OF_NUMBERS)


def _scipy_error() -> type[Exception]:
    from scipy.linalg import _fblas

    error: type[Exception] = vars(_fblas)["__fblas_error"]
    return error


def _routine(name: str) -> Callable[..., Any]:
    on_arrays: Callable[..., Any] | None = None

    def call(*args: Any, threads: int | None = None, **kwargs: Any) -> Any:
        nonlocal on_arrays
        if has_folded(args, kwargs):
            return call_on_folded(name, _scipy_error, args, kwargs, threads)
        if on_arrays is None:
            on_arrays = model_too(name, _scipy_routine(name))
        return on_arrays(threads, *args, **kwargs)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`scipy.linalg.blas.{name}`, which takes modelled time."
    return call


def _scipy_routine(name: str) -> Any:
    from scipy.linalg import blas

    return getattr(blas, name)


def __getattr__(name: str) -> Any:
    if name in ROUTINES:
        routine = globals()[name] = _routine(name)
        return routine
    if name in _OF_NUMBERS:
        return _scipy_routine(name)
    raise AttributeError(f"module 'smpy.blas' has no attribute {name!r}: it has the routines of scipy.linalg.blas")


def __dir__() -> list[str]:
    return sorted(__all__)
