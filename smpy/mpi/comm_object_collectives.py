"""Collectives on objects, timed as mpi4py performs them: sizes first, then the pickled bytes.

A reduction of objects is mpi4py's binomial tree of messages on a duplicate of the communicator, made when it is first
needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from smpy.collectives.selectors import schedule_for
from smpy.engine.messages import Load
from smpy.engine.running import current, mpi_call
from smpy.mpi.comm_collectives import Blocks, Collectives
from smpy.mpi.comm_core import check_root, member_of, perform
from smpy.mpi.comm_management import pay_for_new
from smpy.mpi.comm_objects import ANY_SIZE, Inbox, load_of
from smpy.mpi.environment import option
from smpy.mpi.gathering import OpenCollective, Signature, enter
from smpy.mpi.operations import SUM, Op
from smpy.mpi.pickling import pickle
from smpy.mpi.world import Communicator

__all__ = ["ObjectCollectives"]

_SIZE_BYTES: Final = 8
"""What mpi4py sends to announce a size: one MPI_COUNT."""

Operation = Op | Callable[[Any, Any], Any]


class ObjectCollectives(Collectives):
    """Collective calls on objects."""

    __slots__ = ()

    @mpi_call
    def barrier(self) -> None:
        """Wait until all ranks have come."""
        self._barrier("barrier")

    @mpi_call
    def bcast(self, obj: Any, root: int = 0) -> Any:
        """Give all ranks a copy of the root's object."""
        communicator, rank = member_of(self, "bcast")
        check_root(communicator, root, "bcast")
        return _broadcast(communicator, rank, obj, root, "bcast")

    @mpi_call
    def gather(self, sendobj: Any, root: int = 0) -> list[Any] | None:
        """A list of all ranks' objects, in rank order, at the root."""
        communicator, rank = member_of(self, "gather")
        check_root(communicator, root, "gather")
        return _gathered(communicator, rank, sendobj, root)

    @mpi_call
    def allgather(self, sendobj: Any) -> list[Any]:
        """A list of all ranks' objects, in rank order, at every rank."""
        communicator, rank = member_of(self, "allgather")
        return _gathered_by_all(communicator, rank, sendobj)

    @mpi_call
    def scatter(self, sendobj: Sequence[Any] | None, root: int = 0) -> Any:
        """Give each rank its object of the root's sequence."""
        communicator, rank = member_of(self, "scatter")
        check_root(communicator, root, "scatter")
        pickled = _pickled_each(sendobj, communicator.size) if rank == root else None
        meeting = enter(communicator, rank, Signature("scatter", root), Blocks, communicator.size)
        if pickled is not None:
            meeting.payload.at = pickled
        perform(meeting, communicator, "scatter", root, _SIZE_BYTES, "scatter")
        blocks: list[bytes] = meeting.payload.at
        _send_blocks(communicator, rank, root, [len(block) for block in blocks] if rank == root else [], meeting)
        meeting.leave()
        return pickle.loads(blocks[rank])

    @mpi_call
    def reduce(self, sendobj: Any, op: Operation = SUM, root: int = 0) -> Any | None:
        """Reduce the ranks' objects, in rank order, at the root."""
        communicator, rank = member_of(self, "reduce")
        check_root(communicator, root, "reduce")
        if not option("fast_reduce", True):
            return _folded(_gathered(communicator, rank, sendobj, root), op)
        return _reduced(_duplicate(communicator, rank), rank, sendobj, op, root, "reduce")

    @mpi_call
    def allreduce(self, sendobj: Any, op: Operation = SUM) -> Any:
        """Reduce the ranks' objects, in rank order, at every rank."""
        communicator, rank = member_of(self, "allreduce")
        if not option("fast_reduce", True):
            return _folded(_gathered_by_all(communicator, rank, sendobj), op)
        private = _duplicate(communicator, rank)
        reduced = _reduced(private, rank, sendobj, op, 0, "allreduce")
        return _broadcast(private, rank, reduced, 0, "allreduce")


def _broadcast(communicator: Communicator, rank: int, obj: Any, root: int, call: str) -> Any:
    pickled = pickle.dumps(obj) if rank == root else None
    sizes = enter(communicator, rank, Signature(call, root), Blocks, 1)
    if pickled is not None:
        sizes.payload.at[0] = pickled
    perform(sizes, communicator, "bcast", root, _SIZE_BYTES, call)
    pickled = sizes.payload.at[0]
    sizes.leave()
    content = enter(communicator, rank, Signature(call, root, len(pickled)), object)
    perform(content, communicator, "bcast", root, len(pickled), call)
    content.leave()
    return pickle.loads(pickled)


