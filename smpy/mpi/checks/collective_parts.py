"""Parts of ranks in collectives: types of the blocks that they exchange, and operations, read from a call's arguments.

Most calls have one type for all blocks. Alltoallw has one type per peer rank. Neighbourhood collectives have one
block per edge of the topology; an edge has the same label at both ends. A block without entries has no type.
Functions are compared by their code, because one that two ranks define in two places may be the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import BuiltinFunctionType
from typing import Any, Final, NamedTuple, TypeAlias

from smpy.engine.messages import Entries
from smpy.mpi.comms.topology_creation import topology_of
from smpy.mpi.data.block_specifications import several_of, vector_of
from smpy.mpi.data.buffer_segments import BufferSegment
from smpy.mpi.data.buffers import is_in_place
from smpy.mpi.data.layout import Layout
from smpy.mpi.data.message_specifications import part_of
from smpy.mpi.data.operations import Op
from smpy.mpi.state.comm_core import CommCore, number_of
from smpy.mpi.state.constants import PROC_NULL, ROOT
from smpy.mpi.state.exceptions import Exception as MpiException
from smpy.mpi.state.virtual_topologies import EdgeEnd, Topology
from smpy.mpi.state.world import Communicator, world

__all__ = ["CollectivePart", "OperationKey", "blocking_form", "communicator_of", "is_collective", "part_in"]


class BlocksOfOneType(NamedTuple):
    """Blocks of one layout: entries in memory, and their number per rank; without `counts`, each rank has some."""

    layout: Layout
    entries: tuple[Entries, ...] = ()
    counts: Sequence[int] | None = None

    def by_edge(self, rank: int) -> Mapping[int, Layout]:
        """Layouts of the entries exchanged with a rank, by label of the edge."""
        return {0: self.layout} if self.counts is None or self.counts[rank] > 0 else {}


class BlocksOfEdges(NamedTuple):
    """Blocks whose layouts differ by rank, or by edge of a topology."""

    layouts: Mapping[int, Mapping[int, Layout]]
    entries: tuple[Entries, ...] = ()

    def by_edge(self, rank: int) -> Mapping[int, Layout]:
        """Layouts of the entries exchanged with a rank, by label of the edge."""
        return self.layouts.get(rank, {})


ExchangedBlocks: TypeAlias = "BlocksOfOneType | BlocksOfEdges"


class OperationKey(NamedTuple):
    """An operation: `key` identifies it among operations of the same kind, `name` is for messages."""

    kind: str
    key: object
    name: str


class CollectivePart(NamedTuple):
    """One rank's part: blocks that it sends, blocks that it receives, and its operation; None where it has none."""

    call: str
    sent: ExchangedBlocks | None = None
    received: ExchangedBlocks | None = None
    operation: OperationKey | None = None

    def buffers(self) -> Iterator[tuple[Entries, bool]]:
        """Entries in memory, each with whether the call writes it."""
        yield from ((entries, False) for entries in (self.sent.entries if self.sent else ()))
        yield from ((entries, True) for entries in (self.received.entries if self.received else ()))


class _Place(NamedTuple):
    """A rank of a communicator, and the arguments of its call."""

    communicator: Communicator
    rank: int
    arguments: dict[str, Any]

    @property
    def n_remote(self) -> int:
        """Number of ranks that this one exchanges with."""
        return self.communicator.remote.size

    def is_root(self) -> bool:
        """Whether this rank is the root."""
        return bool(self.arguments["root"] == (ROOT if self.communicator.is_inter else self.rank))

    def is_idle(self) -> bool:
        """Whether this rank is in the root's group of an intercommunicator and takes no part."""
        return self.communicator.is_inter and self.arguments.get("root") == PROC_NULL


def blocking_form(call: str) -> str:
    """Name of a call's blocking form: ``Ibcast`` and ``Bcast_init`` both give ``Bcast``."""
    name = call.removesuffix("_init")
    if name[:1] == "I" and name[1:2].islower() and name[1:].capitalize() in _READERS:
        name = name[1:].capitalize()
    return name


def is_collective(call: str) -> bool:
    """Whether this module can read the arguments of a call of this name."""
    return blocking_form(call) in _READERS


