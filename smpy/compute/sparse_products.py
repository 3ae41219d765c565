"""Products of scipy's sparse matrices with folded arrays."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from smpy.compute.charges import charge
from smpy.compute.folded import without_backing
from smpy.compute.linear_algebra_costs import kernel_charges
from smpy.engine.running import named_call

__all__ = ["product_with_folded"]

_INDEX_BYTES: Final = 4


@named_call("")
def product_with_folded(matrix: Any, array: Any, *, is_reversed: bool) -> Any:
    """A sparse matrix times a folded vector or matrix, or the reverse.

    Two operations for each element that is stored and each column; those elements, an index of each, and the dense
    matrices are moved once.

    Raises
    ------
    ValueError
        If they do not fit.
    """
    n_rows, n_inner = (1, *matrix.shape)[-2:]
    if is_reversed:
        n_rows, n_inner = n_inner, n_rows
    if array.ndim not in (1, 2) or array.shape[-1 if is_reversed else 0] != n_inner:
        raise ValueError(f"dimension mismatch: a sparse matrix of shape {matrix.shape} and an array of {array.shape}")
    others = array.shape[:-1] if is_reversed else array.shape[1:]
    rows = (n_rows,) if matrix.ndim > 1 else ()
    shape = (*others, *rows) if is_reversed else (*rows, *others)
    dtype = np.result_type(matrix.dtype, array.dtype)
    n_columns = int(np.prod(others, dtype=object))
    dense = (n_rows + n_inner) * n_columns
    elements = matrix.nnz * (1 + _INDEX_BYTES / dtype.itemsize) + dense
    charge(kernel_charges("sparse_product", dtype, (matrix.nnz, n_columns), 2.0 * matrix.nnz * n_columns, elements))
    return without_backing(shape, dtype)
