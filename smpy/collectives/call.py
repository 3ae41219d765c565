"""A collective call as one of its ranks sees it: the argument of every algorithm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from smpy.collectives.comm_hosts import HostSearch
from smpy.collectives.hosts import Hosts, listed
from smpy.collectives.ranks import Ranks, all_ranks, ranks_from_root
from smpy.collectives.schedule import NO_BLOCKS, EqualBlocks, Formula, Offsets, Schedule, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A collective call as one of its ranks sees it.

    Its values are numbers, or symbols that stand for the numbers of any rank. An algorithm calculates with them as with
    integers, and uses `Schedule.when` and `Schedule.loop` instead of `if` and `for`. `n_ranks`, `n_remote` and
    `item_bytes` are always numbers.

    Attributes
    ----------
    rank : int or Formula
        Rank that performs the steps.
    n_ranks : int
        Size of the communicator, or of the rank's own group.
    root : int or Formula
        The root. Between groups: the root's rank in the group without the root, `AT_ROOT` at the root itself, and
        another negative number (nobody) at other ranks of its group.
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
    search : HostSearch
        State of the search for hosts among these ranks; None for ranks without a communicator in SMPI.
    is_part : bool
        Whether these ranks are a part of a call of another algorithm.
    choose : callable
        Returns the schedule of an operation for a call, by the table or algorithm of the given name (None: the run's
        choice); for an algorithm that is registered with `chooses`.
    parts : mapping of str to str
        Algorithm, or table that chooses one, for each part of the algorithm, as the table's row says. The algorithm
        names its parts.
    commutative, is_predefined, is_derived : bool
        Properties of a reduction for the choice of its parts; see `Query`.
    total_bytes : int
        All blocks of an allgatherv or a reduce_scatter together, for an algorithm that is registered with `chooses`.
    in_parts : bool
        Whether the blocks of an allgatherv have parts (`parts.ring_parts`): their first ones and sizes are in `targets`
        and `sources`.
    peer : callable
        The rank in the whole communicator that has a number among the ranks of this call; None if they are all ranks.
    n_loops : int
        Number of loops around the first step.
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
    search: HostSearch | None = None
    is_part: bool = False
    choose: Callable[[str, Call, str | None], Schedule] | None = None
    parts: Mapping[str, str] = field(default_factory=dict)
    commutative: bool = True
    is_predefined: bool = True
    is_derived: bool = False
    total_bytes: int = 0
    in_parts: bool = False
    peer: Callable[[Value], Value] | None = None
    n_loops: int = 0

    @property
    def is_in_symbols(self) -> bool:
        """Whether the values are symbols, so that the steps hold for every rank."""
        return isinstance(self.rank, Formula)

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
        return self.known_hosts().local(self.rank)

    @property
    def leaders(self) -> Ranks:
        """The first rank of each host, numbered like the hosts; `index` is the number of this rank's host."""
        return self.known_hosts().leaders(self.rank)

    @property
    def leaders_of_root(self) -> Ranks:
        """The first rank of each host, as the root numbers them: `index` is the number of the root's host."""
        return self.known_hosts().leaders(self.root)

    @property
    def local_of_root(self) -> Ranks:
        """The ranks on the root's host; `index` is the root's number among them."""
        return self.known_hosts().local(self.root)

    def blocks_of_hosts(self, nbytes: Value) -> Offsets:
        """Offsets of the blocks of hosts, each of which holds `nbytes` from each rank of the host."""
        return _ListedBlocks(list(accumulate(map(len, self.known_hosts().ranks_of), initial=0)), nbytes)

    def among(
        self, steps: Schedule, ranks: Ranks, nbytes: Value, *, root: Value = 0, blocks: Offsets | None = None
    ) -> Call:
        """The call that some of the ranks make among themselves, as a next step of `steps`.

        Parameters
        ----------
        steps : Schedule
            The steps before it.
        ranks : Ranks
            The ranks, for example `local` or `leaders`; their number is the same for all of them.
        nbytes, root : int or Formula
            Bytes as an algorithm gets them, and the number of the root among these ranks.
        blocks : Offsets
            Offsets of their blocks; None for blocks of `nbytes`.
        """
        offsets = EqualBlocks(nbytes) if blocks is None else blocks
        outer = self.peer

        def peer(number: Value) -> Value:
            return ranks[number] if outer is None else outer(ranks[number])

        return replace(
            self,
            rank=ranks.index,
            n_ranks=ranks.size_max,
            root=root,
            nbytes=nbytes,
            out=offsets,
            into=offsets,
            hosts=_hosts_of_part(ranks),
            search=self.search.among(ranks.part) if self.search and ranks.part else None,
            is_part=True,
            parts={},
            peer=peer,
            n_loops=steps.n_loops,
        )

    def add(
        self,
        steps: Schedule,
        make: Callable[[Call], Schedule],
        ranks: Ranks,
        nbytes: Value,
        root: Value = 0,
        blocks: Offsets | None = None,
    ) -> None:
        """Add the steps of an algorithm among some of the ranks; see `among`.

        Where the number of ranks differs from host to host, each number gets steps of its own.
        """
        due = set(self.search.due) if self.search else set()
        for size in self._sizes(ranks):
            if self.search:
                self.search.due |= due  # each size starts with the same due searches
            with steps.when(ranks.size == size):
                some = replace(ranks, size=size, size_max=size)
                steps.extend(make(self.among(steps, some, nbytes, root=root, blocks=blocks)))

    def add_chosen(
        self,
        steps: Schedule,
        operation: str,
        nbytes: int,
        *,
        ranks: Ranks | None = None,
        root: Value = 0,
        table: str | None = None,
    ) -> None:
        """Add the steps of the algorithm that a table chooses for another operation on equal blocks.

        Parameters
        ----------
        steps : Schedule
            The steps before it.
        operation : str
            The operation.
        nbytes : int
            Bytes as its algorithm gets them.
        ranks : Ranks
            The ranks that take part; None for all.
        root : int or Formula
            The number of the root among these ranks.
        table : str
            The table that chooses, or the algorithm itself; None for the run's choice.
        """
        choose = self.choose
        if choose is None:
            raise ValueError("an algorithm that leaves a part to a table is registered with chooses=True")
        if ranks is None:
            blocks = EqualBlocks(nbytes)
            whole = replace(self, root=root, nbytes=nbytes, out=blocks, into=blocks, n_loops=steps.n_loops)
            steps.extend(choose(operation, whole, table))
        else:
            self.add(steps, lambda call: choose(operation, call, table), ranks, nbytes, root)

    def _sizes(self, ranks: Ranks) -> list[int]:
        """The possible sizes of a part of the call."""
        if not isinstance(ranks.size, Formula):
            return [ranks.size]
        return sorted({len(on_host) for on_host in self.known_hosts().ranks_of})

    def known_hosts(self) -> Hosts:
        """The hosts of the ranks.

        Raises
        ------
        ValueError
            If the algorithm is not registered as one that uses them.
        """
        if self.hosts is None:
            raise ValueError("an algorithm that asks which ranks share a host is registered with knows_hosts=True")
        return self.hosts


class _ListedBlocks:
    """Offsets of blocks, as listed multiples of a size."""

    def __init__(self, multiples: Sequence[int], nbytes: Value) -> None:
        self._multiples = multiples
        self._nbytes = nbytes

    def __getitem__(self, index: Value) -> Value:
        return listed(self._multiples, index) * self._nbytes


def _hosts_of_part(ranks: Ranks) -> Hosts | None:
    """The hosts of a named part."""
    if ranks.part == "local":
        return Hosts([0] * ranks.size_max)
    return Hosts(range(ranks.size_max)) if ranks.part else None
