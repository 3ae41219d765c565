"""Operations on folded arrays have the shapes, types and errors of numpy, which is the judge."""

from __future__ import annotations

import copy
import re
import runpy
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import smpy
from smpy.compute.folded import Folded
from smpy.compute.folded.array_functions import AS_THEY_ARE, COMPOSED, REDUCTIONS, RULES, numpy_function
from smpy.compute.folded.blas_routines import ROUTINES
from smpy.compute.folded.conversions import CONVERSIONS
from smpy.compute.folded.scipy_routines import LAPACK, SCIPY_LINALG
from smpy.errors import UsageError

NUMPY = np.lib.NumpyVersion(np.__version__)
DTYPES = st.sampled_from(["f8", "f4", "c16", "c8", "i4", "?"])
SIZES = st.integers(1, 4)
SHAPES = st.lists(SIZES, max_size=3).map(tuple)
AXES = st.sampled_from([None, 0, 1, -1, 2, -3, (0, 1), 5])


def described(value: Any) -> Any:
    """Shapes and types of a result."""
    if isinstance(value, tuple):
        return [type(value).__name__, *map(described, value)]
    if isinstance(value, np.ndarray):
        return (value.shape, value.dtype.name)
    return type(value).__name__


def outcome(call: Callable[..., Any], *arrays: Any) -> Any:
    """Description of what a call gives, or its kind of error."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return described(call(*arrays))
        except (ValueError, TypeError, IndexError, np.linalg.LinAlgError) as error:
            return next(kind.__name__ for kind in (TypeError, IndexError, ValueError) if isinstance(error, kind))


def plain(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Random numbers: linear systems of theirs are solvable, almost surely; square ones are positive definite."""
    numbers = np.random.default_rng(1).random(shape) + 0.5
    if len(shape) > 1 and shape[-1] == shape[-2]:
        numbers = numbers + np.swapaxes(numbers, -1, -2) + 10 * np.eye(shape[-1])
        if dtype == "?":
            numbers = np.broadcast_to(np.eye(shape[-1]), shape)
    return np.asarray(numbers.astype(dtype))


def agree(call: Callable[..., Any], *specs: tuple[tuple[int, ...], str]) -> None:
    real = outcome(call, *(plain(shape, dtype) for shape, dtype in specs))
    folded = outcome(call, *(smpy.folded(shape, dtype) for shape, dtype in specs))
    assert folded == real


