"""Rows of the table that chooses the quickest algorithm of a collective, from times for some ranks and sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf, isqrt, log
from typing import Any, Final

from smpy.replay.collective_times import WITHOUT_SIZE

_EQUAL: Final = 1e-9  # relative
_BY_TOTAL: Final = ("allgatherv", "reduce_scatter")  # ranks agree only on the sum of their blocks
_NO_SIZE: Final = (*WITHOUT_SIZE, "gatherv", "scatterv")  # ranks agree on no size


def is_as_quick(time_s: float, least_s: float) -> bool:
    """Whether a time equals the least one, up to rounding."""
    return time_s <= least_s * (1 + _EQUAL)


def loss(time_s: float, least_s: float) -> float:
    """Relative excess of a time over the least one: infinite if the time is, or if only the least one is 0."""
    return 0.0 if is_as_quick(time_s, least_s) else time_s / least_s - 1 if least_s else inf


def best_rows(
    operation: str,
    ranks: Sequence[int],
    sizes_bytes: Sequence[int],
    times_s: Mapping[str, Sequence[Sequence[float]]],
    works: Callable[[str, int], bool],
) -> list[dict[str, Any]]:
    """Rows of a user's table that chooses the quickest algorithms.

    Between two numbers of ranks, or two sizes, the boundary is their geometric mean. An algorithm that works only for
    some numbers of ranks is chosen for the compared number alone. Among equally quick algorithms, those that need the
    fewest rows win, then the first.

    Parameters
    ----------
    operation : str
        The operation.
    ranks, sizes_bytes : sequence of int
        Numbers of ranks, and sizes in bytes, in order.
    times_s : mapping of str to sequence of sequences of float
        By algorithm, a sequence for each number of ranks with the time at each size, in seconds; infinite where it
        does not work.
    works : callable
        Whether an algorithm works for another number of ranks.
    """
    rows: list[dict[str, Any]] = []
    before: list[dict[str, Any]] = []
    for i, n_ranks in enumerate(ranks):
        following = ranks[i + 1] if i + 1 < len(ranks) else None
        last = None if following is None else isqrt(n_ranks * following)
        first = 1 if i == 0 else isqrt(ranks[i - 1] * n_ranks) + 1
        near = {max(first, n_ranks - 1), n_ranks, n_ranks + 1 if last is None else min(last, n_ranks + 1), first}
        here_s = {name: table_s[i] for name, table_s in times_s.items()}
        general_s = {name: table_s for name, table_s in here_s.items() if all(works(name, n) for n in near)}
        anywhere = _rows_for(operation, n_ranks, sizes_bytes, general_s)
        exact = _rows_for(operation, n_ranks, sizes_bytes, {**general_s, **here_s})  # general ones win ties
        if exact != anywhere:
            rows += [{"ranks": n_ranks, **row} for row in exact]
        elif rows and before == anywhere:
            del rows[-len(before) :]  # the new rows cover the smaller numbers of ranks, too
        rows += [row if last is None else {"ranks_max": last, **row} for row in anywhere]
        before = anywhere
    return rows


def _rows_for(
    operation: str, n_ranks: int, sizes_bytes: Sequence[int], times_s: Mapping[str, Sequence[float]]
) -> list[dict[str, Any]]:
    """Rows for one number of ranks, with the best of some algorithms."""
    least_s = [min(algorithm_s) for algorithm_s in zip(*times_s.values(), strict=True)]
    losses = {name: list(map(loss, algorithm_s, least_s)) for name, algorithm_s in times_s.items()}
    if operation in _NO_SIZE:
        return [{"use": min(losses, key=lambda name: sum(log(1 + part) for part in losses[name]))}]
    by_total = operation in _BY_TOTAL
    key, times = ("total_bytes_max", n_ranks) if by_total else ("bytes_max", 1)
    rows: list[dict[str, Any]] = []
    equal: list[str] = []
    for j, size_bytes in enumerate(sizes_bytes):
        best = [name for name in losses if losses[name][j] == 0]
        both = [name for name in equal if name in best]
        if equal and not both:
            rows.append({key: times * isqrt(sizes_bytes[j - 1] * size_bytes), "use": equal[0]})
        equal = both or best
    return [*rows, {"use": equal[0]}]
