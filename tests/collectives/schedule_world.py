"""Contributions that ranks have after the calls of an algorithm's lists, whatever their order in time."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

from smpy.collectives.call import Call
from smpy.collectives.comm_hosts import HostSearch
from smpy.collectives.hosts import Hosts
from smpy.collectives.register import Algorithm, algorithms_of
from smpy.collectives.schedule import NO_BLOCKS, EqualBlocks, ScheduleStep
from smpy.collectives.selection import DEFAULT
from smpy.collectives.symbolic_call import symbolic_call
from smpy.collectives.world_schedules import Algorithms

Tables = Sequence[Sequence[int]]


def hosts_of_four(n_ranks: int) -> Hosts:
    """Four ranks a host, for algorithms that ask."""
    return Hosts(rank // 4 for rank in range(n_ranks))


def numeric_call(
    operation: str, rank: int, n_ranks: int, root: int = 0, nbytes: int = 0, *, tables: Tables = (), **facts: Any
) -> Call:
    """A call in numbers: an algorithm gives the plain list of the steps of one rank."""
    call = symbolic_call(operation, n_ranks, **facts)
    out, into, targets, sources = (*tables, *[NO_BLOCKS] * 4)[:4]
    if isinstance(call.out, EqualBlocks):
        out = into = EqualBlocks(nbytes)
    return replace(
        call,
        rank=rank,
        root=root,
        nbytes=nbytes,
        out=out,
        into=into,
        targets=targets,
        sources=sources,
        choose=Algorithms(DEFAULT).chosen_part,
    )


def calls_of(
    algorithm: str,
    n_ranks: int,
    root: int = 0,
    nbytes: int | Callable[[int], int] = 100,
    item_bytes: int = 1,
    tables: Callable[[int], Tables] = lambda rank: (),
    hosts: Hosts | None = None,
) -> list[list[ScheduleStep]]:
    """The steps of every rank, four a host or as told; sizes and tables may differ by rank."""
    found, world = named(algorithm), hosts_of_four(n_ranks) if hosts is None else hosts

    def own_steps(rank: int) -> list[ScheduleStep]:
        size = nbytes(rank) if callable(nbytes) else nbytes
        own = tables(rank)
        call = numeric_call(found.operation, rank, n_ranks, root, size, item_bytes=item_bytes, tables=own, hosts=world)
        if found.chooses:
            choose, search = Algorithms(DEFAULT).chosen_part, HostSearch(is_due=False)
            call = replace(call, choose=choose, search=search)
        if found.chooses and found.operation == "allgatherv":
            call = replace(call, total_bytes=own[1][-1], in_parts=len(own) > 2)
        return found.make(call).steps

    return [own_steps(rank) for rank in range(n_ranks)]


def named(algorithm: str) -> Algorithm:
    """The algorithm "operation:name"."""
    operation, _, name = algorithm.partition(":")
    return algorithms_of(operation)[name]


def offsets(sizes: Sequence[int]) -> list[int]:
    """Prefix sums of block sizes."""
    return [0, *accumulate(sizes)]


def sent(calls: list[list[ScheduleStep]]) -> Counter[tuple[int, int, int]]:
    """(source, target, bytes) of all messages that are sent."""
    return Counter((rank, call.to, call.bytes_out) for rank, own in enumerate(calls) for call in own if call.to >= 0)


def received(calls: list[list[ScheduleStep]]) -> Counter[tuple[int, int, int]]:
    """(source, target, bytes) of all messages that are received."""
    return Counter(
        (call.source, rank, call.bytes_in) for rank, own in enumerate(calls) for call in own if call.source >= 0
    )


@dataclass
class _Strand:
    rank: int
    calls: deque[ScheduleStep]
    known: set[int]  # the same for all strands of a rank
    number: int = 0
    beside: list[_Strand] = field(default_factory=list)  # those it has started
    joins: bool = False
    n_started: int = 0  # sends and receives not ended yet
    n_awaited: int = 0  # number of them it is blocked on
    waits_for_all: bool = False
    outstanding: deque[_Message] = field(default_factory=deque)  # since all were waited for, in order
    numbered: list[_Message] = field(default_factory=list)  # the same, with those that were waited for
    waits_for: _Message | None = None

    @property
    def is_over(self) -> bool:
        return not (self.calls or self.is_blocked)

    @property
    def is_blocked(self) -> bool:
        if (self.joins or not self.calls) and not all(strand.is_over for strand in self.beside):
            return True
        if self.waits_for is not None and not self.waits_for.has_ended:
            return True
        return self.n_awaited > 0 or (self.waits_for_all and self.n_started > 0)

    def fork(self, number: int) -> None:
        """Start the strand of the steps up to a halt."""
        own = deque(iter(self.calls.popleft, ScheduleStep("halt")))
        self.beside.append(_Strand(self.rank, own, self.known, number))

    def wait(self, step: ScheduleStep) -> None:
        """Begin a wait if the step is one."""
        self.joins = step.name == "join"
        self.waits_for_all = step.name == "wait_all"
        if self.waits_for_all:
            self.outstanding.clear()
            self.numbered.clear()
        self.waits_for = self.outstanding.popleft() if step.name == "wait_oldest" and self.outstanding else None
        if step.name == "wait_for":
            self.waits_for = self.numbered[step.number]


@dataclass
class _Message:
    strand: _Strand
    is_awaited: bool
    knowledge: frozenset[int] = field(default_factory=frozenset)
    has_ended: bool = False


def known_at_the_end(calls: list[list[ScheduleStep]]) -> list[set[int]]:
    """Ranks whose contributions each rank has got, if a send carries all its sender knows and waits for its receive.

    Raises
    ------
    AssertionError
        If the ranks wait for each other for ever.
    """
    ranks = [_Strand(rank, deque(own), {rank}) for rank, own in enumerate(calls)]
    sends: defaultdict[tuple[int, int, int], deque[_Message]] = defaultdict(deque)
    receives: defaultdict[tuple[int, int, int], deque[_Message]] = defaultdict(deque)

    def post(me: _Strand, call: ScheduleStep) -> None:
        is_awaited = call.name in ("send", "recv", "exchange")
        to, source = (me.rank, call.to, me.number), (call.source, me.rank, me.number)
        for peer, queue, pair in ((call.to, sends, to), (call.source, receives, source)):
            if peer >= 0:
                message = _Message(me, is_awaited, frozenset(me.known))
                queue[pair].append(message)
                if not is_awaited:
                    me.outstanding.append(message)
                    me.numbered.append(message)
                me.n_started += 1
                me.n_awaited += is_awaited
                meet(pair)

    def meet(pair: tuple[int, int, int]) -> None:
        while sends[pair] and receives[pair]:
            send, receive = sends[pair].popleft(), receives[pair].popleft()
            receive.strand.known |= send.knowledge
            for end in (send, receive):
                end.has_ended = True
                end.strand.n_started -= 1
                end.strand.n_awaited -= end.is_awaited

    moved = True
    while moved:
        moved = False
        for me in [strand for main in ranks for strand in (main, *main.beside)]:
            while me.calls and not me.is_blocked:
                call = me.calls.popleft()
                me.wait(call)
                if call.name == "fork":
                    me.fork(call.number)
                else:
                    post(me, call)
                moved = True
    assert all(main.is_over for main in ranks), "ranks wait for each other"
    return [me.known for me in ranks]