UNARY: dict[str, Callable[..., Any]] = {
    "negative": lambda a: -a,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "isnan": np.isnan,
    "modf": np.modf,
    "plus 1": lambda a: a + 1,
    "1 over": lambda a: 1.0 / a,
    "power": lambda a: a**2,
    "compare": lambda a: a > 0,
    "T": lambda a: a.T,
    "ravel": np.ravel,
    "ravel method": lambda a: a.ravel(),
    "flatten": lambda a: a.flatten(),
    "copy": lambda a: a.copy(),
    "deepcopy": copy.deepcopy,
    "astype": lambda a: a.astype("f4"),
    "real": np.real,
    "conj": lambda a: a.conj(),
    "round": lambda a: a.round(2),
    "cumsum": lambda a: a.cumsum(),
    "slice": lambda a: a[1:],
    "zeros_like": np.zeros_like,
    "empty_like": lambda a: np.empty_like(a, "f4"),
    "full_like": lambda a: np.full_like(a, 3),
    "ones_like": lambda a: np.ones_like(a, shape=(3, 2)),
    "clip": lambda a: np.clip(a, 0, 1),
    "where": lambda a: np.where(a > 0, a, 0),
    "nan_to_num": np.nan_to_num,
    "concatenate": lambda a: np.concatenate([a, a, a[:1]]),
    "concatenate flat": lambda a: np.concatenate([a, a], axis=None),
    "hstack": lambda a: np.hstack([a, a]),
    "vstack": lambda a: np.vstack([a, a]),
    "column_stack": lambda a: np.column_stack([a, a]),
    "stack": lambda a: np.stack([a, a], axis=-1),
    "repeat": lambda a: np.repeat(a, 3),
    "tile": lambda a: np.tile(a, (2, 1)),
    "take": lambda a: np.take(a, [0, 0, 0]),
    "take one": lambda a: np.take(a, 1, axis=0),
    "take by axis": lambda a: np.take(a, [[0], [2]], axis=-1),
    "take wrapped": lambda a: np.take(a, [7, -9], axis=0, mode="wrap"),
    "take by numbers": lambda a: np.take(a, np.array([0.5])),
    "roll": lambda a: np.roll(a, 1),
    "tril": np.tril,
    "norm": np.linalg.norm,
    "inv": np.linalg.inv,
    "det": np.linalg.det,
    "slogdet": np.linalg.slogdet,
    "cholesky": np.linalg.cholesky,
    "qr": np.linalg.qr,
    "qr r": lambda a: np.linalg.qr(a, mode="r"),
    "qr complete": lambda a: np.linalg.qr(a, mode="complete"),
    "eigh": np.linalg.eigh,
    "eigvalsh": np.linalg.eigvalsh,
    "svd": np.linalg.svd,
    "svd reduced": lambda a: np.linalg.svd(a, full_matrices=False),
    "svd values": lambda a: np.linalg.svd(a, compute_uv=False),
    "matrix_power": lambda a: np.linalg.matrix_power(a, 5),
    "diff": np.diff,
    "gradient": np.gradient,
    "average": np.average,
    "trapezoid": lambda a: np.trapezoid(a, dx=0.5),
    "dstack": lambda a: np.dstack([a, a]),
    "meshgrid": lambda a: tuple(np.meshgrid(a, a)),
    "broadcast_arrays": lambda a: tuple(np.broadcast_arrays(a, np.ones((4, 4)))),
    "einsum trace": lambda a: np.einsum("ii", a),
    "einsum sum": lambda a: np.einsum("i...->...", a),
    "view": lambda a: a.view("u1"),
    "qr raw": lambda a: np.linalg.qr(a, mode="raw"),
    "trace": np.trace,
    "fftshift": np.fft.fftshift,
    "set": lambda a: a.__setitem__(slice(1), 3),
    "out": lambda a: np.add(a, 1, out=a),
    "in place": lambda a: a.__iadd__(1),
    "outer": lambda a: np.multiply.outer(a, a),
    "accumulate": np.add.accumulate,
    "atleast_2d": np.atleast_2d,
    "broadcast_to": lambda a: np.broadcast_to(a, (4, 4)),
    "bool": lambda a: np.bool_((a > 0).all()),
}
if NUMPY < "2.0.0":
    del UNARY["trapezoid"]  # trapz there
BINARY: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "divide": lambda a, b: a / b,
    "matmul": lambda a, b: a @ b,
    "dot": np.dot,
    "dot method": lambda a, b: a.dot(b),
    "vdot": np.vdot,
    "inner": np.inner,
    "outer": np.outer,
    "tensordot": lambda a, b: np.tensordot(a, b, 1),
    "tensordot axes": lambda a, b: np.tensordot(a, b, ([0], [-1])),
    "solve": np.linalg.solve,
    "lstsq": np.linalg.lstsq,
    "kron": np.kron,
    "append": np.append,
    "allclose": np.allclose,
    "einsum": lambda a, b: np.einsum("ij,jk->ik", a, b),
    "einsum dots": lambda a, b: np.einsum("...i,...i", a, b),
    "einsum of lists": lambda a, b: np.einsum(a, [0, 1], b, [1, 2], [2, 0]),
    "multi_dot": lambda a, b: np.linalg.multi_dot([a, b, b]),
    "concatenate": lambda a, b: np.concatenate([a, b], axis=-1),
    "stack": lambda a, b: np.stack([a, b]),
    "where": lambda a, b: np.where(a, a, b),
    "maximum": np.maximum,
    "copyto": np.copyto,
    "set": lambda a, b: a.__setitem__(..., b),
    "set part": lambda a, b: a.__setitem__(slice(0, 2), b),
    "out": lambda a, b: np.add(a, b, out=a),
    "matmul out": lambda a, b: np.matmul(a, b, out=a),
    "divmod": np.divmod,
    "isclose": np.isclose,
}


