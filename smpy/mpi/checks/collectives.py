"""Collectives whose ranks do not fit together: types of the blocks that they exchange, and operations of reductions.

The types that one rank sends are those that the other receives. Sizes, roots and names of operations are compared in
any run. Each rank has one type to send and one to receive; Alltoallw, with a type for each other rank, is left out.
Blocks without entries have no type. A function is its code: one that two ranks define at two places may be the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import BuiltinFunctionType
from typing import Any, Final, NamedTuple

from smpy.engine.messages import Entries
from smpy.mpi.checks.mistakes import Kind, Line, Mistakes, Side
from smpy.mpi.checks.signatures import agree, described
from smpy.mpi.data.block_specifications import vector_of
from smpy.mpi.data.buffer_segments import BufferSegment
from smpy.mpi.data.buffers import is_in_place
from smpy.mpi.data.layout import Layout
from smpy.mpi.data.message_specifications import part_of
from smpy.mpi.data.operations import Op
from smpy.mpi.state.comm_core import CommCore, number_of
from smpy.mpi.state.world import Communicator, world

__all__ = ["CollectiveChecks", "CollectivePart", "blocking_form", "is_collective", "part_in"]


class _Block(NamedTuple):
    """Blocks that a rank sends or receives: a layout, the entries in memory, and their number for each rank.

    Without `counts` there are as many for all.
    """

    layout: Layout
    entries: tuple[Entries, ...] = ()
    counts: Sequence[int] | None = None

    def has_any(self, rank: int) -> bool:
        """Whether there are entries for a rank."""
        return self.counts is None or self.counts[rank] > 0


class OperationKey(NamedTuple):
    """An operation: what keys of one kind are compared by, and its name."""

    kind: str
    key: object
    name: str


class CollectivePart(NamedTuple):
    """One rank's part: blocks to all others, and from all others, and its operation; None: it has none."""

    call: str
    sent: _Block | None
    received: _Block | None
    operation: OperationKey | None = None

    def buffers(self) -> Iterator[tuple[Entries, bool]]:
        """Entries in memory, and whether they are written."""
        yield from ((entries, False) for entries in (self.sent.entries if self.sent else ()))
        yield from ((entries, True) for entries in (self.received.entries if self.received else ()))


class _Caller(NamedTuple):
    """A rank with its part, and its line."""

    rank: int
    world_rank: int
    line: Line
    part: CollectivePart


def blocking_form(call: str) -> str:
    """Name of the blocking form of a call: that of ``Ibcast`` and ``Bcast_init`` is ``Bcast``."""
    name = call.removesuffix("_init")
    if name[:1] == "I" and name[1:2].islower() and name[1:].capitalize() in _READERS:
        name = name[1:].capitalize()
    return name


def is_collective(call: str) -> bool:
    """Whether a call, by its name, is looked at here."""
    return blocking_form(call) in _READERS


def part_in(comm: CommCore, call: str, given: dict[str, Any]) -> CollectivePart | None:
    """The part of a rank that makes a call; None when it is none here.

    Parameters
    ----------
    comm : CommCore
        The communicator.
    call : str
        Name of the call.
    given : dict
        Its arguments by name.
    """
    name = blocking_form(call)
    reader = _READERS.get(name)
    communicator = _communicator(comm)
    if reader is None or communicator is None or communicator.is_inter:
        return None
    try:
        return reader(call, given, communicator.size, comm.rank)
    except (TypeError, ValueError, LookupError, BufferError):
        return None  # the call itself tells what is wrong


def _communicator(comm: CommCore) -> Communicator | None:
    return world().communicator(number_of(comm, "")) if comm else None


