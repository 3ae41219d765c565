"""Charges of operations: calls of kernels, with the names and sizes of `charge_kernel`, and their charging."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from smpy.compute.models.kernel_models import charge_kernel, takes_time
from smpy.engine.running import current
from smpy.platforms.models.thread_efficiency import has_one_thread

__all__ = ["BLAS_LETTERS", "Charge", "charge", "copying", "is_folded", "streaming"]

BLAS_LETTERS: Final = {"f": "s", "d": "d", "F": "c", "D": "z"}
"""Letters of BLAS for numpy's type characters."""
_ARRAYS_OF_TRIAD: Final = 3


@dataclass(frozen=True, slots=True)
class Charge:
    """Calls of one kernel.

    Parameters
    ----------
    kernel : str
        Name of the kernel in the machine's `[kernels]`: "dgemm".
    sizes : tuple of int
        Sizes of each call.
    flop : float
        Operations of each call.
    moved_bytes : float
        Bytes that each call reads and writes at least.
    n_calls : int
        Number of calls.
    rewritten_bytes : float
        Bytes among the moved ones that were moved before: read and then written, or read again.
    """

    kernel: str
    sizes: tuple[int, ...]
    flop: float
    moved_bytes: float
    n_calls: int = 1
    rewritten_bytes: float = 0.0


def streaming(moved_bytes: float, flop: float = 0, rewritten_bytes: float = 0) -> tuple[Charge, ...]:
    """Charge of an elementwise operation: the machine's triad, y += a x, of as many bytes."""
    array_bytes = round(moved_bytes / _ARRAYS_OF_TRIAD) or int(moved_bytes > 0)
    charge = Charge("triad", (array_bytes,), flop, moved_bytes, rewritten_bytes=rewritten_bytes)
    return (charge,) if moved_bytes else ()


def copying(result_bytes: int) -> tuple[Charge, ...]:
    """Charge of copying this number of bytes."""
    return (Charge("copy_memory", (result_bytes,), 0, 2 * result_bytes),) if result_bytes else ()


def charge(
    charges: Iterable[Charge], *, is_folded: bool = True, threads: int | None = None, device_bits: int | None = None
) -> None:
    """Let the running rank take the time of some kernels, if operations take modelled time.

    The threads are those that an array or a call asks for, as of `charge_kernel`; numpy's own kernels have one. With
    `device_bits`, of the numbers, the kernels are started on the rank's device instead.
    """
    if not takes_time(is_folded=is_folded):
        return
    if device_bits is not None:
        for one in charges:
            current().start_kernel(one.n_calls * one.flop, one.n_calls * one.moved_bytes, device_bits)
        return
    for one in charges:
        charge_kernel(
            one.kernel,
            one.sizes,
            flop=one.flop,
            moved_bytes=one.moved_bytes,
            working_set_bytes=one.moved_bytes - one.rewritten_bytes,
            n_calls=one.n_calls,
            threads=1 if has_one_thread(one.kernel) else threads,
        )


def is_folded(array: object) -> bool:
    """Whether an array stands for memory that does not exist."""
    return bool(getattr(array, "__smpy_folded__", False))
