"""Arrays as text that a page unpacks."""

from __future__ import annotations

import zlib
from base64 import b64encode
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ZLIB_LEVEL: Final = 6


def packed(array: NDArray[Any]) -> dict[str, Any]:
    """Type, shape and compressed content, as `unpacked` of reading.js reads them.

    Parameters
    ----------
    array : ndarray
        Array of numbers of at most 64 bits; whole ones of at most 32.
    """
    content = zlib.compress(array.astype(array.dtype.newbyteorder("<"), order="C").tobytes(), _ZLIB_LEVEL)
    return {"dtype": array.dtype.name, "shape": list(array.shape), "content": b64encode(content).decode("ascii")}