@given(st.sampled_from(sorted(UNARY)), SHAPES, DTYPES)
def test_operations_on_one_array_are_those_of_numpy(name: str, shape: tuple[int, ...], dtype: str) -> None:
    agree(UNARY[name], (shape, dtype))


@st.composite
def pairs(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shapes that often fit together."""
    m, n, k = draw(SIZES), draw(SIZES), draw(SIZES)
    stacks = st.sampled_from([(), (), (k,), (1,), (2, k)])
    ends = st.sampled_from([(m, n), (n, k), (n, n), (n,), (m,), ()])
    return draw(stacks) + draw(ends), draw(stacks) + draw(ends)


@given(st.sampled_from(sorted(BINARY)), pairs(), DTYPES, DTYPES)
@example("dot", ((), (1, 1)), "f8", "f4")  # the type of a scalar counts as that of any array, before numpy 2.0, too
def test_operations_on_two_arrays_are_those_of_numpy(
    name: str, shapes: tuple[tuple[int, ...], tuple[int, ...]], one: str, other: str
) -> None:
    agree(BINARY[name], (shapes[0], one), (shapes[1], other))


@given(st.sampled_from(sorted(REDUCTIONS)), SHAPES, DTYPES, AXES, st.booleans())
def test_reductions_are_those_of_numpy(
    name: str, shape: tuple[int, ...], dtype: str, axis: Any, keepdims: bool
) -> None:
    function = getattr(np, name)
    agree(lambda a: function(a, axis=axis, keepdims=keepdims), (shape, dtype))


@given(
    st.sampled_from(["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]),
    SHAPES,
    DTYPES,
    st.sampled_from([None, None, 1, 5, 0]),
    st.sampled_from([-1, 0, 1, -2, 4]),
)
def test_transforms_of_an_axis_are_those_of_numpy(
    name: str, shape: tuple[int, ...], dtype: str, n: int | None, axis: int
) -> None:
    agree(lambda a: getattr(np.fft, name)(a, n, axis), (shape, dtype))


@given(
    st.sampled_from(["fft2", "ifft2", "fftn", "ifftn", "rfft2", "irfft2", "rfftn", "irfftn"]),
    SHAPES.filter(len),
    DTYPES,
    st.sampled_from([None, None, (4, 6)]),
    st.sampled_from([None, (-2, -1), (0, 1), (1, 0)]),
)
def test_transforms_of_several_axes_are_those_of_numpy(
    name: str, shape: tuple[int, ...], dtype: str, sizes: Any, axes: Any
) -> None:
    if sizes is None or axes is not None:  # numpy warns of sizes without axes
        agree(lambda a: getattr(np.fft, name)(a, sizes, axes), (shape, dtype))


COUNT = np.int64
MASK = np.array([True, False, True, True])
ARGUMENTS: dict[str, Callable[..., Any]] = {
    "keepdims of a number": lambda a: a.sum(0, keepdims=1),
    "keepdims of numpy's bool": lambda a: np.max(a, -1, keepdims=np.True_),
    "keepdims of argmax": lambda a: np.argmax(a, 0, keepdims=1),
    "keepdims of count_nonzero": lambda a: np.count_nonzero(a, 0, keepdims=1),
    "keepdims of nanvar": lambda a: np.nanvar(a, 0, None, None, 0, 1),
    "keepdims of reduce": lambda a: np.maximum.reduce(a, 0, None, None, 1),
    "keepdims of a word": lambda a: np.sum(a, 0, keepdims="x"),
    "sum by place": lambda a: np.sum(a, 0, None, None, True),
    "max by place": lambda a: np.max(a, 0, None, True),
    "any by place": lambda a: np.any(a, 0, None, True),
    "ptp by place": lambda a: np.ptp(a, 0, None, True),
    "type by place": lambda a: np.mean(a, 0, "f4"),
    "method by place": lambda a: a.std(0, "f8", None, 1, True),
    "mean given": lambda a: np.std(a, 0, mean=a.mean(0, keepdims=True)),
    "mask": lambda a: np.sum(a, 0, where=MASK),
    "mask in a list": lambda a: np.sum(a, 0, where=[True, False, True, True]),
    "mask of add in a list": lambda a: np.add(a, 1, where=[True, False, True, True]),
    "values in a list": lambda a: np.nan_to_num(a, nan=[1, 2, 3, 4]),
    "mask without an initial value": lambda a: np.max(a, where=MASK),
    "mask that is larger": lambda a: np.max(a, initial=0, where=np.ones((2, 1, 1), bool)),
    "mask of numbers": lambda a: np.add(a, 1, where=np.ones(4)),
    "mask that is folded": lambda a: np.sum(np.ones(4), where=a > 0),
    "mask that is folded of add": lambda a: np.add(np.ones((2, 1, 4)), 1, where=a > 0),
    "mean that does not fit": lambda a: np.std(np.tile(a, (2, 1)), mean=np.ones((5, 7))),
    "values that fit": lambda a: np.nan_to_num(a, nan=np.ones(4)),
    "no such argument": lambda a: np.sum(a, pieces=1),
    "first by name": lambda a: np.sum(a=a),
    "prototype by name": lambda a: np.empty_like(prototype=a),
    "outer with a number": lambda a: np.multiply.outer(2.0, a),
    "outer of a number": lambda a: np.multiply.outer(a, 2.0),
    "tile": lambda a: np.tile(a, COUNT(3)),
    "tile by an array": lambda a: np.tile(a, np.array([2, 1])),
    "tile less than never": lambda a: np.tile(a, -1),
    "repeat": lambda a: np.repeat(a, [COUNT(2)], COUNT(0)),
    "repeat 2.5 times": lambda a: np.repeat(a, np.array([2.5])),
    "broadcast_to": lambda a: np.broadcast_to(a, COUNT(4)),
    "broadcast_to an array": lambda a: np.broadcast_to(a, np.array([4, 4])),
    "zeros_like": lambda a: np.zeros_like(a, shape=COUNT(3)),
    "zeros_like by place": lambda a: np.zeros_like(a, "f4", "C", True, (COUNT(2), 3)),
    "zeros_like of less than nothing": lambda a: np.zeros_like(a, shape=-1),
    "full_like of a list by name": lambda a: np.full_like(a, fill_value=[1, 2, 3, 4]),
    "zeros_like of records": lambda a: np.zeros_like(a, [("x", "f4"), ("y", "i4")]),
    "full_like of a list": lambda a: np.full_like(a, [1, 2, 3, 4]),
    "where of a list": lambda a: np.where(a, [1, 2, 3, 4], 0),
    "copyto of a list": lambda a: np.copyto(a, [1, 2, 3, 4], "unsafe"),
    "copyto by numbers": lambda a: np.copyto(a, 1, where=np.ones(4)),
    "tensordot": lambda a: np.tensordot(a, a, (COUNT(0), 0)),
    "tensordot twice of an axis": lambda a: np.tensordot(np.atleast_1d(a), a, ([0, 0], [0, 0])),
    "order of astype": lambda a: a.astype("f4", order="Q"),
    "order of a copy": lambda a: a.copy("Q"),
    "order of ravel": lambda a: a.ravel("Q"),
    "fill with an array": lambda a: a.fill(np.ones(4)),
    "fftn of an axis": lambda a: np.fft.fftn(a, 3, 0),
    "concatenate to a type": lambda a: np.concatenate([np.atleast_1d(a)] * 2, out=np.ones(8), dtype="f8"),
    "cumsum": lambda a: np.cumsum(a, COUNT(0)),
}


@settings(max_examples=500)
@given(st.sampled_from(sorted(ARGUMENTS)), st.sampled_from([(), (1,), (4,), (3, 4), (4, 4), (2, 3, 4)]), DTYPES)
def test_arguments_are_those_of_numpy(name: str, shape: tuple[int, ...], dtype: str) -> None:
    if name.startswith("fill") and dtype == "?":
        return  # numpy warns of what it takes for a bool
    if name == "tensordot twice of an axis" and not shape and NUMPY < "2.0.0":
        return  # numpy looks for the axis before it compares the axes
    agree(ARGUMENTS[name], (shape, dtype))


RECEIVED: dict[str, Callable[..., Any]] = {
    "sum": lambda a, out: np.sum(a, 0, None, out),
    "sum method": lambda a, out: a.sum(0, None, out),
    "sum of all": lambda a, out: np.sum(a, out=out),
    "max": lambda a, out: np.max(a, -1, out),
    "std": lambda a, out: np.std(a, 0, None, out),
    "mean": lambda a, out: np.mean(a, 0, None, out),
    "argmax": lambda a, out: np.argmax(a, 0, out),
    "any": lambda a, out: a.any(0, out=out),
    "nanmax": lambda a, out: np.nanmax(a, 0, out=out),
    "reduce": lambda a, out: np.add.reduce(a, 0, None, out),
    "cumsum": lambda a, out: np.cumsum(a, 0, None, out),
    "cumprod": lambda a, out: np.cumprod(a, None, None, out),
    "clip": lambda a, out: np.clip(a, 0, 1, out),
    "fix": np.fix,
    "take": lambda a, out: np.take(a, [0, 0, 0], 0, out),
    "take method": lambda a, out: a.take([0, 1], out=out),
    "concatenate": lambda a, out: np.concatenate([a, a], 0, out),
    "concatenate flat": lambda a, out: np.concatenate([a, a], None, out, casting="unsafe"),
    "stack": lambda a, out: np.stack([a, a], 0, out),
    "trace": lambda a, out: np.trace(a, 0, 0, 1, None, out),
    "dot": lambda a, out: np.dot(a, np.ones((a.shape or (1,))[-1], a.dtype), out),
    "matmul": lambda a, out: np.matmul(a, a.T, out),
    "outer": lambda a, out: np.outer(a, [1, 2], out),
    "ufunc outer": lambda a, out: np.add.outer(2, a, out=out),
    "einsum": lambda a, out: np.einsum("ij->j", a, out=out),
    "fft": lambda a, out: np.fft.fft(a, None, -1, None, out),
    "irfft": lambda a, out: np.fft.irfft(a, 4, out=out),
    "hfft": lambda a, out: np.fft.hfft(a, 4, out=out),
    "rfft2": lambda a, out: np.fft.rfft2(a, out=out),
}
OUT_SHAPES = [(), (3,), (4,), (12,), (24,), (1, 4), (3, 1), (3, 3), (3, 4), (4, 4), (6, 4), (2, 3, 4), (12, 2)]


def received(call: Callable[..., Any], array: Any, out: Any) -> Any:
    """Whether it is refused, or is what was given, or the description of something else."""
    results: list[Any] = []
    found = outcome(lambda: results.append(call(array, out)) or results[0])
    return "refused" if not results else "the array" if results[0] is out else found


@settings(max_examples=500)
@given(
    st.sampled_from(sorted(RECEIVED)),
    st.sampled_from([(4,), (3, 4), (4, 4), (2, 3, 4)]),
    DTYPES,
    st.sampled_from(OUT_SHAPES),
    st.sampled_from(["f8", "f4", "c16", "i8", "?"]),
    st.booleans(),
)
def test_what_receives_a_result_is_refused_where_numpy_refuses_it(
    name: str, shape: tuple[int, ...], dtype: str, out_shape: tuple[int, ...], out_dtype: str, is_writeable: bool
) -> None:
    if name.startswith("cum") and len(out_shape) != (len(shape) if name == "cumsum" else 1):
        return  # numpy crashes
    there, kept = np.full(out_shape, 7, out_dtype), np.full(out_shape, 7, out_dtype)
    real = kept.copy()
    real.flags.writeable = there.flags.writeable = is_writeable
    expected = received(RECEIVED[name], plain(shape, dtype), real)
    assert received(RECEIVED[name], smpy.folded(shape, dtype), there) == expected
    assert (there == kept).all()
    if is_writeable:
        assert received(RECEIVED[name], smpy.folded(shape, dtype), smpy.folded(out_shape, out_dtype)) == expected


def test_results_are_folded_and_arrays_that_are_there_are_not_touched() -> None:
    huge, there = smpy.folded((10**6, 10**6)), np.arange(10.0)
    for result in (huge + 1, huge @ huge, np.linalg.solve(huge, huge), huge.sum(axis=0), huge.copy(), huge.T.dot(huge)):
        assert result.__smpy_folded__
    assert np.add(smpy.folded(10), 1, out=there) is there
    assert (there == np.arange(10.0)).all()
    assert type(huge + there[0]) is Folded
    huge[:] = 7
    assert huge[3, 4] == 1 == smpy.folded(3)[0]


def test_what_compiled_code_writes_into_one_array_is_in_no_other() -> None:
    one, other = smpy.folded(3), smpy.folded(3)
    np.frombuffer(memoryview(one[:1]))[0] = 7
    assert (one[0], one.copy()[0], other[0], smpy.folded(3)[0]) == (7, 7, 1, 1)
    copied = other.copy()
    np.frombuffer(memoryview(other[:1]))[0] = 8
    assert copied[0] == 1
    complexes = smpy.folded(3, complex)
    complexes.imag = 5
    assert complexes[0] == 1
    assert smpy.folded(3).imag.max() == 0


def test_a_result_that_is_a_number_is_that_of_the_one_element() -> None:
    array = smpy.folded((1000, 1000))
    assert (array + 1).sum() == 2
    assert (array / 4).max() == 0.25
    assert not np.isnan(array).any()
    assert (array > 0).all()
    assert np.linalg.norm(array) == 1
    assert array.argmax() == 0


def test_what_has_no_model_is_refused_by_name() -> None:
    array = smpy.folded((3, 3))
    for call, name in (
        (lambda: np.linalg.eig(array), "numpy.linalg.eig"),
        (lambda: np.sort(array), "numpy.sort"),
        (array.sort, "numpy.ndarray.sort"),
        (lambda: np.where(array), "numpy.where"),
        (lambda: np.linalg.norm(array, 2), "numpy.linalg.norm"),
        (lambda: np.linalg.pinv(array), "numpy.linalg.pinv"),
        (lambda: np.einsum("ij,jk", array, array, optimize=True), "numpy.einsum"),
        (lambda: np.add.at(array, [0], 1), "numpy.add.at"),
    ):
        with pytest.raises(UsageError, match=f"^{name} of a folded array is not modelled"):
            call()


KEYS = st.one_of(
    st.lists(st.integers(-4, 3), max_size=3),
    st.integers(-4, 3),
    st.sampled_from([slice(None), slice(1, None), slice(None, None, 2), None, ..., True, np.int64(1), np.array(0)]),
    st.sampled_from([np.zeros((2, 1), int), np.ones((1, 3), int), np.array([True, False]), np.eye(3, dtype=bool)]),
)


@given(SHAPES, st.one_of(KEYS, st.lists(KEYS, max_size=4).map(tuple)), st.booleans())
def test_parts_have_the_shapes_and_errors_of_numpy(shape: tuple[int, ...], key: Any, is_set: bool) -> None:
    if is_set:
        agree(lambda a: a.__setitem__(key, 1), (shape, "f8"))
        agree(lambda a: a[key] is None or a.__setitem__(key, np.ones(2)), (shape, "f8"))
    else:
        agree(lambda a: a[key], (shape, "f8"))


@given(SHAPES, st.lists(st.sampled_from([(), (2,), (1, 3), (2, 1), slice(None), None, 0]), max_size=3))
def test_indices_that_are_folded_take_as_many_as_others(shape: tuple[int, ...], parts: list[Any]) -> None:
    def key(make: Callable[..., Any]) -> tuple[Any, ...]:
        return tuple(make(part, int) if isinstance(part, tuple) else part for part in parts)

    real = outcome(lambda a: a[key(np.zeros)], plain(shape, "f8"))
    assert outcome(lambda a: a[key(smpy.folded)], smpy.folded(shape)) == real


def test_parts_that_are_copied_are_folded() -> None:
    huge = smpy.folded((10**6, 10**5))
    assert huge[[0, 5]].__smpy_folded__
    assert huge[smpy.folded(10**6, int)].shape == (10**6, 10**5)
    huge[huge > 0] = 3
    assert np.take(smpy.folded(10**12), [5, 10**11]).shape == (2,)
    assert 1 in huge
    with pytest.raises(UsageError, match="__getitem__ of a folded array is not modelled with a mask that is folded"):
        _ = huge[huge > 0]
    with pytest.raises(UsageError, match=r"numpy\.ndarray\.tofile"):
        huge.tofile("nowhere")
    assert smpy.folded(3).tolist() == [1.0] * 3


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")  # numpy 2.5 has programs reshape instead
def test_a_part_fits_no_more_into_what_it_was_taken_from_when_that_has_another_shape() -> None:
    whole = smpy.folded((2, 6))
    row = whole[0]
    whole.shape = (6, 2)
    with pytest.raises(ValueError, match="could not broadcast"):
        whole[0] = row


def test_a_part_keeps_no_other_part_alive() -> None:
    part = smpy.folded(9)[:-1]
    other, gone = part[:-1], weakref.ref(part)
    del part
    assert gone() is None
    assert other.shape == (7,)


# ---- the table of what costs what ----


DOCS = Path(smpy.__file__).parent.parent / "docs"
FREE = {"empty_like", "ravel", "broadcast_to", "broadcast_arrays"}  # these have rules, which charge nothing


@pytest.mark.skipif(NUMPY < "2.1.0", reason="the page names functions that numpy has since 2.1")
def test_the_page_names_the_functions_that_are_made_of_others_and_those_that_take_no_time() -> None:
    text = (DOCS / "what-costs-what.md").read_text(encoding="utf-8").partition("## Functions made of others")[2]
    told = set(re.findall(r"`((?:linalg\.)?[a-z][a-z_0-9]*)`", text.partition("## Refused functions")[0]))
    assert told == {name for name in AS_THEY_ARE + COMPOSED if numpy_function(name)} | CONVERSIONS.keys() | FREE


@pytest.mark.skipif(NUMPY < "2.1.0", reason="the page names functions that numpy has since 2.1")
def test_each_function_that_takes_time_is_called_for_the_page_of_costs() -> None:
    calls = "".join(runpy.run_path(str(DOCS / "costs.py"))["CALLS"].values())
    called = set(re.findall(r"^(?:\w+\.)*(\w+)\(", calls, re.MULTILINE))
    of_numpy = {one.__name__ for one in RULES}
    assert of_numpy - called == FREE
    assert set(SCIPY_LINALG) - called == set()
    families = {re.sub("^[sdcz]", "", name) for name in called}
    assert {name[1:] for name in LAPACK} - families == set()
    kernels = {routine.rule for name, routine in ROUTINES.items() if name in called}
    assert {routine.rule for routine in ROUTINES.values()} - kernels == set()