class CollectiveChecks:
    """Collectives that some ranks have entered."""

    def __init__(self, mistakes: Mistakes) -> None:
        self._mistakes = mistakes
        self._open: dict[tuple[int, int], list[_Caller]] = {}
        self._n_entered: dict[tuple[int, int], int] = {}
        self._n_calls: Counter[tuple[int, int]] = Counter()

    def enter(self, comm: CommCore, world_rank: int, line: Line, part: CollectivePart) -> None:
        """A rank enters a collective: compare its part with those of others."""
        communicator = _communicator(comm)
        if communicator is None:
            return
        number = communicator.number
        self._n_calls[number, world_rank] += 1
        place = number, self._n_calls[number, world_rank]
        me = _Caller(comm.rank, world_rank, line, part)
        callers = self._open.setdefault(place, [])
        for other in callers:
            if blocking_form(other.part.call) != blocking_form(part.call):
                continue  # the call itself fails
            if not (_fits(other, me) and _fits(me, other)):
                self._mistakes.add(Kind.TYPES, _side(other), _side(me))
                break
            if not _have_one_operation(other.part.operation, part.operation):
                self._mistakes.add(Kind.OPERATIONS, _side_of_operation(other), _side_of_operation(me))
                break
        if not any(_is_like(other, me) for other in callers):
            callers.append(me)
        n = self._n_entered[place] = self._n_entered.get(place, 0) + 1
        if n == communicator.size:
            del self._open[place], self._n_entered[place]


def _fits(sender: _Caller, receiver: _Caller) -> bool:
    sent, received = sender.part.sent, receiver.part.received
    if sent is None or received is None or not (sent.has_any(receiver.rank) and received.has_any(sender.rank)):
        return True
    return agree(sent.layout, received.layout)


def _have_one_operation(one: OperationKey | None, other: OperationKey | None) -> bool:
    return one is None or other is None or one.kind != other.kind or one.key == other.key


def _is_like(one: _Caller, other: _Caller) -> bool:
    """Whether the parts of two ranks differ in nothing that another rank's part is compared with."""
    mine, its = one.part, other.part
    if mine.call != its.call or mine.operation != its.operation:
        return False
    if any(block is not None and block.counts for block in (*mine[1:3], *its[1:3])):
        return False
    layouts = [tuple(block and block.layout for block in part[1:3]) for part in (mine, its)]
    return all(a is b for a, b in zip(*layouts, strict=True))


def _side(caller: _Caller) -> Side:
    part = caller.part
    ends = [("sends", part.sent), ("receives", part.received)]
    told = dict.fromkeys(f"{verb} {described(block.layout)}" for verb, block in ends if block is not None)
    return Side(caller.world_rank, f"{part.call} {' and '.join(told)}", caller.line)


def _side_of_operation(caller: _Caller) -> Side:
    operation = caller.part.operation
    name = "" if operation is None else operation.name
    return Side(caller.world_rank, f"{caller.part.call} with {name}", caller.line)


# ---- the parts of calls ----


def _operation(given: Any) -> OperationKey | None:
    """Key of an operation; None when it cannot be told what it is."""
    function = given
    if isinstance(given, Op):
        operation = given._operation_or_null
        if operation is None:
            return None
        if operation.function is None:
            return OperationKey("predefined", operation.name, operation.name)
        function = operation.function
    code = getattr(function, "__code__", None)
    name = getattr(function, "__name__", "")
    if code is not None:
        return OperationKey("function", (code.co_code, code.co_names, repr(code.co_consts)), name)
    if isinstance(function, BuiltinFunctionType):
        return OperationKey("built in", (function.__module__, name), name)
    return None


def _block(spec: Any, n_blocks: int = 1) -> _Block | None:
    """Equal blocks of a specification; None when they have no entries."""
    part = part_of(spec, is_written=False, n_blocks=n_blocks)
    if not part.count:
        return None
    return _Block(part.layout, _entries([part], n_blocks))


def _blocks(spec: Any, n_blocks: int) -> _Block | None:
    """Blocks with a count each."""
    parts = vector_of(spec, is_written=False, n_blocks=n_blocks)
    if not any(parts.counts):
        return None
    return _Block(parts.datatype._layout, _entries(parts), parts.counts)


