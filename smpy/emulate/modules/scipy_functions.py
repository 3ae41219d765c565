"""Gives functions of scipy modelled times on folded arrays, from the program's first import of scipy on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from types import FunctionType, ModuleType
from typing import Any, Final

from smpy.emulate.modules.imports import Importer
from smpy.emulate.patches import LastingPatches, Patches

_LONGEST_LIST: Final = 16
_REFUSING: Final = ("fftpack", "integrate", "interpolate", "ndimage", "optimize", "signal", "sparse.linalg", "fft")
"""Packages of scipy whose functions have no model."""

_OF_SPARSE: Final = (
    *("_add_dense", "_sub_dense", "_rsub_dense", "_divide", "_inequality", "_maximum_minimum"),
    *("_matmul_dispatch", "_rmatmul_dispatch", "multiply", "maximum", "minimum", "__eq__", "__ne__"),
)
"""Methods of sparse matrices that take a dense operand."""


def install_scipy(patches: Patches, importer: Importer) -> None:
    """Model scipy's work on folded arrays until the patches are undone."""
    importer.when_imported("scipy.sparse", partial(_install_sparse, patches))
    for name, functions in _FUNCTIONS.items():
        importer.when_imported(name, partial(functions.apply, patches))


class _Wrapped:
    """Wrapper of a compiled scipy function that checks for folded arguments and otherwise acts as the function.

    Parameters
    ----------
    original : callable
        The function.
    on_folded : callable
        Called instead, with the arguments as a tuple and a dictionary.
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

    def __reduce__(self) -> Any:
        return self.__wrapped__.__reduce__()


def _wrapped(original: Callable[..., Any], on_folded: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a Python function, as `_Wrapped` does; the result is a function, so that pickle finds it by name."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return on_folded(args, kwargs) if _are_folded(args, kwargs) else original(*args, **kwargs)

    return call


def _are_folded(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether an argument is a folded array, or a tuple or short list with one, such as factors and pivots."""
    for argument in (*args, *kwargs.values()) if kwargs else args:
        if getattr(argument, "__smpy_folded__", False):
            return True
        if isinstance(argument, (tuple, list)) and any(
            getattr(part, "__smpy_folded__", False) for part in argument[:_LONGEST_LIST]
        ):
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
    from smpy.compute.folded import blas_calls
    from smpy.compute.folded.blas_routines import ROUTINES

    error = vars(sys.modules["scipy.linalg._fblas"])["__fblas_error"]
    for name in ROUTINES:
        if hasattr(blas, name):
            on_folded = partial(blas_calls.call_on_folded, name, lambda: error)
            patches.attribute(blas, name, _Wrapped(getattr(blas, name), on_folded))


def _install_lapack(patches: Patches, lapack: ModuleType) -> None:
    from smpy.compute.folded.scipy_routines import LAPACK, call_on_folded, of_lapack

    for name, function in list(vars(lapack).items()):
        if type(function).__name__ == "fortran":
            on_folded: Callable[..., Any] = partial(_refuse, f"scipy.linalg.lapack.{name}")
            if name in LAPACK:
                on_folded = partial(call_on_folded, of_lapack(function, LAPACK[name]))
            patches.attribute(lapack, name, _Wrapped(function, on_folded))


def _install_functions(patches: Patches, linalg: ModuleType) -> None:
    from smpy.compute.folded.scipy_routines import SCIPY_LINALG, call_on_folded, of_linalg

    on_folded = {
        name: partial(call_on_folded, of_linalg(getattr(linalg, name), name))
        for name in SCIPY_LINALG
        if hasattr(linalg, name)
    }
    _wrap_functions(patches, linalg, on_folded)


def _install_package(name: str, patches: Patches) -> None:
    """Make the functions of a package refuse folded arrays."""
    _wrap_functions(patches, sys.modules[name], {})


def _wrap_functions(patches: Patches, module: ModuleType, modelled: Mapping[str, Callable[..., Any]]) -> None:
    """Make the public functions of a module check for folded arrays, and refuse them if no model exists."""
    wrapped_of: dict[int, Callable[..., Any]] = {}  # a function with two names keeps one wrapper
    for name in module.__all__:
        function = getattr(module, name)
        is_scipys = str(getattr(function, "__module__", "")).startswith("scipy.")
        if not is_scipys or isinstance(function, type) or name.startswith(("get_", "find_")):
            continue
        on_folded = modelled.get(name) or partial(_refuse, f"{module.__name__}.{name}")
        if isinstance(function, FunctionType):
            wrapped = wrapped_of.setdefault(id(function), _wrapped(function, on_folded))
        elif name in modelled or type(function).__name__ == "_Function":  # a function of scipy.fft, for any backend
            wrapped = wrapped_of.setdefault(id(function), _Wrapped(function, on_folded))
        else:
            continue
        home = sys.modules.get(function.__module__, module)
        for owner in {id(module): module, id(home): home}.values():
            for called in dict.fromkeys((name, getattr(function, "__name__", name))):  # pickle looks for the second
                if vars(owner).get(called) is function:
                    patches.attribute(owner, called, wrapped)


def _install_sparse(patches: Patches) -> None:
    """Make sparse matrices refuse folded operands."""
    base = sys.modules["scipy.sparse._base"]._spbase
    for kind in (base, *_below(base)):
        for name in _OF_SPARSE:
            if name in vars(kind):
                patches.attribute(kind, name, _refusing_method(vars(kind)[name], f"scipy.sparse.{name.strip('_')}"))


def _below(kind: type) -> list[type]:
    children: list[type] = kind.__subclasses__()
    return [one for child in children for one in (child, *_below(child))]


def _refusing_method(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    def call(self: Any, other: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(other, "__smpy_folded__", False):
            _refuse(name, (), {})
        return original(self, other, *args, **kwargs)

    return call


def _refuse(name: str, _args: Any, _kwargs: Any) -> Any:
    from smpy.compute.folded.modelled_results import refused

    raise refused(name)


def _install_finder(patches: Patches, linalg: ModuleType, module: ModuleType, name: str) -> None:
    """Make `get_blas_funcs` and similar functions return the wrapped functions."""
    original = getattr(module, name)
    by_function = {id(own.__wrapped__): own for own in vars(module).values() if isinstance(own, _Wrapped)}

    def find(*args: Any, **kwargs: Any) -> Any:
        functions = original(*args, **kwargs)
        if isinstance(functions, (list, tuple)):
            return type(functions)(by_function.get(id(function), function) for function in functions)
        return by_function.get(id(functions), functions)

    for owner in (module, linalg):
        patches.attribute(owner, name, find)


_FUNCTIONS: Final = {
    "scipy.linalg": LastingPatches(_install_linalg),
    **{f"scipy.{name}": LastingPatches(partial(_install_package, f"scipy.{name}")) for name in _REFUSING},
}
"""Wrapped functions of the packages: more than a thousand, which take longer to make than a short run."""
