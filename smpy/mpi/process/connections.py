"""Connections between groups of ranks: at a port, or over a socket.

MPI says nothing of their time, and SMPI has none of them. Here the roots wait for each other; then each side learns of
the other by a broadcast of 4 bytes, and the intercommunicator costs what any does.
"""

from __future__ import annotations

import os
from typing import Any, Final

from smpy.engine.running import current, mpi_call, per_world
from smpy.mpi.collectives.call import check_root
from smpy.mpi.collectives.open_collective import Signature, enter
from smpy.mpi.comms.creation import Creation
from smpy.mpi.comms.creation_messages import announce, pay_for_new
from smpy.mpi.process.meetings import come_to_date, fail_alike, is_awaited, meet
from smpy.mpi.process.names import check_port
from smpy.mpi.state.comm_core import member_of
from smpy.mpi.state.exceptions import Exception as MpiException
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.info import INFO_NULL, Info
from smpy.mpi.state.world import Communicator

__all__ = ["Connections", "Joining"]

_TOLD_BYTES: Final = 4
_TOKEN_BYTES: Final = 8
_ARRIVAL_S: Final = 1.0
"""Real time that the token of a rank that has come first may need on its way through this machine."""


class Connections(Creation):
    """Calls by which two groups of ranks connect at a port."""

    __slots__ = ()

    @mpi_call
    def Accept(self, port_name: str, info: Info = INFO_NULL, root: int = 0) -> Any:
        """Wait for another group of ranks to connect at a port: an intercommunicator with it.

        Parameters
        ----------
        port_name : str
            An open port; only the root's counts.
        info : Info
            Hints; they change nothing.
        root : int
            Rank that waits for the other group.
        """
        return self._joined(port_name, root, "Accept", "Connect")

    @mpi_call
    def Connect(self, port_name: str, info: Info = INFO_NULL, root: int = 0) -> Any:
        """Connect to the group of ranks that accepts at a port, or will: an intercommunicator with it.

        Parameters
        ----------
        port_name : str
            An open port; only the root's counts.
        info : Info
            Hints; they change nothing.
        root : int
            Rank that waits for the other group.
        """
        return self._joined(port_name, root, "Connect", "Accept")

    def _joined(self, port_name: str, root: int, call: str, other: str) -> Any:
        communicator, rank = member_of(self, call)
        root = check_root(communicator, root, call)
        collective = enter(communicator, rank, Signature(call, root), dict)
        payload: dict[str, Any] = collective.payload
        if rank == root:
            try:
                come_to_date(call)
                check_port(port_name, call)
                payload["made"] = meet((call, port_name), (other, port_name), communicator.world_ranks(), call)
            except MpiException as error:
                payload["error"] = error
        announce(communicator, rank, root, _TOLD_BYTES, call)
        collective.leave()
        if "error" in payload:
            fail_alike(payload["error"])
        new: Communicator = payload["made"]
        pay_for_new(new, rank, call)
        return self._handle_or_null(new)


class Joining(Creation):
    """The call by which two ranks connect over a socket."""

    __slots__ = ()

    @classmethod
    @mpi_call
    def Join(cls, fd: int) -> Any:
        """An intercommunicator with the rank at the other end of a socket.

        Parameters
        ----------
        fd : int
            File descriptor of a connected socket, of which nothing is left to read.
        """
        come_to_date("Join")
        token = _exchanged(fd)
        engine = current()
        new = meet(("Join", token), ("Join", token), (engine.rank,), "Join")
        pay_for_new(new, 0, "Join")
        return cls._handle_on(new)


class _Tokens:
    """Number of tokens that ranks have sent through sockets."""

    def __init__(self) -> None:
        self.n_sent = 0


def _exchanged(fd: int) -> int:
    """A token that both ends of a socket know: the first to come sends it, the second reads it."""
    import select  # most programs need neither
    import socket

    tokens = per_world(_Tokens)
    try:
        end = socket.socket(fileno=os.dup(fd))
    except OSError as error:
        return fail("ERR_ARG", f"Join({fd}): {error.strerror}; a file descriptor of a connected socket is needed")
    with end:
        patience_s = _ARRIVAL_S if any(is_awaited(("Join", token)) for token in range(tokens.n_sent)) else 0.0
        ready, _, _ = select.select([end], [], [], patience_s)
        if ready:
            return int.from_bytes(end.recv(_TOKEN_BYTES, socket.MSG_WAITALL), "little")
        token = tokens.n_sent
        tokens.n_sent += 1
        end.sendall(token.to_bytes(_TOKEN_BYTES, "little"))
        return token
