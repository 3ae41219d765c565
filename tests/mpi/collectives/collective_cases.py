"""Collective calls with random contributions, and what numpy says their results are.

Every rank draws the same plan from the same seed, so each knows what all others contribute. A case is drawn for one
rank: the arguments of the call, the memory to spoil when it returns, and the result to compare.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from smpy.mpi import MPI

GAP = -77
OPS = {"SUM": np.add, "MAX": np.maximum, "BXOR": np.bitwise_xor}


@dataclass
class Case:
    """A call of one rank: its name, its arguments, what it may overwrite at once, what it must find."""

    call: str
    arguments: tuple[Any, ...]
    outgoing: list[Entries] = field(default_factory=list)
    incoming: Entries | None = None
    expected: np.ndarray | None = None

    def spoil(self) -> None:
        """Overwrite what was sent."""
        for entries in self.outgoing:
            if entries is not self.incoming:
                entries.memory[:] = GAP - 1

    def check(self) -> None:
        """Raise unless the result is what numpy says, and the gaps are as they were."""
        if self.incoming is not None:
            np.testing.assert_array_equal(self.incoming.values, self.expected, self.call)
            assert self.incoming.gaps_are_whole(), f"{self.call}: something was written between the entries"


class Entries:
    """Integers in memory, side by side or with a gap behind each, and the message that means them."""

    def __init__(self, values: Any, stride: int = 1) -> None:
        values = np.asarray(values, np.int64)
        self.memory = np.full(values.size * stride, GAP)
        self.values = self.memory[::stride] if stride > 1 else self.memory
        self.values[:] = values.ravel()
        self._stride = stride
        self.datatype = MPI.INT64_T if stride == 1 else MPI.INT64_T.Create_resized(0, 8 * stride).Commit()
        self.spec = [self.memory, values.size, self.datatype] if stride > 1 else self.memory

    def gaps_are_whole(self) -> bool:
        """Whether nobody wrote between the entries."""
        return all((self.memory[i :: self._stride] == GAP).all() for i in range(1, self._stride))

    def blocks(self, counts: list[int]) -> Any:
        """The message for blocks that follow one another."""
        return [self.memory, counts, self.datatype]

    def blocks_of_types(self, counts: list[int]) -> Any:
        """The same, with a datatype for each block and displacements in bytes."""
        places = np.cumsum([0, *counts[:-1]]) * 8 * self._stride
        return [self.memory, counts, [int(place) for place in places], [self.datatype] * len(counts)]


class Draw:
    """One rank's view of a random call.

    Parameters
    ----------
    seed : int
        The same on all ranks.
    rank, n_ranks : int
        The rank that asks, and the number of ranks.
    """

    def __init__(self, seed: int, rank: int, n_ranks: int) -> None:
        self.random = np.random.default_rng(seed)
        self.rank, self.n = rank, n_ranks
        self.root = int(self.random.integers(n_ranks))
        self.is_root = rank == self.root
        self.in_place = bool(self.random.integers(2))
        self.count = int(self.random.choice([0, 1, 3, 40, 9000 // n_ranks]))
        self.op = str(self.random.choice(list(OPS)))
        self._own = np.random.default_rng((seed, rank))  # layouts differ between ranks

    def numbers(self, *shape: int) -> np.ndarray:
        """The same on all ranks."""
        return self.random.integers(-1000, 1000, shape)

    def counts(self, *shape: int) -> np.ndarray:
        """Sizes of blocks, some empty; the same on all ranks."""
        return self.random.integers(0, 5, shape) * self.random.integers(0, 2, shape)

    def entries(self, values: Any, *, is_basic: bool = False) -> Entries:
        """Memory for values: a stride of the rank's own choice."""
        return Entries(values, 1 if is_basic else int(self._own.integers(1, 4)))

    def room(self, count: int, *, is_basic: bool = False) -> Entries:
        """Memory for results."""
        return self.entries(np.full(count, -1), is_basic=is_basic)


def bcast(draw: Draw) -> Case:
    values = draw.numbers(draw.count)
    buf = draw.entries(values if draw.is_root else values * 0)
    if draw.is_root:
        return Case("Bcast", (buf.spec, draw.root), [buf])
    return Case("Bcast", (buf.spec, draw.root), [], buf, values)


