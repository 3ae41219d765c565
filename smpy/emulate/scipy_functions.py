"""Functions of scipy's that a program calls with folded arrays: they take modelled time from when it imports scipy."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from inspect import signature
from types import FunctionType, ModuleType
from typing import Any

from smpy.emulate.imports import Importer
from smpy.emulate.patches import Patches


def install_scipy(patches: Patches, importer: Importer) -> None:
    """Model what a program computes with scipy on folded arrays, until the patches are undone."""
    importer.when_imported("scipy.linalg", partial(_install_linalg, patches))


class _Wrapped:
    """A compiled function of scipy's that looks for folded arguments; in all else it is the function.

    Parameters
    ----------
    original : callable
        The function.
    on_folded : callable
        What is called instead, with its arguments as a tuple and a dictionary.
    """

    def __init__(self, original: Callable[..., Any], on_folded: Callable[..., Any]) -> None:
        self.__wrapped__ = original
        self._on_folded = on_folded
        self.__doc__ = original.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._on_folded(args, kwargs) if _are_folded(args, kwargs) else self.__wrapped__(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)


def _wrapped(original: Callable[..., Any], on_folded: Callable[..., Any]) -> Callable[..., Any]:
    """The same of a function in Python, which pickle finds by its name."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return on_folded(args, kwargs) if _are_folded(args, kwargs) else original(*args, **kwargs)

    return call


def _are_folded(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether an argument is a folded array, or a tuple with one, such as factors and pivots."""
    for argument in (*args, *kwargs.values()) if kwargs else args:
        if getattr(argument, "__smpy_folded__", False):
            return True
        if isinstance(argument, tuple) and any(getattr(part, "__smpy_folded__", False) for part in argument):
            return True
    return False


def _install_linalg(patches: Patches) -> None:
    linalg = sys.modules["scipy.linalg"]
    blas, lapack = (sys.modules[f"scipy.linalg.{name}"] for name in ("blas", "lapack"))
    _install_blas(patches, blas)
    _install_lapack(patches, lapack)
    _install_functions(patches, linalg)
    _install_finder(patches, linalg, blas, "get_blas_funcs")
    _install_finder(patches, linalg, lapack, "get_lapack_funcs")


def _install_blas(patches: Patches, blas: ModuleType) -> None:
    from smpy.compute import blas_calls
    from smpy.compute.blas_routines import ROUTINES

    error = vars(sys.modules["scipy.linalg._fblas"])["__fblas_error"]
    for name in ROUTINES:
        if hasattr(blas, name):
            on_folded = partial(blas_calls.call_on_folded, name, lambda: error)
            patches.attribute(blas, name, _Wrapped(getattr(blas, name), on_folded))


def _install_lapack(patches: Patches, lapack: ModuleType) -> None:
    from smpy.compute.scipy_routines import LAPACK, call_on_folded, of_lapack

    for name, function in list(vars(lapack).items()):
        if type(function).__name__ == "fortran":
            on_folded: Callable[..., Any] = partial(_refuse, f"scipy.linalg.lapack.{name}")
            if name in LAPACK:
                on_folded = partial(call_on_folded, of_lapack(function, LAPACK[name]))
            patches.attribute(lapack, name, _Wrapped(function, on_folded))


def _install_functions(patches: Patches, linalg: ModuleType) -> None:
    from smpy.compute.scipy_routines import SCIPY_LINALG, Routine, call_on_folded

    wrapped_of: dict[int, Callable[..., Any]] = {}  # a function with two names stays one
    for name in linalg.__all__:
        function = getattr(linalg, name)
        if not isinstance(function, FunctionType) or name.startswith(("get_", "find_")):
            continue
        on_folded: Callable[..., Any] = partial(_refuse, f"scipy.linalg.{name}")
        if name in SCIPY_LINALG:
            on_folded = partial(
                call_on_folded, Routine(function, tuple(signature(function).parameters), SCIPY_LINALG[name])
            )
        wrapped = wrapped_of.setdefault(id(function), _wrapped(function, on_folded))
        home = sys.modules.get(function.__module__, linalg)
        for owner in {id(linalg): linalg, id(home): home}.values():
            if vars(owner).get(name) is function:
                patches.attribute(owner, name, wrapped)


def _refuse(name: str, _args: Any, _kwargs: Any) -> Any:
    from smpy.compute.modelled_results import refused

    raise refused(name)


def _install_finder(patches: Patches, linalg: ModuleType, module: ModuleType, name: str) -> None:
    """Have `get_blas_funcs` and its like find the wrapped functions."""
    original = getattr(module, name)
    by_function = {id(own.__wrapped__): own for own in vars(module).values() if isinstance(own, _Wrapped)}

    def find(*args: Any, **kwargs: Any) -> Any:
        found = original(*args, **kwargs)
        if isinstance(found, (list, tuple)):
            return type(found)(by_function.get(id(function), function) for function in found)
        return by_function.get(id(found), found)

    for owner in (module, linalg):
        patches.attribute(owner, name, find)
