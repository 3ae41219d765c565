"""Every public function of numpy and scipy's linear algebra and transforms, with folded arrays in place of others.

Each gives what it gives otherwise, folded, and takes time; or it is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from smpy.compute.folded.array_functions import AS_THEY_ARE
from smpy.compute.folded.scipy_routines import LAPACK, SCIPY_LINALG

pytest.importorskip("scipy")

PROGRAM = '''
import contextlib, io, os, types, warnings

import numpy as np
import scipy.fft, scipy.fftpack, scipy.linalg, scipy.linalg.blas, scipy.linalg.lapack, scipy.sparse.linalg
from mpi4py import MPI

import smpy

warnings.simplefilter("ignore")
np.seterr(all="ignore")
N = 7
MOST_CALLS = 8
NO_ARRAYS = {  # make arrays of numbers, work on types, files and text, or ask a person
    "test", "info", "show_config", "show_runtime", "get_include", "fromfile", "load", "loadtxt", "genfromtxt", "save",
    "savez", "savez_compressed", "savetxt", "fromstring", "frombuffer", "get_printoptions", "set_printoptions",
    "seterr", "seterrcall", "setbufsize", "geterr", "geterrcall", "getbufsize", "set_backend", "skip_backend",
    "set_global_backend", "register_backend", "set_workers", "printoptions", "errstate", "from_dlpack",
    # likewise before numpy 2.0
    "byte_bounds", "deprecate_with_doc", "disp", "issctype", "issubclass_", "issubsctype", "lookfor", "maximum_sctype",
    "obj2sctype", "sctype2char", "source",
}
TAKE_LISTS = {
    "array", "block", "column_stack", "concat", "concatenate", "dstack", "hstack", "multi_dot", "row_stack",
    "stack", "vstack",
}
MAY_BE_FREE = {  # give what they got, compare shapes alone, or leave memory as it is
    "array_equal", "array_equiv", "asanyarray", "asarray", "broadcast_arrays", "diff", "einsum", "empty_like",
    "empty", "full", "indices", "isfortran", "isscalar", "iterable", "matrix_power", "mintypecode", "ones", "ravel",
    "broadcast_shapes", "require", "zeros",
}
GIVE_NUMBERS = {"array_repr", "array_str", "array2string"}


def matrix():
    return np.eye(N) * 3 + 1.0


def makers(folded):
    """Arguments of each kind of call; `folded` makes the first array of each folded."""
    a = (lambda m=matrix(): smpy.folded(m.shape, m.dtype)) if folded else matrix
    v = (lambda: smpy.folded(N)) if folded else (lambda: np.ones(N))
    z = (lambda: smpy.folded((N, N), complex)) if folded else (lambda: matrix() + 0j)
    i = (lambda: smpy.folded(N, int)) if folded else (lambda: np.ones(N, int))
    return [
        lambda: (a(),), lambda: (v(),), lambda: (a(), matrix()), lambda: (v(), np.ones(N)), lambda: (a(), np.ones(N)),
        lambda: (1.0, a(), matrix()), lambda: (1.0, a(), np.ones(N)), lambda: (1.0, v(), np.ones(N)),
        lambda: ([a(), matrix()],), lambda: ([v(), np.ones(N)],), lambda: (a(), 1), lambda: (v(), 1),
        lambda: (a(), 1, 1), lambda: ("ij,jk->ik", a(), matrix()), lambda: (a(), (2, N)), lambda: (a(), [0, 1], 0),
        lambda: (v(), 0, 1),
        lambda: (a(), np.ones(N, np.intc)), lambda: (v(), np.ones(N), np.ones(N)), lambda: (i(),), lambda: (i(), 2),
        lambda: (i(), np.ones(N, int)), lambda: (1, a(), matrix()), lambda: (1.0, v(), matrix()),
        lambda: ((a(), True), np.ones(N)), lambda: ((a(), np.arange(N)), np.ones(N)), lambda: (np.sum, 0, a()),
        lambda: (a(), np.arange(N, dtype=np.intc), matrix()), lambda: (N, 1.0, np.ones(N * N), v()),
        lambda: (z(),), lambda: (1.0, z(), matrix() + 0j), lambda: ("L", "N", a(), np.ones(N), matrix(), 100),
    ]


def described(value):
    if isinstance(value, (tuple, list)):
        return [type(value).__name__ in ("list",), *map(described, value)]
    if isinstance(value, np.ndarray):
        return ("array", value.shape, value.dtype.name)
    if callable(value) and not isinstance(value, np.generic):
        return "callable"
    return type(value).__name__


def arrays(value):
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from arrays(part)


VIEWS = set(NAMES_OF_VIEWS)
MODELLED = set(NAMES_OF_MODELLED)
MODULES = [np, np.linalg, np.fft, scipy.fft, scipy.fftpack, scipy.linalg, np.lib.stride_tricks, np.emath]
n_same = n_refused = 0
for module in MODULES:
    names = getattr(module, "__all__", dir(module))
    for name in sorted(names):
        function = getattr(module, name, None)
        if not callable(function) or isinstance(function, type) or name.startswith("_") or name in NO_ARRAYS:
            continue
        if name.startswith(("find_", "get_", "set_")) or (module is scipy.linalg and name not in MODELLED):
            continue
        full = f"{module.__name__}.{name}"
        n_calls = 0
        for real, folded in zip(makers(False), makers(True)):
            if n_calls == MOST_CALLS:
                break
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    expected = described(function(*real()))
            except Exception:
                continue
            before_s = MPI.Wtime()  # which itself takes 10 ns
            n_calls += 1
            arguments = folded()
            if isinstance(arguments[0], list) is not (name in TAKE_LISTS) and name not in ("array", "block"):
                continue  # compiled functions read lists on their own, and joins iterate over an array
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    found = function(*arguments)
            except smpy.errors.UsageError as refusal:
                n_refused += 1
                if "not modelled" not in str(refusal):
                    print(full, "refuses:", refusal)
                continue
            except Exception as error:
                print(full, "fails:", type(error).__name__, str(error)[:150], "; real:", expected)
                continue
            n_same += 1
            took_s = MPI.Wtime() - before_s
            if described(found) != expected:
                print(full, "differs:", described(found), "; real:", expected)
            ordinary = [part.shape for part in arrays(found) if part.size > 1 and part.dtype.kind in "fcb"
                        and not getattr(part, "__smpy_folded__", False)
                        and not any(part is it or part.base is it for it in arguments)]
            if ordinary and name not in GIVE_NUMBERS:
                print(full, "gives what is not folded:", ordinary)
            if took_s < 1.5e-8 and name not in VIEWS | MAY_BE_FREE and isinstance(arguments[0], (np.ndarray, list)):
                print(full, "is free;", expected)
unmodelled = [(scipy.linalg.lapack, name) for name in sorted(set(dir(scipy.linalg.lapack)) - MODELLED)
              if type(getattr(getattr(scipy.linalg.lapack, name), "__wrapped__", None)).__name__ == "fortran"]
unmodelled += [(module, name) for module in (scipy.linalg, scipy.sparse.linalg) for name in module.__all__
               if isinstance(getattr(module, name), types.FunctionType) and name not in MODELLED | NO_ARRAYS
               and not name.startswith(("find_", "get_"))]
for module, name in unmodelled:
    try:
        getattr(module, name)(smpy.folded((N, N)))
        print(name, "is not refused")
    except smpy.errors.UsageError as refusal:
        n_refused += 1
print("called", n_same > 1000, n_refused > 700)
'''


def test_every_function_gives_what_it_gives_otherwise_and_takes_time_or_is_refused_by_name(emulated: Callable) -> None:
    views = [name.rpartition(".")[2] for name in AS_THEY_ARE]
    program = PROGRAM.replace("NAMES_OF_VIEWS", repr(views)).replace(
        "NAMES_OF_MODELLED", repr([*LAPACK, *SCIPY_LINALG])
    )
    ran = emulated(program, 1, compute="models", platform="flat hosts=1 cores=1 speed=1Gf host.memory_bandwidth=1GB/s")
    assert ran.error == ""
    assert ran.out.splitlines() == ["called True True"]