def _gathered(communicator: Communicator, rank: int, sendobj: Any, root: int) -> list[Any] | None:
    meeting = _leave_pickled(communicator, rank, sendobj, Signature("gather", root))
    perform(meeting, communicator, "gather", root, _SIZE_BYTES, "gather")
    _perform_ragged("gather:linear", communicator, root, len(meeting.payload.at[rank]), "gather")
    objects = [pickle.loads(block) for block in meeting.payload.at] if rank == root else None
    meeting.leave()
    return objects


def _gathered_by_all(communicator: Communicator, rank: int, sendobj: Any) -> list[Any]:
    meeting = _leave_pickled(communicator, rank, sendobj, Signature("allgather"))
    perform(meeting, communicator, "allgather", 0, _SIZE_BYTES, "allgather")
    _perform_ragged("allgather:linear", communicator, 0, len(meeting.payload.at[rank]), "allgather")
    objects = [pickle.loads(block) for block in meeting.payload.at]
    meeting.leave()
    return objects


def _leave_pickled(communicator: Communicator, rank: int, obj: Any, signature: Signature) -> OpenCollective:
    pickled = pickle.dumps(obj)
    meeting = enter(communicator, rank, signature, Blocks, communicator.size)
    meeting.payload.at[rank] = pickled
    return meeting


def _perform_ragged(algorithm: str, communicator: Communicator, root: int, nbytes: int, call: str) -> None:
    """Blocks of different sizes go the linear way, as SMPI's do: an algorithm may not depend on one rank's size."""
    if communicator.size > 1:
        engine = current()
        schedule = schedule_for(engine, algorithm, communicator.size)
        engine.collective(communicator.number, schedule, root, nbytes, call)


def _pickled_each(objects: Sequence[Any] | None, n: int) -> list[bytes | None]:
    items: Sequence[Any] = [None] * n if objects is None else list(objects)
    if len(items) != n:
        raise ValueError(f"expecting {n} items, got {len(items)}")
    return [pickle.dumps(item) for item in items]


def _send_blocks(
    communicator: Communicator, rank: int, root: int, sizes_bytes: Sequence[int], meeting: OpenCollective
) -> None:
    """Scatterv: the root sends all blocks at once, each of its own size."""
    if communicator.size == 1:
        return
    engine, shadow, tag = current(), communicator.shadow(), meeting.place % (1 << 30)
    if rank != root:
        engine.recv(shadow, root, tag, Load(ANY_SIZE), "scatter")
        return
    peers = (peer for peer in range(communicator.size) if peer != root)
    engine.wait_all([engine.isend(shadow, peer, tag, Load(sizes_bytes[peer])) for peer in peers], "scatter")


def _folded(objects: list[Any] | None, op: Operation) -> Any:
    if objects is None:
        return None
    result = objects[0]
    for other in objects[1:]:
        result = op(result, other)
    return result


def _duplicate(communicator: Communicator, rank: int) -> Communicator:
    """The communicator for reductions; a rank's first use takes the time of making it."""
    duplicate = communicator.duplicate()
    if communicator.is_first_use(rank):
        pay_for_new(duplicate, rank, "reduce")
    return duplicate


def _reduced(private: Communicator, rank: int, sendobj: Any, op: Operation, root: int, call: str) -> Any:
    """A binomial tree to rank 0, operands in rank order, then one message to the root."""
    result = pickle.loads(pickle.dumps(sendobj))
    mask = 1
    while mask < private.size:
        peer = rank ^ mask
        if rank & mask:
            _send(private, peer, result, call)
            break
        if peer < private.size:
            result = op(result, _receive(private, peer, call))
        mask <<= 1
    if root != 0 and rank == 0:
        _send(private, root, result, call)
    elif root != 0 and rank == root:
        return _receive(private, 0, call)
    return result if rank == root else None


def _send(private: Communicator, peer: int, obj: Any, call: str) -> None:
    engine, load = current(), load_of(obj)
    engine.send(private.number, peer, 0, Load(_SIZE_BYTES), call=call)
    engine.send(private.number, peer, 0, load, call=call)


def _receive(private: Communicator, peer: int, call: str) -> Any:
    engine, inbox = current(), Inbox()
    engine.recv(private.number, peer, 0, Load(_SIZE_BYTES), call)
    engine.recv(private.number, peer, 0, inbox.load(ANY_SIZE), call)
    return inbox.open()