def _entries(parts: Iterable[BufferSegment], n_blocks: int = 1) -> tuple[Entries, ...]:
    """Entries of segments that the program has in memory."""
    there = (part.entries for part in parts if part.count and not part.memory.is_folded)
    return tuple(each._replace(n=n_blocks * each.n) for each in there)


def _bcast(call: str, given: dict[str, Any], _size: int, rank: int) -> CollectivePart:
    block = _block(given["buf"])
    is_root = rank == given["root"]
    return CollectivePart(call, block if is_root else None, None if is_root else block)


def _gather(read: Callable[[Any, int], _Block | None]) -> Callable[..., CollectivePart]:
    def part(call: str, given: dict[str, Any], size: int, rank: int) -> CollectivePart:
        is_root, sendbuf = rank == given["root"], given["sendbuf"]
        sent = None if is_root and is_in_place(sendbuf) else _block(sendbuf)
        received = read(given["recvbuf"], size) if is_root else None
        return CollectivePart(call, sent, received)

    return part


def _scatter(read: Callable[[Any, int], _Block | None]) -> Callable[..., CollectivePart]:
    def part(call: str, given: dict[str, Any], size: int, rank: int) -> CollectivePart:
        is_root, recvbuf = rank == given["root"], given["recvbuf"]
        sent = read(given["sendbuf"], size) if is_root else None
        received = None if is_root and is_in_place(recvbuf) else _block(recvbuf)
        return CollectivePart(call, sent, received)

    return part


def _allgather(read: Callable[[Any, int], _Block | None]) -> Callable[..., CollectivePart]:
    def part(call: str, given: dict[str, Any], size: int, _rank: int) -> CollectivePart:
        received, sendbuf = read(given["recvbuf"], size), given["sendbuf"]
        sent = received and _Block(received.layout) if is_in_place(sendbuf) else _block(sendbuf)
        return CollectivePart(call, sent, received)

    return part


def _alltoall(read: Callable[[Any, int], _Block | None]) -> Callable[..., CollectivePart]:
    def part(call: str, given: dict[str, Any], size: int, _rank: int) -> CollectivePart:
        received, sendbuf = read(given["recvbuf"], size), given["sendbuf"]
        sent = received and received._replace(entries=()) if is_in_place(sendbuf) else read(sendbuf, size)
        return CollectivePart(call, sent, received)

    return part


def _reduction(call: str, given: dict[str, Any], size: int, rank: int) -> CollectivePart:
    """A reduction gives all ranks a result, or only the root."""
    sendbuf, root = given["sendbuf"], given.get("root", rank)
    n_blocks = size if blocking_form(call) == "Reduce_scatter_block" else 1
    received = _block(given["recvbuf"]) if root == rank else None
    sent = received and _Block(received.layout) if is_in_place(sendbuf) else _block(sendbuf, n_blocks)
    return CollectivePart(call, sent, received, _operation(given["op"]))


def _of_objects(call: str, given: dict[str, Any], _size: int, _rank: int) -> CollectivePart:
    """A reduction of objects, which have no types."""
    return CollectivePart(call, None, None, _operation(given["op"]))


_READERS: Final[dict[str, Callable[..., CollectivePart]]] = {
    "Bcast": _bcast,
    "Gather": _gather(_block),
    "Gatherv": _gather(_blocks),
    "Scatter": _scatter(_block),
    "Scatterv": _scatter(_blocks),
    "Allgather": _allgather(_block),
    "Allgatherv": _allgather(_blocks),
    "Alltoall": _alltoall(_block),
    "Alltoallv": _alltoall(_blocks),
    **dict.fromkeys(("Reduce", "Allreduce", "Scan", "Exscan", "Reduce_scatter", "Reduce_scatter_block"), _reduction),
    **dict.fromkeys(("reduce", "allreduce", "scan", "exscan"), _of_objects),
}