def gather(draw: Draw) -> Case:
    values = draw.numbers(draw.n, draw.count)
    if not draw.is_root:
        out = draw.entries(values[draw.rank])
        return Case("Gather", (out.spec, None, draw.root), [out])
    into = draw.room(values.size)
    if draw.in_place:
        into.values[draw.rank * draw.count :][: draw.count] = values[draw.rank]
        return Case("Gather", (MPI.IN_PLACE, _each(into, draw), draw.root), [], into, values.ravel())
    out = draw.entries(values[draw.rank])
    return Case("Gather", (out.spec, _each(into, draw), draw.root), [out], into, values.ravel())


def scatter(draw: Draw) -> Case:
    values = draw.numbers(draw.n, draw.count)
    out = draw.entries(values) if draw.is_root else None
    spec = None if out is None else _each(out, draw)
    if draw.is_root and draw.in_place:
        return Case("Scatter", (spec, MPI.IN_PLACE, draw.root), [out])
    into = draw.room(draw.count)
    return Case("Scatter", (spec, into.spec, draw.root), [out] if out else [], into, values[draw.rank])


def allgather(draw: Draw) -> Case:
    values = draw.numbers(draw.n, draw.count)
    into = draw.room(values.size)
    if draw.in_place:
        into.values[draw.rank * draw.count :][: draw.count] = values[draw.rank]
        return Case("Allgather", (MPI.IN_PLACE, _each(into, draw)), [], into, values.ravel())
    out = draw.entries(values[draw.rank])
    return Case("Allgather", (out.spec, _each(into, draw)), [out], into, values.ravel())


def alltoall(draw: Draw) -> Case:
    values = draw.numbers(draw.n, draw.n, draw.count)
    expected = values[:, draw.rank].ravel()
    if draw.in_place:
        both = draw.entries(values[draw.rank])
        return Case("Alltoall", (MPI.IN_PLACE, _each(both, draw)), [both], both, expected)
    out, into = draw.entries(values[draw.rank]), draw.room(expected.size)
    return Case("Alltoall", (_each(out, draw), _each(into, draw)), [out], into, expected)


def _each(entries: Entries, draw: Draw) -> Any:
    return [entries.memory, draw.count, entries.datatype]


def gatherv(draw: Draw) -> Case:
    counts = draw.counts(draw.n).tolist()
    blocks = [draw.numbers(count) for count in counts]
    out = draw.entries(blocks[draw.rank])
    if not draw.is_root:
        return Case("Gatherv", (out.spec, None, draw.root), [out])
    into = draw.room(sum(counts))
    return Case("Gatherv", (out.spec, into.blocks(counts), draw.root), [out], into, np.concatenate(blocks))


def scatterv(draw: Draw) -> Case:
    counts = draw.counts(draw.n).tolist()
    blocks = [draw.numbers(count) for count in counts]
    out = draw.entries(np.concatenate(blocks)) if draw.is_root else None
    into = draw.room(counts[draw.rank])
    spec = None if out is None else out.blocks(counts)
    return Case("Scatterv", (spec, into.spec, draw.root), [out] if out else [], into, blocks[draw.rank])


def allgatherv(draw: Draw) -> Case:
    counts = draw.counts(draw.n).tolist()
    blocks = [draw.numbers(count) for count in counts]
    out, into = draw.entries(blocks[draw.rank]), draw.room(sum(counts))
    return Case("Allgatherv", (out.spec, into.blocks(counts)), [out], into, np.concatenate(blocks))


def alltoallv(draw: Draw, call: str = "Alltoallv") -> Case:
    counts = draw.counts(draw.n, draw.n)
    if draw.in_place:
        counts = np.minimum(counts, counts.T)
    blocks = [[draw.numbers(count) for count in row] for row in counts]
    expected = np.concatenate([row[draw.rank] for row in blocks])
    out, into = draw.entries(np.concatenate(blocks[draw.rank])), draw.room(expected.size)
    way = Entries.blocks if call == "Alltoallv" else Entries.blocks_of_types
    sent, received = counts[draw.rank].tolist(), counts[:, draw.rank].tolist()
    if draw.in_place:
        return Case(call, (MPI.IN_PLACE, way(out, sent)), [out], out, expected)
    return Case(call, (way(out, sent), way(into, received)), [out], into, expected)