def part_in(comm: CommCore, call: str, arguments: dict[str, Any]) -> CollectivePart | None:
    """Part of the rank that makes a call; None when it cannot be read, or the call is not compared.

    Parameters
    ----------
    comm : CommCore
        The communicator.
    call : str
        Name of the call.
    arguments : dict
        Its arguments by name.
    """
    reader = _READERS.get(blocking_form(call))
    communicator = communicator_of(comm)
    if reader is None or communicator is None:
        return None
    place = _Place(communicator, comm.rank, arguments)
    if place.is_idle():
        return CollectivePart(call)
    try:
        return reader(call, place)
    except (TypeError, ValueError, LookupError, BufferError, MpiException):
        return None  # the call itself reports the error


def communicator_of(comm: CommCore) -> Communicator | None:
    """Communicator behind a handle, shared by its ranks; None for a null handle."""
    return world().communicator(number_of(comm, "")) if comm else None


def _operation(op: Any) -> OperationKey | None:
    """Key of an operation; None when it cannot be identified."""
    function = op
    if isinstance(op, Op):
        operation = op._operation_or_null
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


def _block(spec: Any, n_blocks: int = 1) -> BlocksOfOneType | None:
    """Equal blocks of a message specification; None when they have no entries."""
    part = part_of(spec, is_written=False, n_blocks=n_blocks)
    if not part.count:
        return None
    return BlocksOfOneType(part.layout, _entries([part], n_blocks))


def _blocks(spec: Any, n_blocks: int) -> BlocksOfOneType | None:
    """Blocks with a count each; None when none has entries."""
    parts = vector_of(spec, is_written=False, n_blocks=n_blocks)
    if not any(parts.counts):
        return None
    return BlocksOfOneType(parts.datatype._layout, _entries(parts), parts.counts)


def _entries(parts: Iterable[BufferSegment], n_blocks: int = 1) -> tuple[Entries, ...]:
    """Entries of segments in real memory: folded and empty ones are left out."""
    there = (part.entries for part in parts if part.count and not part.memory.is_folded)
    return tuple(each._replace(n=n_blocks * each.n) for each in there)


def _by_rank(spec: Any, n_blocks: int) -> BlocksOfEdges:
    """Blocks with a count and a datatype each."""
    parts = several_of(spec, is_written=False, n_blocks=n_blocks)
    layouts = {rank: {0: part.layout} for rank, part in enumerate(parts) if part.count}
    return BlocksOfEdges(layouts, _entries(parts))


def _along(edges: Sequence[EdgeEnd], parts: Sequence[BufferSegment]) -> BlocksOfEdges:
    """Blocks of one per edge of a topology."""
    layouts: dict[int, dict[int, Layout]] = {}
    for edge, part in zip(edges, parts, strict=True):
        if edge.peer >= 0 and part.count:
            layouts.setdefault(edge.peer, {})[edge.label] = part.layout
    return BlocksOfEdges(layouts)


def _bcast(call: str, place: _Place) -> CollectivePart:
    block = _block(place.arguments["buf"])
    return CollectivePart(call, block) if place.is_root() else CollectivePart(call, None, block)


def _gather(read: Callable[[Any, int], ExchangedBlocks | None]) -> Callable[..., CollectivePart]:
    def part(call: str, place: _Place) -> CollectivePart:
        is_root, sendbuf = place.is_root(), place.arguments["sendbuf"]
        is_alone = is_root and (place.communicator.is_inter or is_in_place(sendbuf))
        sent = None if is_alone else _block(sendbuf)
        received = read(place.arguments["recvbuf"], place.n_remote) if is_root else None
        return CollectivePart(call, sent, received)

    return part


def _scatter(read: Callable[[Any, int], ExchangedBlocks | None]) -> Callable[..., CollectivePart]:
    def part(call: str, place: _Place) -> CollectivePart:
        is_root, recvbuf = place.is_root(), place.arguments["recvbuf"]
        is_alone = is_root and (place.communicator.is_inter or is_in_place(recvbuf))
        sent = read(place.arguments["sendbuf"], place.n_remote) if is_root else None
        received = None if is_alone else _block(recvbuf)
        return CollectivePart(call, sent, received)

    return part


