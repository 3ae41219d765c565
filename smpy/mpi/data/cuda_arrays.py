"""Arrays that describe their memory by ``__cuda_array_interface__``, version 3 [1]_.

There are no accelerators here: the address must be one that the processor can read, as that of managed memory.

References
----------
.. [1] https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html
"""

from __future__ import annotations

import warnings
from math import prod
from sys import byteorder
from typing import Any, Final

from smpy.mpi.data.described_memory import DescribedMemory, format_of, is_gapless

__all__ = ["described_by_cuda"]

_READABLE_ORDERS: Final = ("|", "<" if byteorder == "little" else ">")


def described_by_cuda(exporter: Any) -> DescribedMemory:
    """Memory that an array describes.

    Raises
    ------
    KeyError, TypeError, ValueError
        If the description lacks an item, or an item has the wrong form.
    BufferError
        If messages cannot use the memory: a mask, gaps, another byte order.
    """
    described = exporter.__cuda_array_interface__
    if not isinstance(described, dict):
        raise TypeError(f"__cuda_array_interface__ is a dict, not {type(described).__name__}")
    data, typestr, shape = described["data"], described["typestr"], described["shape"]
    for value, kind, name in ((data, tuple, "data"), (typestr, str, "typestr"), (shape, tuple, "shape")):
        _check(value, kind, name)
    strides, descr = described.get("strides"), described.get("descr")
    if strides is not None:
        _check(strides, tuple, "strides")
    if descr is not None:
        _check(descr, list, "descr")
    address, is_readonly = data
    item_bytes, n_items = int(typestr[2:]), prod(shape)
    if typestr[0] not in _READABLE_ORDERS:
        raise BufferError(
            f"__cuda_array_interface__: byte order of {typestr!r} is not this machine's: convert it first"
        )
    if described.get("mask") is not None:
        raise BufferError("__cuda_array_interface__: masked arrays cannot be sent")
    if n_items < 0:
        raise BufferError(f"__cuda_array_interface__: shape {shape} has a negative size")
    if strides is not None and not is_gapless(shape, strides, item_bytes):
        raise BufferError(f"__cuda_array_interface__: memory of shape {shape} and strides {strides} is not contiguous")
    if descr is not None and descr != [("", typestr)]:
        warnings.warn("__cuda_array_interface__: 'descr' is ignored", RuntimeWarning, stacklevel=2)
    return DescribedMemory(
        address=address or 0,
        nbytes=n_items * item_bytes,
        format=format_of(typestr[1], item_bytes),
        is_readonly=bool(is_readonly),
        is_host=False,
        owner=exporter,
    )


def _check(value: object, kind: type, name: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"__cuda_array_interface__: {name!r} is a {kind.__name__}, not {type(value).__name__}")
