"""`Prequest`: an operation that is described once and started many times.

An inactive persistent request has number -1, as a null one has, and its `Prequest` keeps the operation to start:
waiting for it returns at once. Starting it makes an ordinary request, whose fields it takes over until completion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

from smpy.engine.running import mpi_call
from smpy.mpi.requests.completion import look
from smpy.mpi.requests.partitioned import PartitionedReceive, PartitionedSend
from smpy.mpi.requests.request import Request
from smpy.mpi.requests.states import is_null
from smpy.mpi.state.exceptions import fail

__all__ = ["Prequest", "new_prequest"]


class Prequest(Request):
    """An operation that can be started again when it has completed.

    Parameters
    ----------
    request : Prequest, optional
        One to make another handle of.

    Raises
    ------
    TypeError
        If `request` is not persistent.
    """

    __slots__ = ()

    def __new__(cls, request: Request | None = None) -> Self:
        if request and not isinstance(request, Prequest):
            raise TypeError(f"expected a Prequest, not a {type(request).__name__}")
        return super().__new__(cls, request)

    @mpi_call
    def Start(self) -> None:
        """Start the operation."""
        _start(self, "Start")

    @classmethod
    @mpi_call
    def Startall(cls, requests: list[Prequest]) -> None:
        """Start several operations, in the order of the list.

        Parameters
        ----------
        requests : list of Prequest
            Inactive persistent requests.
        """
        for request in requests:
            _start(request, "Startall")

    @mpi_call
    def Pready(self, partition: int) -> None:
        """Say that a part of the message may be sent.

        Parameters
        ----------
        partition : int
            Number of the part.
        """
        _partitioned_send(self, "Pready").ready((partition,), "Pready")

    @mpi_call
    def Pready_range(self, partition_low: int, partition_high: int) -> None:
        """Say that some parts of the message may be sent.

        Parameters
        ----------
        partition_low, partition_high : int
            The first and the last of them.
        """
        _partitioned_send(self, "Pready_range").ready(range(partition_low, partition_high + 1), "Pready_range")

    @mpi_call
    def Pready_list(self, partitions: Sequence[int]) -> None:
        """Say that some parts of the message may be sent.

        Parameters
        ----------
        partitions : sequence of int
            Numbers of the parts.
        """
        _partitioned_send(self, "Pready_list").ready(partitions, "Pready_list")

    @mpi_call
    def Parrived(self, partition: int) -> bool:
        """Whether a part of the message has come.

        Parameters
        ----------
        partition : int
            Number of the part.
        """
        receive = self._persistent()
        if not isinstance(receive, PartitionedReceive):
            fail("ERR_REQUEST", "Parrived: the request is not one of Precv_init")
        if not 0 <= partition < receive.n_partitions:
            fail("ERR_ARG", f"Parrived({partition}): the message has partitions 0 to {receive.n_partitions - 1}")
        return is_null(self) or look(self, "Parrived") is not None


def new_prequest(start: Callable[[], Request]) -> Prequest:
    """An inactive persistent request.

    Parameters
    ----------
    start : callable
        Starts the operation once more and returns an ordinary request for it; called at each start. Two
        handles of one request share this object; no other request has the same one.
    """
    request = Prequest()
    request._operation = start
    return request


def _partitioned_send(request: Prequest, call: str) -> PartitionedSend:
    send = request._persistent()
    if not isinstance(send, PartitionedSend):
        fail("ERR_REQUEST", f"{call}: the request is not one of Psend_init")
    if is_null(request):
        fail("ERR_REQUEST", f"{call}: the request is not under way: call Start first")
    return send


def _start(request: Prequest, call: str) -> None:
    if not isinstance(request, Prequest):
        raise TypeError(f"{call}: a {type(request).__name__} is not a Prequest")
    operation = request._persistent()
    if operation is None:
        fail("ERR_REQUEST", f"{call}: the request is null")
    if not is_null(request):
        fail("ERR_REQUEST", f"{call}: the request is under way already: wait for it first")
    started = operation()
    request._share(started)
    started._let_go()
