"""Parallel efficiency of the threads of a rank, by class of kernels."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

KERNEL_CLASSES: Final = ("blas1", "blas2", "blas3", "lapack", "other")
"""Classes of kernels whose efficiencies are measured together; "other": kernels of programs, and `smpy.execute`."""

_CLASS_OF: Final = tuple(
    (re.compile(rf"[sdcz]{pattern}(_\w+)?"), name)
    for pattern, name in (
        (r"(ge|sy|he|tr)(mm|sm|rk|r2k)", "blas3"),
        (r"(ge|gb|sy|sb|sp|he|hb|hp|tr|tb|tp)(mv|sv|r[uc]?|r2)", "blas2"),
        (r"(axpy|copy|dot[uc]?|scal|swap|rotm?|asum|nrm2)", "blas1"),
        (r"(ge|or|un|po|tr|sy|he)\w+", "lapack"),
    )
)
_ONE_THREAD: Final = re.compile(r"[sdcz]fft(_\w+)?|triad|copy_memory")
"""Kernels of numpy's own code, which has one thread."""


def kernel_class(kernel: str) -> str:
    """Class of a kernel.

    Examples
    --------
    >>> [kernel_class(name) for name in ("dgemm", "dtrsm_left", "zgemv", "daxpy", "dgetrf", "stencil")]
    ['blas3', 'blas3', 'blas2', 'blas1', 'lapack', 'other']
    """
    return next((name for pattern, name in _CLASS_OF if pattern.fullmatch(kernel)), "other")


def has_one_thread(kernel: str) -> bool:
    """Whether a kernel is one of numpy's own, which have one thread however many a rank has."""
    return _ONE_THREAD.fullmatch(kernel) is not None


@dataclass(frozen=True, slots=True)
class ThreadEfficiency:
    """Parallel efficiency of a kernel, or of a class of them, by its number of threads.

    The efficiency is the time of one thread over that of n, over n, where memory does not bound it. Between measured
    numbers the serial fraction [1]_ is interpolated, above the last one it stays: Amdahl's law has one point.

    Parameters
    ----------
    kernel : str
        Name of a kernel or of a class (`KERNEL_CLASSES`).
    points : tuple of (int, float)
        Numbers of threads from 2 on, rising, and the efficiency of each.

    Raises
    ------
    ValueError
        If there are no points, their numbers do not rise, or an efficiency is not above 0 and at most 1.

    References
    ----------
    .. [1] A. H. Karp, H. P. Flatt, "Measuring parallel processor performance", CACM 33(5), 1990.

    Examples
    --------
    >>> half_serial = ThreadEfficiency("other", ((2, 2 / 3),))
    >>> [round(half_serial.at(n) * n, 6) for n in (1, 2, 4, 1000)]
    [1.0, 1.333333, 1.6, 1.998002]
    """

    kernel: str
    points: tuple[tuple[int, float], ...]

    def __post_init__(self) -> None:
        numbers = [1, *(n_threads for n_threads, _ in self.points)]
        if not self.points or any(one >= other for one, other in pairwise(numbers)):
            raise ValueError("it is given for numbers of threads from 2 on, which rise")
        for n_threads, efficiency in self.points:
            if not 0 < efficiency <= 1:
                raise ValueError(
                    f"an efficiency of {efficiency:g} with {n_threads} threads: it is above 0 and at most 1"
                )

    def at(self, n_threads: int) -> float:
        """Efficiency with this number of threads."""
        if n_threads == 1:
            return 1.0
        numbers = [number for number, _ in self.points]
        above = bisect_left(numbers, n_threads)
        if above < len(numbers) and numbers[above] == n_threads:
            return self.points[above][1]
        after = self._serial_fraction(min(above, len(numbers) - 1))
        before = self._serial_fraction(max(above - 1, 0))
        fraction = after
        if 0 < above < len(numbers):
            way = (n_threads - numbers[above - 1]) / (numbers[above] - numbers[above - 1])
            fraction = before + way * (after - before)
        return 1 / (1 + fraction * (n_threads - 1))

    def _serial_fraction(self, at: int) -> float:
        n_threads, efficiency = self.points[at]
        return (1 / efficiency - 1) / (n_threads - 1)
