"""Type signatures: the basic types of entries in order, and whether the signatures of two ends agree.

A signature holds the runs of equal types in one entry of a layout; further entries repeat it. Two repeated sequences
agree everywhere if they agree over the summed length of both entries (Fine and Wilf 1965). A basic type is its kind
and size: LONG and INT64_T are the same here. BYTE agrees with all types of one byte, a character with integers of one
byte, and PACKED with everything (MPI 4.1, 3.3.1).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import cycle
from typing import Final, NamedTuple

from smpy.mpi.data.basic_types import BASIC
from smpy.mpi.data.layout import Layout
from smpy.mpi.data.typemaps import Typemap

__all__ = ["agree", "basic_types_of", "described"]

_RUNS_MAX: Final = 100_000
_SHOWN_MAX: Final = 3


class TypeRun(NamedTuple):
    """Consecutive elements of one basic type."""

    name: str
    n: int


def agree(sent: Layout, received: Layout, nbytes: int | None = None) -> bool:
    """Whether the types of sent and received entries agree.

    Parameters
    ----------
    sent, received : Layout
        Layouts of an entry at both ends.
    nbytes : int, optional
        Bytes to compare; without it, enough for any equal number of bytes at both ends.
    """
    if sent is received or not sent.size or not received.size:
        return True
    ends = _runs(sent), _runs(received)
    if None in ends or any(run.name == "PACKED" for runs in ends for run in runs or ()):
        return True  # too long to compare, or PACKED
    left = sent.size + received.size
    if nbytes is not None:
        left = min(left, nbytes)
    streams = tuple(cycle(runs or ()) for runs in ends)
    first, second = next(streams[0]), next(streams[1])
    while left > 0:
        if not _are_alike(first.name, second.name):
            return False
        n = min(first.n, second.n)
        left -= n * BASIC[first.name].size
        first = TypeRun(first.name, first.n - n) if first.n > n else next(streams[0])
        second = TypeRun(second.name, second.n - n) if second.n > n else next(streams[1])
    return True


def described(layout: Layout, nbytes: int | None = None) -> str:
    """Types of entries in words: "4 INT", "2 (1 INT, 1 DOUBLE)"; without `nbytes`, no number of entries."""
    runs = _runs(layout)
    n = 1 if nbytes is None or not layout.size else nbytes // layout.size
    if not runs:
        return layout.name or "a derived datatype"
    if len(runs) == 1:
        return runs[0].name if nbytes is None else f"{n * runs[0].n:,} {runs[0].name}"
    shown = [f"{run.n:,} {run.name}" for run in runs[:_SHOWN_MAX]]
    text = ", ".join([*shown, "..."] if len(runs) > _SHOWN_MAX else shown)
    return f"({text})" if nbytes is None else f"{n:,} ({text})"


@lru_cache(maxsize=4096)
def basic_types_of(layout: Layout) -> tuple[str, ...]:
    """Type strings of an entry's basic types in order, as in numpy; a run of equal types gives one."""
    return tuple(BASIC[run.name].typestr for run in _runs(layout) or ())


@lru_cache(maxsize=4096)
def _runs(layout: Layout) -> tuple[TypeRun, ...] | None:
    """Runs of an entry; None when there are too many."""
    try:
        return tuple(_merged(_runs_of(layout.typemap, [0])))
    except OverflowError:
        return None


def _runs_of(typemap: Typemap, n_seen: list[int]) -> Iterator[TypeRun]:
    n_seen[0] += 1
    if n_seen[0] > _RUNS_MAX:
        raise OverflowError
    if not typemap.elements:
        if typemap.size:
            yield TypeRun(typemap.code, 1)
        return
    for count, part in typemap.elements:
        inner = tuple(_merged(_runs_of(part, n_seen)))
        if len(inner) == 1:
            yield TypeRun(inner[0].name, count * inner[0].n)
            continue
        n_seen[0] += count * len(inner)
        if n_seen[0] > _RUNS_MAX:
            raise OverflowError
        for _ in range(count):
            yield from inner


def _merged(runs: Iterator[TypeRun]) -> Iterator[TypeRun]:
    last: TypeRun | None = None
    for run in runs:
        if last is not None and last.name == run.name:
            last = TypeRun(run.name, last.n + run.n)
            continue
        if last is not None:
            yield last
        last = run
    if last is not None:
        yield last


@lru_cache(maxsize=4096)
def _are_alike(one: str, other: str) -> bool:
    """Whether elements of two basic types agree; if so, they have the same size."""
    a, b = BASIC[one], BASIC[other]
    if one == other or (a.kind, a.typestr) == (b.kind, b.typestr):
        return True
    if a.size != 1 or b.size != 1:
        return False
    return "byte" in (a.kind, b.kind) or {a.kind, b.kind} == {"character", "integer"}
