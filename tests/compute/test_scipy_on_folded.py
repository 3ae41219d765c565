"""Functions of scipy on folded arrays: their shapes, types and errors are scipy's, which is the judge."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import smpy
from smpy.compute.folded.scipy_routines import LAPACK, ScipyRoutine, call_on_folded, of_lapack, of_linalg
from tests.compute.timed_calls import timed_calls

linalg = pytest.importorskip("scipy.linalg")
CALLS: dict[str, Callable[..., Any]] = {
    "solve": lambda of, a, b: of("solve")(a, b),
    "solve positive": lambda of, a, b: of("solve")(a, b, assume_a="pos"),
    "lu_factor": lambda of, a, b: of("lu_factor")(a),
    "lu_solve": lambda of, a, b: of("lu_solve")(of("lu_factor")(a), b),
    "cholesky": lambda of, a, b: of("cholesky")(a, lower=True),
    "cho_factor": lambda of, a, b: of("cho_factor")(a),
    "cho_solve": lambda of, a, b: of("cho_solve")(of("cho_factor")(a), b),
    "solve_triangular": lambda of, a, b: of("solve_triangular")(a, b, lower=True, trans=1),
    "inv": lambda of, a, b: of("inv")(a),
    "qr": lambda of, a, b: of("qr")(a),
    "qr economic": lambda of, a, b: of("qr")(a, mode="economic"),
    "qr r": lambda of, a, b: of("qr")(a, mode="r"),
    "getrf": lambda of, a, b: of("dgetrf")(a),
    "zgetrf": lambda of, a, b: of("zgetrf")(a, overwrite_a=1),
    "getrs": lambda of, a, b: of("dgetrs")(*of("dgetrf")(a)[:2], b),
    "gesv": lambda of, a, b: of("dgesv")(a, b),
    "getri": lambda of, a, b: of("dgetri")(*of("dgetrf")(a)[:2]),
    "potrf": lambda of, a, b: of("dpotrf")(a, lower=1),
    "potrs": lambda of, a, b: of("dpotrs")(of("dpotrf")(a)[0], b),
    "posv": lambda of, a, b: of("sposv")(a, b),
    "trtrs": lambda of, a, b: of("dtrtrs")(a, b, lower=1, trans=1),
    "geqrf": lambda of, a, b: of("dgeqrf")(a),
    "geqrf query": lambda of, a, b: of("dgeqrf")(a, lwork=-1),
    "geqrf lwork": lambda of, a, b: of("dgeqrf")(a, lwork=99),
    "orgqr": lambda of, a, b: of("dorgqr")(*of("dgeqrf")(a)[:2]),
    "ormqr": lambda of, a, b: of("dormqr")("L", "T", *of("dgeqrf")(a)[:2], b, 500),
    "ormqr right": lambda of, a, b: of("dormqr")("R", "N", *of("dgeqrf")(a)[:2], b, 500),
    "ormqr query": lambda of, a, b: of("dormqr")("L", "N", *of("dgeqrf")(a)[:2], b, -1),
    "laswp": lambda of, a, b: of("dlaswp")(a, of("dgetrf")(a)[1]),
    "laswp of rows": lambda of, a, b: of("dlaswp")(a, of("dgetrf")(a)[1], k1=1, k2=2),
    "potri": lambda of, a, b: of("dpotri")(of("dpotrf")(a)[0]),
    "trtri": lambda of, a, b: of("dtrtri")(a),
    "syev": lambda of, a, b: of("dsyev")(a),
    "syevd": lambda of, a, b: of("dsyevd")(a, compute_v=0),
    "heevd": lambda of, a, b: of("zheevd")(a),
    "gesdd": lambda of, a, b: of("dgesdd")(a, full_matrices=0),
    "gesvd": lambda of, a, b: of("zgesvd")(a),
    "gesdd values": lambda of, a, b: of("dgesdd")(a, compute_uv=0),
    "gels": lambda of, a, b: of("dgels")(a, b),
    "det": lambda of, a, b: of("det")(a),
    "lu": lambda of, a, b: of("lu")(a),
    "eigh": lambda of, a, b: of("eigh")(a),
    "eigh values": lambda of, a, b: of("eigh")(a, eigvals_only=True),
    "eigvalsh": lambda of, a, b: of("eigvalsh")(a),
    "svd": lambda of, a, b: of("svd")(a),
    "svd reduced": lambda of, a, b: of("svd")(a, full_matrices=False),
    "svdvals": lambda of, a, b: of("svdvals")(a),
    "lstsq": lambda of, a, b: of("lstsq")(a, b),
    "norm": lambda of, a, b: of("norm")(a),
    "wrong argument": lambda of, a, b: of("dgetrf")(a, lower=1),
    "too many": lambda of, a, b: of("dgetrf")(a, 1, 2),
}


OF_STACKS = ["cholesky", "cho_factor", "cho_solve", "det", "eigh", "inv", "lstsq", "lu", "lu_factor", "lu_solve"]
OF_STACKS += ["qr", "solve", "solve positive", "svd"]


def described(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return list(map(described, value))
    return (value.shape, value.dtype.name) if isinstance(value, np.ndarray) else type(value).__name__


def outcome(call: Callable[..., Any], *args: Any) -> Any:
    try:
        return described(call(*args))
    except Exception as error:  # noqa: BLE001  # whatever scipy raises
        return type(error).__name__


def real(name: str) -> Any:
    return getattr(linalg.lapack if name in LAPACK else linalg, name)


def modelled(name: str) -> Callable[..., Any]:
    function = real(name)
    routine = of_lapack(function, LAPACK[name]) if name in LAPACK else of_linalg(function, name)
    return lambda *args, **kwargs: call_on_folded(routine, args, kwargs)


@given(
    st.sampled_from(sorted(CALLS)),
    st.sampled_from([(5, 5), (3, 3), (5, 3), (3, 5), (4, 5), (1, 1), (1, 4)]),
    st.sampled_from([(5,), (3,), (5, 2), (3, 4), (4, 1), (1,)]),
    st.sampled_from(["f8", "f4", "c16"]),
)
def test_results_have_the_shapes_types_and_errors_of_scipy(name: str, one: Any, other: Any, dtype: str) -> None:
    a = np.ones(one, dtype)
    a[np.arange(min(one)), np.arange(min(one))] = 20
    expected = outcome(CALLS[name], real, a, np.ones(other, dtype))
    assert outcome(CALLS[name], modelled, smpy.folded(one, dtype), smpy.folded(other, dtype)) == expected


@pytest.mark.parametrize("name", OF_STACKS)
@pytest.mark.parametrize(
    ("one", "other"), [((2, 3, 3), (3,)), ((2, 3, 3), (2, 3, 1)), ((3, 4, 4), (3, 4, 2)), ((4, 4), (2, 4, 3))]
)
def test_results_of_stacks_have_the_shapes_types_and_errors_of_scipy(name: str, one: Any, other: Any) -> None:
    a = np.ones(one)
    a[..., np.arange(one[-1]), np.arange(one[-1])] = 20
    expected = outcome(CALLS[name], real, a, np.ones(other))
    assert outcome(CALLS[name], modelled, smpy.folded(one), smpy.folded(other)) == expected


def test_pivots_of_a_stack_exchange_no_rows_and_ranks_are_full() -> None:
    stack = smpy.folded((2, 3, 3))
    if outcome(linalg.lu_factor, np.ones((2, 3, 3))) == "ValueError":
        pytest.skip("this scipy takes no stacks of matrices")
    assert modelled("lu_factor")(stack)[1].tolist() == [[0, 1, 2]] * 2
    assert modelled("lstsq")(stack, smpy.folded((2, 3, 1)))[2].tolist() == [3, 3]


@pytest.mark.parametrize("is_lower", [False, True, 0, 1, np.int8(1)])
def test_the_triangle_that_cho_factor_filled_is_what_the_call_says(is_lower: Any) -> None:
    asked: list[Any] = []

    def solve(c: Any, lower: Any) -> Any:
        asked.append(lower)
        return c

    factors, lower = modelled("cho_factor")(smpy.folded((3, 3)), lower=is_lower)
    assert bool(lower) is bool(is_lower)
    call_on_folded(ScipyRoutine(solve, ("c", "lower"), lambda arguments, dtype: ()), (factors, lower), {})
    assert bool(asked[0]) is bool(is_lower)


@pytest.mark.parametrize("is_lower", [False, True, 0, 1, np.int8(1)])
def test_the_triangles_that_cho_factor_filled_in_a_stack_are_what_the_call_says(is_lower: Any) -> None:
    stack = np.broadcast_to(np.eye(3), (4, 3, 3))
    if outcome(linalg.cho_factor, stack) == "ValueError":
        pytest.skip("this scipy takes no stacks of matrices")
    _, expected = linalg.cho_factor(stack, lower=is_lower)
    _, lower = modelled("cho_factor")(smpy.folded((4, 3, 3)), lower=is_lower)
    assert described(lower) == described(expected)
    assert lower.tolist() == expected.tolist() == [is_lower] * 4


def test_arguments_that_are_there_keep_their_content() -> None:
    b = np.arange(4.0).reshape(2, 2, order="F")
    modelled("dgesv")(smpy.folded((2, 2)), b, overwrite_b=1)
    assert b.tolist() == [[0.0, 2.0], [1.0, 3.0]]


MACHINE = "flat hosts=1 cores=1 speed=1Gf host.memory_bandwidth=1GB/s"
LU_S = 300**3 * 2 / 3 * 1e-9


TAKES = {
    "scipy.linalg.lu_factor(a)": LU_S,
    "scipy.linalg.solve(a, b)": LU_S + 2 * 300**2 * 100e-9,
    "scipy.linalg.solve(a, b, assume_a='pos')": 300**3 / 3e9 + 2 * 300**2 * 100e-9,
    "scipy.linalg.cholesky(a)": 300**3 / 3e9,
    "scipy.linalg.lapack.dgetrf(a)": LU_S,
    "scipy.linalg.get_lapack_funcs('getrf', (a,))(a)": LU_S,
    "scipy.linalg.get_lapack_funcs(('getrf',), (a,))[0](a)": LU_S,
    "scipy.linalg.blas.dgemm(1.0, a, b)": 2 * 300**2 * 100e-9,
    "dgemm(1.0, a, b)": 2 * 300**2 * 100e-9,
    "scipy.linalg.get_blas_funcs('gemm', (a,))(1.0, a, b)": 2 * 300**2 * 100e-9,
    "scipy.linalg.lapack.dgeqrf(a, lwork=-1)": 0.0,
    "scipy.linalg.lapack.dormqr('L', 'N', a, np.ones(300), b, 99)": 2 * 300**2 * 100e-9,
    "scipy.linalg.lapack.dpotri(a)": 2 * 300**3 / 3e9,
    "scipy.linalg.lapack.dgetri(a, np.arange(300))": 4 * 300**3 / 3e9,
    "scipy.linalg.inv(a)": 2 * 300**3 * 1e-9,
    "scipy.linalg.lapack.dlaswp(a, np.arange(300), k1=100)": 4 * 200 * 300 * 8e-9,
    "scipy.linalg.svdvals(a)": 8 * 300**3 / 3e9,
    "scipy.linalg.eigh(a)": 9 * 300**3 * 1e-9,
    "scipy.linalg.lu_factor(np.eye(3))": 0.0,
}


@pytest.mark.parametrize("mode", ["models", "none"])
def test_a_program_that_imports_scipy_takes_modelled_time(emulated: Callable, mode: str) -> None:
    preparation = """
