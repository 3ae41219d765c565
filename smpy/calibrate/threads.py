"""Parallel efficiency of threads of BLAS and LAPACK on this machine, by class of kernels.

A call in n threads is compared with n calls of one thread each, side by side. Both keep n cores busy and share the
memory, so that the efficiency has neither the clock of busy cores nor the memory's bandwidth: these are other keys of a
machine (`host.busy_speed`, `host.memory_bandwidth`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from threading import Barrier, Thread
from time import perf_counter
from typing import Final

import numpy as np

ROUNDS: Final = 7
_LEAST: Final = 1e-3
_STRETCH_S: Final = 0.05
_DIGITS: Final = 3

Call = Callable[[], object]


@dataclass(frozen=True, slots=True)
class ThreadSample:
    """Times of one round.

    Parameters
    ----------
    kernel_class : str
        Class of the kernel.
    n_threads : int
        Number of threads.
    call_s : float
        Time of a call in these threads.
    side_by_side_s : float
        Time of as many calls of one thread, at once.
    """

    kernel_class: str
    n_threads: int
    call_s: float
    side_by_side_s: float

    @property
    def efficiency(self) -> float:
        """Rate of the call over that of the calls side by side."""
        return self.side_by_side_s / (self.n_threads * self.call_s)


def calls() -> Mapping[str, Callable[[], Call]]:
    """Maker of a call with operands of its own, by class; numpy lets go of the interpreter in each."""
    return {"blas1": _dot, "blas2": _matrix_vector, "blas3": _product, "lapack": _solve}


def measure_threads(
    counts: Sequence[int],
    *,
    rounds: int = ROUNDS,
    progress: Callable[[int, int, str], object] = lambda _number, _total, _name: None,
) -> list[ThreadSample]:
    """Samples of all classes, in rounds, with each of these numbers of threads."""
    calls_of_class = {name: [make() for _ in range(max(counts, default=0))] for name, make in calls().items()}
    samples: list[ThreadSample] = []
    total = rounds * len(counts) * len(calls_of_class)
    for _ in range(rounds):
        for n_threads in counts:
            for name, own_calls in calls_of_class.items():
                progress(len(samples), total, name)
                samples.append(_sample(name, n_threads, own_calls))
    return samples


def efficiencies(samples: Sequence[ThreadSample]) -> dict[str, dict[str, float]]:
    """Table [threads]: medians over the rounds, by class and number of threads, at most 1."""
    by_class: dict[str, dict[int, list[float]]] = {}
    for sample in samples:
        by_class.setdefault(sample.kernel_class, {}).setdefault(sample.n_threads, []).append(sample.efficiency)
    return {
        name: {str(n): min(max(round(median(parts), _DIGITS), _LEAST), 1.0) for n, parts in sorted(by_count.items())}
        for name, by_count in sorted(by_class.items())
    }


def csv_text(samples: Sequence[ThreadSample]) -> str:
    """Raw measurements, a line each."""
    lines = [f"{each.kernel_class},{each.n_threads},{each.call_s:.9g},{each.side_by_side_s:.9g}\n" for each in samples]
    return "".join(["class,threads,call_s,side_by_side_s\n", *lines])


def _sample(name: str, n_threads: int, own_calls: Sequence[Call]) -> ThreadSample:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(n_threads):
        own_calls[0]()
        started_s = perf_counter()
        own_calls[0]()
        n_calls = max(1, round(_STRETCH_S / max(perf_counter() - started_s, 1e-7)))
        call_s = _side_by_side_s(own_calls[:1], n_calls)
    with threadpool_limits(1):
        side_by_side_s = _side_by_side_s(own_calls[:n_threads], max(1, n_calls // n_threads))
    return ThreadSample(name, n_threads, call_s, side_by_side_s)


def _side_by_side_s(own_calls: Sequence[Call], n_calls: int) -> float:
    """Time of a call of each thread, while all threads make calls."""
    barrier, taken_s = Barrier(len(own_calls)), [0.0] * len(own_calls)

    def work(number: int, call: Call) -> None:
        barrier.wait()
        started_s = perf_counter()
        for _ in range(n_calls):
            call()
        taken_s[number] = perf_counter() - started_s

    threads = [Thread(target=work, args=(number, call)) for number, call in enumerate(own_calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(taken_s) / len(taken_s) / n_calls


# ---- calls ----


def _dot() -> Call:
    x, y = np.full(100_000, 0.5), np.full(100_000, 0.5)
    return lambda: np.dot(x, y)


def _matrix_vector() -> Call:
    a, x, y = np.full((800, 800), 0.5), np.full(800, 0.5), np.empty(800)
    return lambda: np.dot(a, x, out=y)


def _product() -> Call:
    a, b, c = np.full((768, 768), 0.5), np.full((768, 768), 0.5), np.empty((768, 768))
    return lambda: np.matmul(a, b, out=c)


def _solve() -> Call:
    a, b = np.eye(768) + 0.5 / 768, np.full((768, 8), 0.5)
    return lambda: np.linalg.solve(a, b)
