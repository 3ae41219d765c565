"""Which classes carry the hot calls: the compiled surface's, or their plain twins.

Both offer the same two bases; everything else of the surface is Python on top of them. `SMPY_SURFACE=python` asks for
the plain ones; they also serve where the extension is not built. A compiled call tries one contiguous buffer of a
basic type and hands everything else, before it has posted anything, to the method of the same name with an
underscore.

CommBase
    ``_kernel_comm`` (int): the kernel's number of the communicator; ``NOWHERE`` (-1) when null or freed; ``MYSELF``
    (-2) for COMM_SELF, which means 1 + the running rank. ``CommBase.__new__`` takes any arguments and leaves
    ``NOWHERE``; ``_refer_to(number)`` alone sets it.
    ``Get_rank, Get_size, rank, size`` fall back to ``self._Get_rank()`` and ``self._Get_size()`` for a null handle.
    ``Send, Recv, Isend, Irecv, Sendrecv, Iprobe`` fall back to ``self._Send, ...``, which have the same signatures:
    ``_Send(buf, dest, tag=0)``, ``_Recv(buf, source=-1, tag=-1, status=None)``, ``_Isend(buf, dest, tag=0)``,
    ``_Irecv(buf, source=-1, tag=-1)``, ``_Sendrecv(sendbuf, dest, sendtag=0, recvbuf=None, source=-1, recvtag=-1,
    status=None)``, ``_Iprobe(source=-1, tag=-1, status=None)``. The fast path is for: 0 <= dest, source < size of the
    communicator (or source -1), 0 <= tag (or tag -1 of a receive); a buffer, or a list or tuple of a buffer and a
    `Datatype` (or its type string); the buffer exports contiguous memory, writable for receives, of one native basic
    format (`Datatype.fromcode` knows it), and is not folded (`smpy.compute.folded`; such an array is not contiguous,
    save one of a single element, which may be sent as it is).
    ``Allreduce`` falls back to ``self._Allreduce(sendbuf, recvbuf, op=SUM)``, which enters the collective when this
    rank is the first; the fast path joins one that is open, when the call is the same.

RequestBase
    ``_kernel_request`` (int): the kernel's request; 0: it has completed in the kernel's eyes, nothing is left to wait
    for; -1: null. ``_buffer``: keeps the memory alive until the request completes, then None. ``_message``: None, or
    the `Envelope` of a request that has completed already (then ``_kernel_request`` is 0). ``_finish``: None, or a
    callable that the owner runs on completion, given the `Envelope`; what it returns is the object that the lower-case
    forms return; or a `CompoundOperation`, for a request that is not one of the kernel's (then ``_kernel_request`` is
    0). An inactive persistent request has number -1; its `Prequest` keeps the operation to start.
    ``RequestBase.__new__`` takes any arguments and leaves a null request; ``_refer_to(number)``, ``_share(other)`` and
    ``_let_go()``, which makes it null, alone change the first two.
    ``Wait(status=None) -> True`` and ``Test(status=None) -> bool`` fall back to
    ``self._Wait`` and ``self._Test``; the fast path is for requests whose ``_message`` and ``_finish`` are None. On
    completion they become null. ``Waitall(requests, statuses=None)`` is a class method: the
    fast path is for a list or tuple of such requests (null ones are skipped) and no statuses; else ``cls._Waitall``.
    Isend and Irecv make objects of the class given to ``use_request_class(Request)``.

Status
    A plain class with the slots ``_source, _tag, _error, _nbytes, _cancelled``. A completed receive sets the first
    four (error 0); a completed send or a null request sets ``ANY_SOURCE, ANY_TAG, 0, 0``, and all of them set
    ``_cancelled`` False.

Datatype
    The slot ``_size`` is the size in bytes of a committed datatype whose entries have no gaps and 0 of every other: a
    message of a buffer and such a datatype carries the whole buffer when its length is a multiple of ``_size``. The
    slot ``_strided`` describes a committed datatype with regular strides (`smpy.mpi.data.strided`); None of any other.

Truncation
    A receive that completes with more bytes than it has room for calls, from both bases,
    ``self._truncated(call, message)`` after the request is released; it raises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from smpy.engine.kernel import surface

if TYPE_CHECKING or surface is None:
    from smpy.mpi.state.plain import CommBase, RequestBase
else:
    CommBase, RequestBase = surface.CommBase, surface.RequestBase

__all__ = ["MYSELF", "NOWHERE", "CommBase", "RequestBase", "use_request_class"]

NOWHERE, MYSELF = -1, -2


def use_request_class(request_class: type[RequestBase]) -> None:
    """Tell the compiled calls which class Isend and Irecv make."""
    if surface is not None:
        surface.use_request_class(request_class)