import numpy as np, smpy, scipy.linalg
from scipy.linalg.blas import dgemm
a, b = smpy.folded((300, 300)), smpy.folded((300, 100))
"""
    found = timed_calls(emulated, TAKES, preparation, platform=MACHINE, compute=mode)
    for call, takes_s in TAKES.items():
        assert found[call][0] == pytest.approx(takes_s if mode == "models" else 0.0, rel=1e-9, abs=1e-13), call


TALL = """
[kernels]
reference_speed = "1Gf"
[kernels.dgetrf]
sizes = ["m", "n"]
seconds = { "m" = 1.0 }
[kernels.dgeqrf]
sizes = ["m", "n"]
seconds = { "m" = 1.0 }
"""


OF_TALL_AND_WIDE = [
    "scipy.linalg.lapack.dgetrf(a)",
    "scipy.linalg.lapack.dgeqrf(a)",
    "scipy.linalg.lu_factor(a)",
    "scipy.linalg.qr(a, mode='r')",
    "np.linalg.qr(a, mode='r')",
    "np.linalg.qr(smpy.folded((1, *a.shape)), mode='r')",
]


@pytest.mark.parametrize("shape", [(8, 3), (3, 8)])
def test_a_wide_matrix_costs_what_its_transpose_does(
    emulated: Callable, tmp_path: Path, shape: tuple[int, int]
) -> None:
    (tmp_path / "tall.toml").write_text(TALL)
    preparation = f"import numpy as np, scipy.linalg, smpy\na = smpy.folded({shape})"
    config = {"platform": MACHINE, "compute": "models", "kernels": tmp_path / "tall.toml"}
    found = timed_calls(emulated, OF_TALL_AND_WIDE, preparation, **config)
    assert [took_s for took_s, _ in found.values()] == [pytest.approx(8.0)] * len(OF_TALL_AND_WIDE)


@pytest.mark.parametrize("name", ["linalg.eig", "linalg.pinv", "linalg.lapack.dgeev", "fft.rfft", "fftpack.dct"])
def test_what_has_no_model_is_refused_by_name(emulated: Callable, name: str) -> None:
    ran = emulated(f"import smpy, scipy.linalg, scipy.fft, scipy.fftpack\nscipy.{name}(smpy.folded((3, 3)))", 1)
    assert f"scipy.{name} of a folded array is not modelled" in ran.error


@pytest.mark.parametrize("call", ["matrix @ a", "a @ matrix", "a - matrix", "matrix.multiply(a)", "matrix == a"])
def test_what_compiled_code_would_write_into_a_folded_array_is_refused(emulated: Callable, call: str) -> None:
    source = f"import smpy, scipy.sparse\na = smpy.folded((3, 3))\nmatrix = scipy.sparse.eye_array(3).tocsr()\n{call}"
    assert "of a folded array is not modelled" in emulated(source, 1).error


def test_functions_of_scipy_are_pickled_by_name_during_a_run(emulated: Callable) -> None:
    source = "import pickle, scipy.linalg\nprint(pickle.loads(pickle.dumps(scipy.linalg.solve)) is scipy.linalg.solve)"
    ran = emulated(source, 1)
    assert (ran.out, ran.error) == ("True\n", "")


def test_scipy_is_what_it_was_after_a_run(emulated: Callable) -> None:
    before = (linalg.solve, linalg.blas.dgemm, linalg.lapack.dgetrf, linalg.get_blas_funcs)
    source = "import scipy.linalg, numpy as np\nprint(scipy.linalg.solve(np.eye(2), np.ones(2)))"
    assert emulated(source, 1).out == "[1. 1.]\n"
    assert (linalg.solve, linalg.blas.dgemm, linalg.lapack.dgetrf, linalg.get_blas_funcs) == before