def alltoallw(draw: Draw) -> Case:
    return alltoallv(draw, "Alltoallw")


def _op(draw: Draw) -> MPI.Op:
    return getattr(MPI, draw.op)


def _reduced(draw: Draw, values: np.ndarray) -> np.ndarray:
    return OPS[draw.op].reduce(values, axis=0)


def reduce(draw: Draw) -> Case:
    values = draw.numbers(draw.n, draw.count)
    mine = draw.entries(values[draw.rank], is_basic=True)
    if not draw.is_root:
        return Case("Reduce", (mine.spec, None, _op(draw), draw.root), [mine])
    if draw.in_place:
        return Case("Reduce", (MPI.IN_PLACE, mine.spec, _op(draw), draw.root), [], mine, _reduced(draw, values))
    into = draw.room(draw.count, is_basic=True)
    return Case("Reduce", (mine.spec, into.spec, _op(draw), draw.root), [mine], into, _reduced(draw, values))


def allreduce(draw: Draw) -> Case:
    values = draw.numbers(draw.n, draw.count)
    return _whole("Allreduce", draw, values, _reduced(draw, values))


def scan(draw: Draw) -> Case:
    values = draw.numbers(draw.n, draw.count)
    return _whole("Scan", draw, values, _reduced(draw, values[: draw.rank + 1]))


def exscan(draw: Draw) -> Case:
    values = draw.numbers(draw.n, draw.count)
    expected = _reduced(draw, values[: draw.rank]) if draw.rank else values[0] if draw.in_place else values[0] * 0 - 1
    return _whole("Exscan", draw, values, expected)


def _whole(call: str, draw: Draw, values: np.ndarray, expected: np.ndarray) -> Case:
    mine = draw.entries(values[draw.rank], is_basic=True)
    if draw.in_place:
        return Case(call, (MPI.IN_PLACE, mine.spec, _op(draw)), [], mine, expected)
    into = draw.room(draw.count, is_basic=True)
    return Case(call, (mine.spec, into.spec, _op(draw)), [mine], into, expected)


def reduce_scatter_block(draw: Draw) -> Case:
    values = draw.numbers(draw.n, draw.n, draw.count)
    expected = _reduced(draw, values)[draw.rank]
    mine = draw.entries(values[draw.rank], is_basic=True)
    if draw.in_place:
        return _share("Reduce_scatter_block", draw, mine, expected)
    into = draw.room(draw.count, is_basic=True)
    return Case("Reduce_scatter_block", (mine.spec, into.spec, _op(draw)), [mine], into, expected)


def reduce_scatter(draw: Draw) -> Case:
    counts = draw.counts(draw.n).tolist()
    values = draw.numbers(draw.n, sum(counts))
    expected = np.split(_reduced(draw, values), np.cumsum(counts)[:-1])[draw.rank]
    mine = draw.entries(values[draw.rank], is_basic=True)
    if draw.in_place:
        return _share("Reduce_scatter", draw, mine, expected, counts)
    into = draw.room(counts[draw.rank], is_basic=True)
    given = None if draw.root % 2 else counts
    return Case("Reduce_scatter", (mine.spec, into.spec, given, _op(draw)), [mine], into, expected)


def _share(call: str, draw: Draw, mine: Entries, expected: np.ndarray, *counts: list[int]) -> Case:
    """Check in place: the share comes to the beginning, and the rest behind it is nobody's."""
    share = Entries(expected)
    share.memory = share.values = mine.memory[: expected.size]
    return Case(call, (MPI.IN_PLACE, mine.spec, *counts, _op(draw)), [], share, expected)


CASES: list[Callable[[Draw], Case]] = [
    *(bcast, gather, scatter, allgather, alltoall, gatherv, scatterv, allgatherv, alltoallv, alltoallw),
    *(reduce, allreduce, reduce_scatter_block, reduce_scatter, scan, exscan),
]
