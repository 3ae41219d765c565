"""Terms of a cost: products of sizes, powers, logarithms and hinges, written as `m*n^2` or `max(n-65536,0)*log2(n)`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from smpy.errors import UsageError

INTERCEPT: Final = "1"
_FACTOR: Final = re.compile(
    r"(?:(?P<name>[A-Za-z_]\w*)(?:\^(?P<power>[1-9]))?|log2\((?P<logarithm>[A-Za-z_]\w*)\)"
    r"|max\((?P<hinge>[A-Za-z_]\w*)-(?P<knot>[0-9]+),0\)|1)"
)


def evaluate(term: str, sizes: Mapping[str, Any]) -> NDArray[np.float64]:
    """The value of a term at given sizes.

    Parameters
    ----------
    term : str
        Factors joined by `*`: a size, a size to a power (`n^2`), `log2(n)`, `max(n-65536,0)`, or `1`.
    sizes : mapping of str to (n,) array_like
        Values of each size.

    Returns
    -------
    (n,) ndarray

    Raises
    ------
    UsageError
        If the term has another form, or a size that is not given.

    Examples
    --------
    >>> evaluate("m*n^2", {"m": [2, 3], "n": [10, 10]})
    array([200., 300.])
    >>> evaluate("max(n-8,0)", {"n": [7, 10]})
    array([0., 2.])
    """
    value = np.ones(np.shape(next(iter(sizes.values()))))
    for factor in term.split("*"):
        match = _FACTOR.fullmatch(factor)
        if match is None:
            raise UsageError(f"the term {term!r} has a factor {factor!r}: a factor is n, n^2, log2(n), max(n-8,0) or 1")
        name = match["name"] or match["logarithm"] or match["hinge"]
        if name is None:
            continue
        if name not in sizes:
            raise UsageError(f"the term {term!r} has a size {name!r} that is none of {', '.join(sizes)}")
        size = np.asarray(sizes[name], dtype=float)
        if match["logarithm"]:
            value = value * np.log2(size)
        elif match["hinge"]:
            value = value * np.maximum(size - int(match["knot"]), 0)
        else:
            value = value * size ** int(match["power"] or 1)
    return value
