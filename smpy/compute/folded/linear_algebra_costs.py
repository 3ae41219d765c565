"""Costs of dense linear algebra: calls of BLAS and LAPACK kernels, with the operation counts of textbooks.

A complex number is four times the operations. Sizes of a factorisation's kernel have the larger one first: kernels are
measured with tall matrices, and a wide one takes as many operations as its transpose.

References
----------
.. [1] G. H. Golub, C. F. Van Loan, "Matrix Computations", 4th edition, 2013: 5.5.6 (least squares), 8.3.3 (symmetric
   eigenvalues), 8.6.4 (singular values).
.. [2] S. Blackford, J. Dongarra, "Installation Guide for LAPACK", LAPACK Working Note 41, 1999: appendix C.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import numpy as np

from smpy.compute.folded.charges import BLAS_LETTERS, Charge

__all__ = [
    "apply_q_charges",
    "cholesky_charges",
    "eigh_charges",
    "inverse_of_factors_charges",
    "kernel_charges",
    "least_squares_charges",
    "lu_charges",
    "product_charges",
    "q_charges",
    "qr_charges",
    "solve_charges",
    "svd_charges",
    "triangular_charges",
    "triangular_inverse_charges",
]

Charges = tuple[Charge, ...]
Shape = tuple[int, ...]
_COMPLEX_FLOP: Final = 4


def kernel_charges(
    family: str,
    dtype: np.dtype[Any],
    sizes: Shape,
    flop: float,
    elements: float,
    n_calls: int = 1,
    variant: str = "",
    rewritten: float = 0,
) -> Charges:
    """Calls of a kernel in numbers of a type; of a type that BLAS has not, operations are as many, by roofline.

    Rewritten elements are those of the read and written ones that are in the place of others.
    """
    if dtype.kind == "c":
        flop *= _COMPLEX_FLOP
    letter = BLAS_LETTERS.get(dtype.char, "")
    name = f"{letter}{family}{variant}" if letter else f"{family}_{dtype.name}"
    moved_bytes, rewritten_bytes = elements * dtype.itemsize, rewritten * dtype.itemsize
    return (Charge(name, sizes, flop, moved_bytes, n_calls, rewritten_bytes),) if n_calls else ()


def product_charges(dtype: np.dtype[Any], m: int, n: int, k: int, n_calls: int = 1) -> Charges:
    """An m x k matrix times a k x n one: by gemm, by gemv if one of them is a vector, by dot if both are."""
    flop, elements = 2.0 * m * n * k, m * k + k * n + m * n
    if m == n == 1:
        return kernel_charges("dotu" if dtype.kind == "c" else "dot", dtype, (k,), flop, elements, n_calls)
    if n == 1:
        return kernel_charges("gemv", dtype, (m, k), flop, elements, n_calls)
    if m == 1:
        return kernel_charges("gemv", dtype, (k, n), flop, elements, n_calls)
    return kernel_charges("gemm", dtype, (m, n, k), flop, elements, n_calls)


def lu_charges(dtype: np.dtype[Any], m: int, n: int, n_calls: int = 1) -> Charges:
    """L and U of an m x n matrix: m n^2 - n^3 / 3 operations if it is tall; a wide one costs as its transpose."""
    tall, short = max(m, n), min(m, n)
    flop = float(tall) * short**2 - short**3 / 3
    return kernel_charges("getrf", dtype, (tall, short), flop, 2 * m * n, n_calls, rewritten=m * n)


def qr_charges(dtype: np.dtype[Any], m: int, n: int, n_calls: int = 1) -> Charges:
    """R, and reflectors that represent Q: 2 m n^2 - 2 n^3 / 3 operations."""
    tall, short = max(m, n), min(m, n)
    flop = 2.0 * tall * short**2 - 2 * short**3 / 3
    return kernel_charges("geqrf", dtype, (tall, short), flop, 2 * m * n, n_calls, rewritten=m * n)


def q_charges(dtype: np.dtype[Any], m: int, n: int, k: int, n_calls: int = 1) -> Charges:
    """N columns of Q from k reflectors: 4 m n k - 2 (m + n) k^2 + 4 k^3 / 3 operations."""
    family = "ungqr" if dtype.kind == "c" else "orgqr"
    flop = 4.0 * m * n * k - 2.0 * (m + n) * k**2 + 4 * k**3 / 3
    return kernel_charges(family, dtype, (m, n, k), flop, 2 * m * n, n_calls, rewritten=m * n)


def cholesky_charges(dtype: np.dtype[Any], n: int, n_calls: int = 1) -> Charges:
    """Triangle whose product with its transpose is an n x n matrix: n^3 / 3 operations."""
    return kernel_charges("potrf", dtype, (n,), float(n) ** 3 / 3, n * (n + 1), n_calls, rewritten=n * (n + 1) / 2)


def triangular_charges(dtype: np.dtype[Any], n: int, n_right: int, n_calls: int = 1) -> Charges:
    """Solution with an n x n triangle for some right-hand sides."""
    elements = n * (n + 1) / 2 + 2 * n * n_right
    if n_right == 1:
        return kernel_charges("trsv", dtype, (n,), float(n) ** 2, elements, n_calls, rewritten=n)
    return _triangle_charges(dtype, n, n_right, n_calls, "_left")


def _triangle_charges(dtype: np.dtype[Any], n: int, n_right: int, n_calls: int, side: str) -> Charges:
    elements = n * (n + 1) / 2 + 2 * n * n_right
    sizes = (n, n_right)
    return kernel_charges("trsm", dtype, sizes, float(n) ** 2 * n_right, elements, n_calls, side, n * n_right)


def solve_charges(dtype: np.dtype[Any], n: int, n_right: int, n_calls: int = 1) -> Charges:
    """LU factorisation, and solutions with two triangles."""
    triangle = _triangle_charges(dtype, n, n_right, n_calls, "_left")
    return (*lu_charges(dtype, n, n, n_calls), *triangle, *triangle)


def apply_q_charges(dtype: np.dtype[Any], m: int, n: int, k: int, *, is_right: bool = False) -> Charges:
    """Product of an m x n matrix and the Q of k reflectors: 4 m n k - 2 n k^2 operations; on the right m and n swap."""
    family, order = "unmqr" if dtype.kind == "c" else "ormqr", n if is_right else m
    flop = 4.0 * m * n * k - 2.0 * (m * n // max(order, 1)) * k**2
    elements = order * k + 2 * m * n
    variant = "_right" if is_right else "_left"
    return kernel_charges(family, dtype, (m, n, k), flop, elements, variant=variant, rewritten=m * n)


def triangular_inverse_charges(
    dtype: np.dtype[Any], n: int, family: Literal["potri", "trtri"], n_calls: int = 1
) -> Charges:
    """Inverse of an n x n triangle: n^3 / 3 operations; from a Cholesky factor, of its matrix: 2 n^3 / 3."""
    flop = float(n) ** 3 * (2 if family == "potri" else 1) / 3
    return kernel_charges(family, dtype, (n,), flop, n * (n + 1), n_calls, rewritten=n * (n + 1) / 2)


def inverse_of_factors_charges(dtype: np.dtype[Any], n: int, n_calls: int = 1) -> Charges:
    """Inverse from L and U: that of U, and a solution with L from the right: 4 n^3 / 3 operations [2]_."""
    return triangular_inverse_charges(dtype, n, "trtri", n_calls) + _triangle_charges(dtype, n, n, n_calls, "_right")


def eigh_charges(dtype: np.dtype[Any], n: int, n_calls: int = 1, *, with_vectors: bool) -> Charges:
    """Eigenvalues of a symmetric n x n matrix: 4 n^3 / 3 operations; with its eigenvectors: 9 n^3 [1]_."""
    family = "heevd" if dtype.kind == "c" else "syevd"
    flop = float(n) ** 3 * (9 if with_vectors else 4 / 3)
    variant = "_vectors" if with_vectors else "_values"
    return kernel_charges(family, dtype, (n,), flop, (2 if with_vectors else 1) * n * n, n_calls, variant)


def svd_charges(
    dtype: np.dtype[Any], m: int, n: int, n_calls: int = 1, *, vectors: Literal["none", "reduced", "full"]
) -> Charges:
    """Singular values of an m x n matrix, with the wanted vectors: the cheaper of two algorithms [1]_.

    The two are Golub and Reinsch's, and the one that begins with a QR factorisation.
    """
    tall, short = float(max(m, n)), float(min(m, n))
    if vectors == "none":
        flop = min(4 * tall * short**2 - 4 * short**3 / 3, 2 * tall * short**2 + 2 * short**3)
    elif vectors == "reduced":
        flop = min(14 * tall * short**2 + 8 * short**3, 6 * tall * short**2 + 20 * short**3)
    else:
        more = 4 * tall**2 * short
        flop = more + min(8 * tall * short**2 + 9 * short**3, 22 * short**3)
    n_vectors = {"none": 0.0, "reduced": short, "full": tall}[vectors]
    elements = m * n + n_vectors * tall + (short * short if n_vectors else 0)
    variant = {"none": "_values", "reduced": "_reduced", "full": "_full"}[vectors]
    return kernel_charges("gesdd", dtype, (max(m, n), min(m, n)), flop, elements, n_calls, variant)


def least_squares_charges(dtype: np.dtype[Any], m: int, n: int, n_right: int, n_calls: int = 1) -> Charges:
    """Least squares by singular values [1]_, and two products per right-hand side."""
    tall, short = float(max(m, n)), float(min(m, n))
    flop = min(4 * tall * short**2 + 8 * short**3, 2 * tall * short**2 + 11 * short**3)
    flop += 2 * n_right * (m + n) * short
    sizes = (max(m, n), min(m, n), n_right)
    return kernel_charges("gelsd", dtype, sizes, flop, 2 * m * n + n_right * (m + n), n_calls)