def _allgather(read: Callable[[Any, int], ExchangedBlocks | None]) -> Callable[..., CollectivePart]:
    def part(call: str, place: _Place) -> CollectivePart:
        received, sendbuf = read(place.arguments["recvbuf"], place.n_remote), place.arguments["sendbuf"]
        if not is_in_place(sendbuf):
            return CollectivePart(call, _block(sendbuf), received)
        sent = BlocksOfOneType(received.layout) if isinstance(received, BlocksOfOneType) else None
        return CollectivePart(call, sent, received)

    return part


def _alltoall(read: Callable[[Any, int], ExchangedBlocks | None]) -> Callable[..., CollectivePart]:
    def part(call: str, place: _Place) -> CollectivePart:
        received, sendbuf = read(place.arguments["recvbuf"], place.n_remote), place.arguments["sendbuf"]
        sent = received and received._replace(entries=()) if is_in_place(sendbuf) else read(sendbuf, place.n_remote)
        return CollectivePart(call, sent, received)

    return part


def _neighbours(
    read_out: Callable[[Any, int], Sequence[BufferSegment]], read_in: Callable[[Any, int], Sequence[BufferSegment]]
) -> Callable[..., CollectivePart]:
    def part(call: str, place: _Place) -> CollectivePart:
        topology = topology_of(place.communicator, Topology, call)
        outgoing, incoming = topology.outgoing(place.rank), topology.incoming(place.rank)
        out, into = (
            read_out(place.arguments["sendbuf"], len(outgoing)),
            read_in(place.arguments["recvbuf"], len(incoming)),
        )
        sent, received = _along(outgoing, out), _along(incoming, into)
        sent_once = [part for n, part in enumerate(out) if not n or part is not out[n - 1]]
        return CollectivePart(
            call, sent._replace(entries=_entries(sent_once)), received._replace(entries=_entries(into))
        )

    return part


def _to_all(spec: Any, n: int) -> Sequence[BufferSegment]:
    return [part_of(spec, is_written=False)] * n


def _equal(spec: Any, n: int) -> Sequence[BufferSegment]:
    whole = part_of(spec, is_written=False, n_blocks=max(n, 1))
    step = whole.count * whole.layout.extent
    return [BufferSegment(whole.memory, whole.start + i * step, whole.count, whole.datatype) for i in range(n)]


def _varying(spec: Any, n: int) -> Sequence[BufferSegment]:
    return vector_of(spec, is_written=False, n_blocks=n)


def _typed(spec: Any, n: int) -> Sequence[BufferSegment]:
    return several_of(spec, is_written=False, n_blocks=n)


def _reduction(call: str, place: _Place) -> CollectivePart:
    """Part of a rank in a reduction, whose result goes to all ranks or only to the root."""
    arguments, name = place.arguments, blocking_form(call)
    sendbuf, is_rooted = arguments["sendbuf"], name == "Reduce"
    n_blocks = place.communicator.size if name == "Reduce_scatter_block" else 1
    received = _block(arguments["recvbuf"]) if not is_rooted or place.is_root() else None
    if is_rooted and place.communicator.is_inter and place.is_root():
        sent = None
    elif is_in_place(sendbuf):
        sent = received and BlocksOfOneType(received.layout)
    else:
        sent = _block(sendbuf, n_blocks)
    return CollectivePart(call, sent, received, _operation(arguments["op"]))


def _of_objects(call: str, place: _Place) -> CollectivePart:
    """Part of a rank in a reduction of objects, which have no types."""
    return CollectivePart(call, operation=_operation(place.arguments["op"]))


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
    "Alltoallw": _alltoall(_by_rank),
    "Neighbor_allgather": _neighbours(_to_all, _equal),
    "Neighbor_allgatherv": _neighbours(_to_all, _varying),
    "Neighbor_alltoall": _neighbours(_equal, _equal),
    "Neighbor_alltoallv": _neighbours(_varying, _varying),
    "Neighbor_alltoallw": _neighbours(_typed, _typed),
    **dict.fromkeys(("Reduce", "Allreduce", "Scan", "Exscan", "Reduce_scatter", "Reduce_scatter_block"), _reduction),
    **dict.fromkeys(("reduce", "allreduce", "scan", "exscan"), _of_objects),
}
