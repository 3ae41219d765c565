"""Work on the device of the running rank: kernels and copies in streams, beside the rank's work on its host."""

from __future__ import annotations

from typing import Any, Final

from smpy.engine.running import current, is_running, mpi_call
from smpy.errors import UsageError, meant

__all__ = ["bits_of", "checked_device", "copy_from_device", "copy_to_device", "refuse_host_arguments", "synchronize"]

_BITS: Final = {
    "float64": 64,
    "float32": 32,
    "float16": 16,
    "bfloat16": 16,
    "complex128": 64,
    "complex64": 32,
    "double": 64,
    "float": 64,
    "single": 32,
    "half": 16,
}


def checked_device(device: str | None) -> bool:
    """Whether work is for the rank's device, rather than for the cores of its host.

    Raises
    ------
    UsageError
        If there is no such device.
    """
    if device not in (None, "cpu", "gpu"):
        raise UsageError(
            f"device = {device!r}: it is 'gpu', or 'cpu' for the cores of the host{meant(str(device), ['gpu', 'cpu'])}"
        )
    return device == "gpu"


def refuse_host_arguments(threads: int | None, random_bytes: str | float) -> None:
    """Refuse arguments of a kernel of a device that only kernels of the host's cores have.

    Raises
    ------
    ValueError
        If one is given.
    """
    if threads is not None:
        raise ValueError("a kernel of a device has no threads of the host: leave out threads")
    if random_bytes:
        raise ValueError("a device has no rate at random addresses: leave out random_bytes, and add them to bytes")


def bits_of(dtype: Any) -> int:
    """Bits of the real numbers of a type: 64, 32 or 16.

    Raises
    ------
    UsageError
        If devices have no speed of their own for such numbers.

    Examples
    --------
    >>> bits_of("float32"), bits_of(float), bits_of("complex128")
    (32, 64, 64)
    """
    name = dtype if isinstance(dtype, str) else str(getattr(dtype, "name", getattr(dtype, "__name__", dtype)))
    if name not in _BITS:
        raise UsageError(f"dtype = {name!r}: a device has speeds for float64, float32 and float16{meant(name, _BITS)}")
    return _BITS[name]


@mpi_call
def copy_to_device(nbytes: int, *, stream: int = 0) -> None:
    """Start to copy bytes from the host of the running rank to its device; nothing outside a simulated run.

    The copy takes the latency of the device's link and the bytes' time on it, which copies and messages in the same
    direction share. It follows the work that was started in the stream before.

    Parameters
    ----------
    nbytes : int
        Number of bytes.
    stream : int, optional
        Stream of the rank, from 0 to 15.

    Raises
    ------
    UsageError
        If the host has no device.
    ValueError
        If a number is out of range.
    """
    _copy(nbytes, stream, to_device=True)


@mpi_call
def copy_from_device(nbytes: int, *, stream: int = 0) -> None:
    """Start to copy bytes from the device of the running rank to its host, as `copy_to_device` does the other way.

    Parameters
    ----------
    nbytes : int
        Number of bytes.
    stream : int, optional
        Stream of the rank, from 0 to 15.

    Raises
    ------
    UsageError
        If the host has no device.
    ValueError
        If a number is out of range.
    """
    _copy(nbytes, stream, to_device=False)


def _copy(nbytes: int, stream: int, *, to_device: bool) -> None:
    if not 0 <= nbytes < 1 << 62:
        raise ValueError(f"cannot copy {nbytes} bytes: give a number of at least 0")
    if is_running():
        current().start_copy(int(nbytes), stream, to_device=to_device)


@mpi_call
def synchronize(stream: int | None = None) -> None:
    """Wait until the running rank's device has done all work started on it; nothing outside a simulated run.

    Parameters
    ----------
    stream : int, optional
        Stream to wait for; without it, all.

    Raises
    ------
    ValueError
        If there is no such stream.
    """
    if is_running():
        current().synchronize(stream)
