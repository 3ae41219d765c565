"""Tensors that lend their memory by DLPack, versions 0 and 1 [1]_.

The capsule is looked into and given back as it was: its producer goes on owning the memory.

References
----------
.. [1] https://dmlc.github.io/dlpack/latest/c_api.html
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from math import prod
from operator import index
from struct import Struct, unpack
from typing import Any, Final, NamedTuple

from smpy.engine.pointers import bytes_at, pointer_at
from smpy.mpi.data.described_memory import DescribedMemory, format_of, is_gapless

__all__ = ["described_by_dlpack"]

_CPU: Final = 1
_READ_ONLY: Final = 1
_FLOAT: Final = 2
_KINDS: Final = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}


_TENSOR: Final = Struct("@QiiiBBHQQQ")
"""A `DLTensor`."""
_VERSIONED: Final = Struct("@IIQQQ")
"""The fields of `DLManagedTensorVersioned` before its tensor: version, context, deleter, flags."""


class _Tensor(NamedTuple):
    """The fields of a `DLTensor`, in the order of `_TENSOR`."""

    address: int
    device_type: int
    device_number: int
    n_dimensions: int
    code: int
    bits: int
    lanes: int
    shape: int
    strides: int
    byte_offset: int


_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))


def described_by_dlpack(exporter: Any) -> DescribedMemory:
    """Memory that a tensor lends.

    Raises
    ------
    TypeError, ValueError
        If the tensor does not report its device.
    BufferError
        If messages cannot use its memory.
    """
    device_type, device_id = exporter.__dlpack_device__()
    is_host = index(device_type) == _CPU
    index(device_id)
    stream = {} if is_host else {"stream": -1}
    is_readonly = False
    try:
        capsule = exporter.__dlpack__(**stream, max_version=(1, 0), copy=False)
    except TypeError:  # producers before version 1
        capsule = exporter.__dlpack__(**stream)
        address = _opened(capsule, b"dltensor")
    else:
        address = _opened(capsule, b"dltensor_versioned")
        major, _, _, _, flags = _VERSIONED.unpack(bytes_at(pointer_at(address), _VERSIONED.size))
        if major < 1:
            raise BufferError(f"dlpack: version {major} in a capsule of version 1 or later")
        address, is_readonly = address + _VERSIONED.size, bool(flags & _READ_ONLY)
    tensor = _Tensor._make(_TENSOR.unpack(bytes_at(pointer_at(address), _TENSOR.size)))
    n_items = prod(_checked_shape(tensor))
    return DescribedMemory(
        address=tensor.address + tensor.byte_offset,
        nbytes=n_items * ((tensor.bits * tensor.lanes + 7) // 8),
        format=_format(tensor),
        is_readonly=is_readonly,
        is_host=is_host,
        owner=capsule,
    )


def _opened(capsule: Any, name: bytes) -> int:
    if not _is_valid(capsule, name):
        raise BufferError(f"dlpack: not a capsule named {name.decode()!r}, or one that was used already")
    address: int = _pointer_of(capsule, name)
    return address


def _checked_shape(tensor: _Tensor) -> Sequence[int]:
    n = tensor.n_dimensions
    if n < 0 or (n and not tensor.shape):
        raise BufferError(f"dlpack: {n} dimensions without a shape")
    shape = _numbers_at(tensor.shape, n) if n else ()
    strides = _numbers_at(tensor.strides, n) if n and tensor.strides else None
    if min(shape, default=0) < 0 or min(strides or (0,)) < 0:
        raise BufferError(f"dlpack: shape {shape} or strides {strides} are negative")
    if strides is not None and not is_gapless(shape, strides, 1):
        raise BufferError(f"dlpack: memory of shape {shape} and strides {strides} is not contiguous")
    return shape


def _numbers_at(address: int, n: int) -> tuple[int, ...]:
    return unpack(f"@{n}q", bytes_at(pointer_at(address), 8 * n))


def _format(tensor: _Tensor) -> str:
    if tensor.lanes == 1:
        return format_of(_KINDS.get(tensor.code, ""), tensor.bits // 8)
    is_complex = tensor.code == _FLOAT and tensor.lanes == 2
    return format_of("c", tensor.bits // 4) if is_complex else "B"
