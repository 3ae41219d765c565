"""Reductions of objects, as mpi4py performs them: trees of messages on a duplicate of the communicator.

The size of each object is sent before it. Every rank takes part in every round of the tree to rank 0, also when its
result is not used. Between groups, each group reduces on a communicator of its own. These communicators are made when
they are first needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from smpy.engine.messages import Load
from smpy.engine.running import as_computing, current
from smpy.mpi.collectives.call import root_of
from smpy.mpi.collectives.object_data_movement import broadcast
from smpy.mpi.data.operations import Op
from smpy.mpi.data.pickled import SIZE_BYTES
from smpy.mpi.data.pickling import pickle
from smpy.mpi.requests.objects import ANY_SIZE, ObjectReceive, load_of
from smpy.mpi.state.world import Communicator

__all__ = ["Operation", "PrivateReduction"]

Operation: TypeAlias = Op | Callable[[Any, Any], Any]


class PrivateReduction:
    """A rank's part in a reduction by messages.

    Parameters
    ----------
    communicator : Communicator
        The communicator of the program's call.
    private : Communicator
        The duplicate of it that the messages go on.
    rank : int
        The running rank there.
    op : Op or callable
        Reduces two objects, the left one first.
    call : str
        Name of the method that the program called.
    """

    __slots__ = ("_call", "_communicator", "_local", "_op", "_private", "_rank")

    def __init__(self, communicator: Communicator, private: Communicator, rank: int, op: Operation, call: str) -> None:
        self._communicator = communicator
        self._private = private
        self._local = communicator.local() if communicator.is_inter else self._private
        self._rank = rank
        self._op = op
        self._call = call

    def reduce(self, obj: Any, root: int) -> Any | None:
        """The reduction of all objects, or of the other group's objects, at the root; None at the others."""
        top = root_of(self._communicator, self._rank, root, self._call)
        if not self._communicator.is_inter:
            return self._to(obj, root)
        if top.is_here:
            return self._received(self._private, 0)
        if not top.is_idle:
            reduced = self._to(obj, 0)
            if self._rank == 0:
                self._send(self._private, root, reduced)
        return None

    def allreduce(self, obj: Any) -> Any:
        """The reduction of all objects, or of the other group's objects, at every rank."""
        reduced = self._to(obj, 0)
        if self._communicator.is_inter and self._rank == 0:
            reduced = self._swapped(self._private, 0, reduced)
        return broadcast(self._local, self._rank, reduced, 0, self._call)

    def scan(self, obj: Any) -> Any:
        """The reduction of the objects up to this rank's."""
        result = partial = _copy(obj)
        for peer in self._partners():
            received = self._swapped(self._local, peer, partial)
            if peer < self._rank:
                partial, result = self._reduced(received, partial), self._reduced(received, result)
            else:
                partial = self._reduced(partial, received)
        return result

    def exscan(self, obj: Any) -> Any | None:
        """The reduction of the objects before this rank's; None at rank 0."""
        partial, result, is_first = _copy(obj), None, True
        for peer in self._partners():
            received = self._swapped(self._local, peer, partial)
            if peer < self._rank:
                partial = self._reduced(received, partial)
                result = received if is_first else self._reduced(received, result)
                is_first = False
            else:
                partial = self._reduced(partial, received)
        return result

    # ---- inside ----

    def _to(self, obj: Any, root: int) -> Any | None:
        """A binomial tree to rank 0, operands in rank order, then one message to the root."""
        rank, result, mask = self._rank, _copy(obj), 1
        while mask < self._local.size:
            peer = rank ^ mask
            if rank & mask:
                self._send(self._local, peer, result)
            elif peer < self._local.size:
                result = self._reduced(result, self._received(self._local, peer))
            mask <<= 1
        if root != 0 and rank == 0:
            self._send(self._local, root, result)
        elif root != 0 and rank == root:
            return self._received(self._local, 0)
        return result if rank == root else None

    def _reduced(self, left: Any, right: Any) -> Any:
        return as_computing(self._op, left, right)

    def _partners(self) -> Iterator[int]:
        """Partners of this rank in a scan, round by round."""
        mask = 1
        while mask < self._local.size:
            if self._rank ^ mask < self._local.size:
                yield self._rank ^ mask
            mask <<= 1

    def _send(self, communicator: Communicator, dest: int, obj: Any) -> None:
        engine, load = current(), load_of(obj, self._call)
        engine.send(communicator.number, dest, 0, Load(SIZE_BYTES), call=self._call)
        engine.send(communicator.number, dest, 0, load, call=self._call)

    def _received(self, communicator: Communicator, source: int) -> Any:
        engine, arriving = current(), ObjectReceive()
        engine.recv(communicator.number, source, 0, Load(SIZE_BYTES), self._call)
        engine.recv(communicator.number, source, 0, arriving.load(ANY_SIZE), self._call)
        return arriving.open()

    def _swapped(self, communicator: Communicator, peer: int, obj: Any) -> Any:
        """The object that a rank sends while this one sends it `obj`."""
        engine, number, load, arriving = current(), communicator.number, load_of(obj, self._call), ObjectReceive()
        for out, into in ((Load(SIZE_BYTES), Load(SIZE_BYTES)), (load, arriving.load(ANY_SIZE))):
            sending = engine.isend(number, peer, 0, out)
            engine.wait_all([sending, engine.irecv(number, peer, 0, into)], self._call)
        return arriving.open()


def _copy(obj: Any) -> Any:
    return as_computing(lambda: pickle.loads(pickle.dumps(obj)))
