"""A program's memory as the kernel is given it: pointers to buffers, and the bytes at an address.

Every name but `NULL` is a function of cffi itself, so that a message makes no call of Python more.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from smpy.engine.kernel import ffi

__all__ = ["NULL", "address_of", "bytes_at", "int64s_of", "pointer_at", "pointer_to"]

NULL: Final[Any] = ffi.NULL
pointer_to: Final[Callable[..., Any]] = ffi.from_buffer
"""Pointer to the bytes of a buffer, which it keeps in place; `require_writable=True` refuses a read-only one."""
int64s_of: Final[Callable[[Any], Any]] = partial(ffi.from_buffer, "int64_t[]")
"""Pointer to the 64-bit integers of a buffer, which it keeps in place."""
address_of: Final[Callable[[Any], Any]] = partial(ffi.cast, "uintptr_t")
"""Address that a pointer holds, for `int`."""
pointer_at: Final[Callable[[int], Any]] = partial(ffi.cast, "char *")
"""Pointer to an address, which keeps nothing in place."""
bytes_at: Final[Callable[..., Any]] = ffi.buffer
"""Buffer of so many bytes from a pointer on; without a number, of all that it points to."""
