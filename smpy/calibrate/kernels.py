"""The kernels to measure: their sizes, the candidate terms of their cost, and their calls.

Operands are parts of pools that are filled once, so that a visit costs its call and nothing else. Their values are
harmless: triangles are close to the identity, matrices to factorise are restored before each call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from smpy.calibrate.terms import INTERCEPT, evaluate

Sizes = Mapping[str, int]
Array = NDArray[Any]

TYPES: Final[Mapping[str, type[np.generic]]] = {
    "s": np.float32,
    "d": np.float64,
    "c": np.complex64,
    "z": np.complex128,
}
SPEED: Final = "core_speed"
_FFT_FACTORS: Final = (2, 3, 5, 7)
_FFT_KNOTS: Final = (1 << 16, 1 << 18, 1 << 20)  # numbers of a line beyond which its passes leave a cache
_NARROW: Final = 32
_BATCH_MAX: Final = 256
_WORD_BYTES: Final = 8
_TRIES_PER_DRAW: Final = 2000


@dataclass(frozen=True, slots=True)
class TimedKernel:
    """Kernel with its operands, ready to be timed.

    Parameters
    ----------
    run : callable
        The kernel's call.
    restore : callable or None
        Restores the operands; None: they may be used again as they are.
    """

    run: Callable[[], object]
    restore: Callable[[], object] | None = None


@dataclass(frozen=True, slots=True)
class Kernel:
    """Kernel to measure.

    Parameters
    ----------
    name : str
        "dgemm".
    sizes : tuple of str
        Names of its sizes.
    leading : tuple of str
        Terms of its count of operations, which stay in the fit.
    combined : mapping of str to float
        A count of operations that is the leading term, where that is a sum of terms.
    more : tuple of str
        Other terms that the fit may have: an element costs more beyond the caches.
    signed : tuple of str
        Terms whose coefficient may be negative.
    work : mapping of str to float
        Floating-point operations of a call, about, by terms; of kernels that do none, elements moved.
    operands : tuple of str
        Elements of the operands, as terms.
    prepare : callable
        Makes the call, from pools and sizes.
    is_tall : bool
        Whether m >= n.
    is_smooth : bool
        Whether n has small prime factors alone.
    smallest : int
        The smallest dimension that is measured. Products of matrices take other ways where one is narrow, and what is
        fitted to these is wrong by a third where most time goes: in large ones.
    n_warming : int
        Calls after which its operands are where caches keep them.
    """

    name: str
    sizes: tuple[str, ...]
    leading: tuple[str, ...]
    work: Mapping[str, float]
    operands: tuple[str, ...]
    prepare: Callable[[Pools, Sizes], TimedKernel]
    combined: Mapping[str, float] = field(default_factory=dict)
    more: tuple[str, ...] = ()
    signed: tuple[str, ...] = ()
    is_tall: bool = False
    is_smooth: bool = False
    smallest: int = 2
    n_warming: int = 1

    def work_of(self, sizes: Sizes) -> float:
        """Number of operations of a call."""
        return float(sum(count * evaluate(term, sizes) for term, count in self.work.items()))

    def elements_of(self, sizes: Sizes) -> float:
        """Number of elements of the largest operand."""
        return max((float(evaluate(term, sizes)) for term in self.operands), default=0.0)

    @property
    def candidates(self) -> tuple[str, ...]:
        """Leading terms and their divisors, work on faces, edges and calls, an intercept last; then other terms."""
        return tuple(
            dict.fromkeys([*self.more, *self.leading, *(part for term in self.leading for part in _divisors(term))])
        )


class Pools:
    """Operands of all kernels: memory filled once, and viewed as arrays of any type and shape.

    Parameters
    ----------
    size_bytes : int
        Size of the largest operand.
    rng : numpy.random.Generator
        Generator of their contents.
    """

    def __init__(self, size_bytes: int, rng: np.random.Generator) -> None:
        self.size_bytes: Final = size_bytes
        self._rng: Final = rng
        self._pools: Final[dict[tuple[str, object], Array]] = {}

    def vector(self, dtype: type[np.generic], slot: int, n: int) -> Array:
        """Array of `n` elements of slot 0, 1 or 2, of magnitude 1."""
        return self._pool(dtype, slot)[:n]

    def matrix(self, dtype: type[np.generic], slot: int, m: int, n: int) -> Array:
        """An m x n matrix in Fortran's order."""
        return self._pool(dtype, slot)[: m * n].reshape((m, n), order="F")

    def triangle(self, dtype: type[np.generic], n: int) -> Array:
        """An n x n matrix with elements below 1 / n: with a unit diagonal it is close to the identity."""
        return self._pool(dtype, "triangle")[: n * n].reshape((n, n), order="F")

    def dominant(self, dtype: type[np.generic], n: int) -> Array:
        """A copy of `triangle` with 2 on its diagonal: positive definite."""
        matrix = self.triangle(dtype, n).copy(order="F")
        np.fill_diagonal(matrix, 2)
        return matrix

    def _pool(self, dtype: type[np.generic], slot: int | str) -> Array:
        real = np.float32 if np.dtype(dtype).name in ("float32", "complex64") else np.float64
        key = (np.dtype(real).name, slot)
        if key not in self._pools:
            numbers = self._rng.random(self.size_bytes // 8, dtype=np.float64)
            numbers -= 0.5
            if slot == "triangle":
                numbers /= np.sqrt(self.size_bytes / 8)  # order of the largest product
            self._pools[key] = np.resize(numbers, self.size_bytes // np.dtype(real).itemsize).astype(real)
        return self._pools[key].view(dtype)


def core_speed_kernel() -> Kernel:
    """Product of two n x n matrices; its rate is the speed of a core."""
    from scipy.linalg.blas import dgemm

    return Kernel(SPEED, ("n",), ("n^3",), {"n^3": 2}, ("n^2",), _square_product(dgemm))


def kernels() -> dict[str, Kernel]:
    """All kernels by name."""
    unordered = [*_blas(), *_lapack(), *_ffts(), *_memory()]
    return {kernel.name: kernel for kernel in sorted(unordered, key=lambda kernel: kernel.name)}


def _divisors(term: str) -> Iterator[str]:
    """Terms that divide a term, the longest first; a logarithm goes with its size."""
    factors = term.split("*")
    powers = [range(int(factor.partition("^")[2] or 1), -1, -1) for factor in factors if not factor.startswith("log2")]
    names = [factor.partition("^")[0] for factor in factors if not factor.startswith("log2")]
    parts = sorted(product(*powers), key=lambda part: -sum(part))
    for part in parts:
        yield (
            "*".join(f"{name}^{power}" if power > 1 else name for name, power in zip(names, part, strict=True) if power)
            or INTERCEPT
        )


# ---- BLAS ----


def _blas() -> Iterator[Kernel]:
    from scipy.linalg import blas

    for letter, dtype in TYPES.items():
        real = letter in "sd"
        flop = 1.0 if real else 4.0  # half the operations of a product and a sum together
        vector_names = {
            "axpy": f"{letter}axpy",
            "copy": f"{letter}copy",
            "dot": f"{letter}dot" if real else f"{letter}dotu",
            "iamax": f"i{letter}amax",
            "nrm2": {"s": "snrm2", "d": "dnrm2", "c": "scnrm2", "z": "dznrm2"}[letter],
            "scal": f"{letter}scal",
            "swap": f"{letter}swap",
        }
        for kind, name in vector_names.items():
            yield Kernel(
                name,
                ("n",),
                ("n",),
                more=("n*log2(n)",),
                signed=("n",),
                work={"n": 1},
                operands=("n",),
                prepare=_vector_call(kind, getattr(blas, name), dtype),
            )
        yield Kernel(
            f"{letter}gemv",
            ("m", "n"),
            ("m*n",),
            more=("m*n*log2(m)", "m*n*log2(n)"),
            signed=("m*n",),
            work={"m*n": 2 * flop},
            operands=("m*n",),
            prepare=_gemv(getattr(blas, f"{letter}gemv"), dtype),
            smallest=8,
        )
        ger = f"{letter}ger" if real else f"{letter}geru"
        yield Kernel(
            ger,
            ("m", "n"),
            ("m*n",),
            more=("m*n*log2(m)", "m*n*log2(n)"),
            signed=("m*n",),
            work={"m*n": 2 * flop},
            operands=("m*n",),
            prepare=_ger(getattr(blas, ger), dtype),
            smallest=8,
        )
        yield Kernel(
            f"{letter}gemm",
            ("m", "n", "k"),
            ("m*n*k",),
            work={"m*n*k": 2 * flop},
            operands=("m*n", "m*k", "n*k"),
            prepare=_gemm(getattr(blas, f"{letter}gemm"), dtype),
            smallest=_NARROW,
        )
        yield Kernel(
            f"{letter}syrk",
            ("n", "k"),
            ("n^2*k",),
            work={"n^2*k": flop},
            operands=("n^2", "n*k"),
            prepare=_syrk(getattr(blas, f"{letter}syrk"), dtype),
            smallest=_NARROW,
        )
        for kind, (side, order) in product(("trsm", "trmm"), (("left", "m"), ("right", "n"))):
            other = {"m": "n", "n": "m"}[order]
            yield Kernel(
                f"{letter}{kind}_{side}",
                ("m", "n"),
                (f"{order}^2*{other}",),
                work={f"{order}^2*{other}": flop},
                operands=(f"{order}^2", "m*n"),
                prepare=_triangular(getattr(blas, f"{letter}{kind}"), dtype, order, is_right=side == "right"),
                smallest=_NARROW,
            )


Prepare = Callable[[Pools, Sizes], TimedKernel]


def _vector_call(kind: str, function: Callable[..., object], dtype: type[np.generic]) -> Prepare:
    def prepare(pools: Pools, sizes: Sizes) -> TimedKernel:
        x, y = (pools.vector(dtype, slot, sizes["n"]) for slot in (0, 1))
        calls: dict[str, Callable[[], object]] = {
            "axpy": lambda: function(x, y, a=1e-3),
            "scal": lambda: function(-1, x),
            "nrm2": lambda: function(x),
            "iamax": lambda: function(x),
        }
        return TimedKernel(calls.get(kind, lambda: function(x, y)))

    return prepare


def _gemv(function: Callable[..., object], dtype: type[np.generic]) -> Prepare:
    def prepare(pools: Pools, sizes: Sizes) -> TimedKernel:
        a = pools.matrix(dtype, 0, sizes["m"], sizes["n"])
        x, y = pools.vector(dtype, 1, sizes["n"]), pools.vector(dtype, 2, sizes["m"])
        return TimedKernel(lambda: function(1e-3, a, x, beta=0.5, y=y, overwrite_y=1))

    return prepare


def _ger(function: Callable[..., object], dtype: type[np.generic]) -> Prepare:
    def prepare(pools: Pools, sizes: Sizes) -> TimedKernel:
        a = pools.matrix(dtype, 0, sizes["m"], sizes["n"])
        x, y = pools.vector(dtype, 1, sizes["m"]), pools.vector(dtype, 2, sizes["n"])
        return TimedKernel(lambda: function(1e-3, x, y, a=a, overwrite_a=1))

    return prepare


def _gemm(function: Callable[..., object], dtype: type[np.generic]) -> Prepare:
    def prepare(pools: Pools, sizes: Sizes) -> TimedKernel:
        m, n, k = sizes["m"], sizes["n"], sizes["k"]
        a, b = pools.matrix(dtype, 0, m, k), pools.matrix(dtype, 1, k, n)
        c = pools.matrix(dtype, 2, m, n)
        return TimedKernel(lambda: function(-1e-3, a, b, beta=1, c=c, overwrite_c=1))

    return prepare


def _square_product(function: Callable[..., object]) -> Prepare:
    multiply = _gemm(function, np.float64)
    return lambda pools, sizes: multiply(pools, dict.fromkeys("mnk", sizes["n"]))


def _syrk(function: Callable[..., object], dtype: type[np.generic]) -> Prepare:
    def prepare(pools: Pools, sizes: Sizes) -> TimedKernel:
        a = pools.matrix(dtype, 0, sizes["n"], sizes["k"])
        c = pools.matrix(dtype, 2, sizes["n"], sizes["n"])
        return TimedKernel(lambda: function(-1e-3, a, beta=1, c=c, overwrite_c=1))

    return prepare


def _triangular(function: Callable[..., object], dtype: type[np.generic], order: str, *, is_right: bool) -> Prepare:
    def prepare(pools: Pools, sizes: Sizes) -> TimedKernel:
        a = pools.triangle(dtype, sizes[order])
        b = pools.matrix(dtype, 0, sizes["m"], sizes["n"])
        return TimedKernel(lambda: function(1, a, b, side=int(is_right), lower=1, diag=1, overwrite_b=1))

    return prepare


# ---- LAPACK ----


def _lapack() -> Iterator[Kernel]:
    from scipy.linalg import lapack

    for letter, dtype in TYPES.items():
        flop = 1.0 if letter in "sd" else 4.0
        for kind, times in (("getrf", 1.0), ("geqrf", 2.0)):
            yield Kernel(
                f"{letter}{kind}",
                ("m", "n"),
                ("m*n^2",),
                combined={"m*n^2": 1, "n^3": -1 / 3},
                work={"m*n^2": times * flop, "n^3": -times * flop / 3},
                operands=("m*n",),
                prepare=_factorise(kind, letter, lapack, dtype),
                smallest=8,
                is_tall=True,
            )
        yield Kernel(
            f"{letter}potrf",
            ("n",),
            ("n^3",),
            work={"n^3": flop / 3},
            operands=("n^2",),
            prepare=_cholesky(getattr(lapack, f"{letter}potrf"), dtype),
        )


def _factorise(kind: str, letter: str, lapack: Any, dtype: type[np.generic]) -> Prepare:
    function = getattr(lapack, letter + kind)

    def prepare(pools: Pools, sizes: Sizes) -> TimedKernel:
        source = pools.matrix(dtype, 1, sizes["m"], sizes["n"])
        a = pools.matrix(dtype, 0, sizes["m"], sizes["n"])
        more: dict[str, int] = {}
        if kind == "geqrf":
            work, _ = getattr(lapack, f"{letter}geqrf_lwork")(sizes["m"], sizes["n"])
            more["lwork"] = int(np.real(work))
        return TimedKernel(lambda: function(a, overwrite_a=1, **more), restore=lambda: np.copyto(a, source))

    return prepare


def _cholesky(function: Callable[..., object], dtype: type[np.generic]) -> Prepare:
    def prepare(pools: Pools, sizes: Sizes) -> TimedKernel:
        source = pools.dominant(dtype, sizes["n"])
        a = pools.matrix(dtype, 0, sizes["n"], sizes["n"])
        return TimedKernel(lambda: function(a, lower=1, clean=0, overwrite_a=1), restore=lambda: np.copyto(a, source))

    return prepare


# ---- FFT ----


def _ffts() -> Iterator[Kernel]:
    def prepare_with(function: Callable[[Array], object], dtype: type[np.generic]) -> Prepare:
        def prepare(pools: Pools, sizes: Sizes) -> TimedKernel:
            lines = pools.vector(dtype, 0, sizes["n"] * sizes["batch"]).reshape(sizes["batch"], sizes["n"])
            return TimedKernel(lambda: function(lines))

        return prepare

    single = _fft_in_single_precision()
    of_type = {"s": single.rfft, "d": np.fft.rfft, "c": single.fft, "z": np.fft.fft}
    for letter, dtype in TYPES.items():
        yield Kernel(
            f"{letter}fft",
            ("n", "batch"),
            ("n*log2(n)*batch",),
            more=tuple(f"max(n-{knot},0)*log2(n)*batch" for knot in _FFT_KNOTS),
            work={"n*log2(n)*batch": 5},
            operands=("n*batch",),
            prepare=prepare_with(of_type[letter], dtype),
            is_smooth=True,
        )


def _fft_in_single_precision() -> Any:
    """FFT module whose transforms compute in the precision of their argument: numpy's do so from 2.0 on."""
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        return np.fft
    from scipy import fft

    return fft


# ---- memory ----


def _memory() -> Iterator[Kernel]:
    """Sizes are those of one array, in bytes: a copy moves two of them, a triad, y += a x, three."""

    def copy(pools: Pools, sizes: Sizes) -> TimedKernel:
        source, target = (pools.vector(np.float64, slot, sizes["bytes"] // 8) for slot in (0, 1))
        return TimedKernel(lambda: np.copyto(target, source))

    def triad(pools: Pools, sizes: Sizes) -> TimedKernel:
        from scipy.linalg.blas import daxpy

        x, y = (pools.vector(np.float64, slot, sizes["bytes"] // 8) for slot in (0, 1))
        return TimedKernel(lambda: daxpy(x, y, a=1e-3))

    for name, prepare in (("copy_memory", copy), ("triad", triad)):
        yield Kernel(
            name,
            ("bytes",),
            ("bytes",),
            more=("bytes*log2(bytes)",),
            signed=("bytes",),
            work={"bytes": 1 / 8},
            operands=(),
            prepare=prepare,
        )


# ---- sizes ----


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of drawn sizes.

    Parameters
    ----------
    dimension : int
        Largest dimension of a matrix.
    work : float
        Floating-point operations of one call.
    elements : int
        Elements of one operand.
    """

    dimension: int
    work: float
    elements: int


def draw_sizes(kernel: Kernel, limits: Limits, rng: np.random.Generator, n_draws: int) -> list[tuple[int, ...]]:
    """Random sizes of a kernel within limits: uniform and log-uniform by turns.

    Large calls take most of a program's time, and most of its calls are small.

    Parameters
    ----------
    kernel : Kernel
        Kernel to draw sizes for.
    limits : Limits
        Bounds of the sizes.
    rng : numpy.random.Generator
        Generator of the draws.
    n_draws : int
        Number of draws.

    Returns
    -------
    list of tuple of int
        In the order of `kernel.sizes`, all different; fewer if the limits have no room for so many.
    """
    drawn: dict[tuple[int, ...], None] = {}
    for _ in range(_TRIES_PER_DRAW * n_draws):
        if len(drawn) == n_draws:
            break
        sizes = _draw(kernel, limits, rng, is_uniform=len(drawn) % 2 == 0)
        if kernel.work_of(sizes) <= limits.work and kernel.elements_of(sizes) <= limits.elements:
            drawn[tuple(sizes[name] for name in kernel.sizes)] = None
    return list(drawn)


def _draw(kernel: Kernel, limits: Limits, rng: np.random.Generator, *, is_uniform: bool) -> dict[str, int]:
    sizes = {}
    for name in kernel.sizes:
        low, high = _range(kernel, name, limits)
        u = rng.random()
        sizes[name] = int(low + u * (high + 1 - low) if is_uniform else low * ((high + 1) / low) ** u)
    if kernel.is_tall and sizes["m"] < sizes["n"]:
        sizes["m"], sizes["n"] = sizes["n"], sizes["m"]
    if kernel.is_smooth:
        sizes["n"] = _smooth(sizes["n"])
    if "bytes" in sizes:
        sizes["bytes"] -= sizes["bytes"] % _WORD_BYTES
    return sizes


def _range(kernel: Kernel, name: str, limits: Limits) -> tuple[int, int]:
    if name == "bytes":
        return 512 * _WORD_BYTES, limits.elements * _WORD_BYTES
    if name == "batch":
        return 1, _BATCH_MAX
    is_matrix = len(kernel.operands) > 1 or kernel.operands[0] not in ("n", "n*batch")
    return kernel.smallest, limits.dimension if is_matrix else limits.elements


def _smooth(n: int) -> int:
    """Largest number up to `n` whose prime factors are 2, 3, 5 and 7."""
    while n > 1:
        rest = n
        for factor in _FFT_FACTORS:
            while rest % factor == 0:
                rest //= factor
        if rest == 1:
            return n
        n -= 1
    return 2
