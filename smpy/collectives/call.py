"""A collective call as one of its ranks sees it: the argument of every algorithm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from smpy.collectives.hosts import Hosts
from smpy.collectives.ranks import Ranks, all_ranks, ranks_from_root
from smpy.collectives.schedule import NBYTES, NO_BLOCKS, RANK, ROOT, EqualBlocks, Offsets, ScheduleTable, Value

_VARYING: Final = {"gatherv", "scatterv", "allgatherv", "alltoallv", "alltoallw", "reduce_scatter", "neighbour"}
_VARYING_BETWEEN_GROUPS: Final = {*_VARYING, "allgather", "alltoall"}
_N_TABLES: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A collective call as one of its ranks sees it.

    Its values are numbers, or symbols that stand for those of any rank: an algorithm calculates with them as with
    integers, and asks `Schedule.when` and `Schedule.loop` instead of `if` and `for`. `n_ranks`, `n_remote` and
    `item_bytes` are always numbers.

    Attributes
    ----------
    rank : int or Formula
        The rank whose steps are wanted.
    n_ranks : int
        Size of the communicator, or of the rank's own group.
    root : int or Formula
        The root. Between groups it is the root's rank on the side that talks to it, `AT_ROOT` at the root itself, and
        another negative number (nobody) beside it.
    nbytes : int or Formula
        Bytes of the message of bcast, reduce, allreduce, scan and exscan, of the whole vector of a reduce_scatter
        between groups, and of the rank's own block of other operations; 0 for barrier, alltoallv, alltoallw and
        neighbour.
    out, into : Offsets
        Offsets of the blocks that the rank sends and receives: block i, of the rank i, lies between entries i and
        i + 1. Scatterv has `out` at the root, gatherv `into` at the root; a reduce_scatter has `out`, its blocks
        in the vector. Blocks of one size are `EqualBlocks(nbytes)`.
    item_bytes : int
        Bytes of an entry of a reduction, which cannot be divided among ranks.
    n_remote : int
        Size of the other group; 0 when there is none.
    targets, sources : Offsets
        Number of ranks that a neighbour operation sends to, or receives from, followed by these ranks; a negative rank
        is nobody.
    hosts : Hosts
        Hosts of the ranks, for an algorithm that is registered with `knows_hosts`.
    """

    rank: Value
    n_ranks: int
    root: Value = 0
    nbytes: Value = 0
    out: Offsets = NO_BLOCKS
    into: Offsets = NO_BLOCKS
    item_bytes: int = 1
    n_remote: int = 0
    targets: Offsets = NO_BLOCKS
    sources: Offsets = NO_BLOCKS
    hosts: Hosts | None = None

    @property
    def everyone(self) -> Ranks:
        """All ranks, under their own numbers."""
        return all_ranks(self.rank, self.n_ranks)

    @property
    def from_root(self) -> Ranks:
        """All ranks, counted from the root."""
        return ranks_from_root(self.rank, self.n_ranks, self.root)

    @property
    def local(self) -> Ranks:
        """The ranks on this rank's host, in order."""
        return self._known_hosts().local(self.rank)

    @property
    def leaders(self) -> Ranks:
        """The first rank of each host; the number of another rank among them is that of its host."""
        return self._known_hosts().leaders(self.rank)

    def _known_hosts(self) -> Hosts:
        if self.hosts is None:
            raise ValueError("an algorithm that asks which ranks share a host is registered with knows_hosts=True")
        return self.hosts


def symbolic_call(
    operation: str, n_ranks: int, *, item_bytes: int = 1, n_remote: int = 0, hosts: Hosts | None = None
) -> Call:
    """A call in symbols: an algorithm gives the program of every rank."""
    out, into, targets, sources = (ScheduleTable(k) for k in range(_N_TABLES))
    blocks = EqualBlocks(NBYTES)
    is_varying = _has_varying_blocks(operation)
    return Call(
        rank=RANK,
        n_ranks=n_ranks,
        root=ROOT,
        nbytes=NBYTES,
        out=out if is_varying else blocks,
        into=into if is_varying else blocks,
        item_bytes=item_bytes,
        n_remote=n_remote,
        targets=targets,
        sources=sources,
        hosts=hosts,
    )


def _has_varying_blocks(operation: str) -> bool:
    """Whether the ranks pass tables with the offsets of the operation's blocks."""
    name = operation.removeprefix("inter_")
    varying = _VARYING if name == operation else _VARYING_BETWEEN_GROUPS
    return name in varying or name.removeprefix("i") in varying
