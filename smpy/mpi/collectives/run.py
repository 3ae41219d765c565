"""Taking part in an open collective: at once, or started to be completed by a request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from smpy.collectives.choice import algorithms_under
from smpy.collectives.facts import Query
from smpy.collectives.world_schedules import algorithms_in
from smpy.engine.messages import Envelope
from smpy.engine.running import current
from smpy.errors import UsageError
from smpy.mpi.collectives.open_collective import OpenCollective
from smpy.mpi.requests.request import Request, new_request
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.world import Communicator

__all__ = ["perform", "start"]


def perform(
    collective: OpenCollective,
    communicator: Communicator,
    op: str,
    root: int,
    nbytes: int,
    call: str,
    commutative: bool = True,
    tables: Sequence[Sequence[int]] = (),
    item_bytes: int = 1,
    **facts: Any,
) -> None:
    """Take part in a collective with the algorithm that the table selects; the first rank to come looks it up.

    Parameters
    ----------
    collective : OpenCollective
        The collective that the rank has entered.
    communicator : Communicator
        Its communicator.
    op : str
        Name of the operation, as `smpy.collectives.register` has it for an intracommunicator.
    root, nbytes : int
        Root and bytes that the algorithm gets.
    call : str
        Name of the method that the program called.
    commutative : bool
        Whether a reduction may reorder its operands.
    tables : sequence of sequences of int
        Offsets of blocks that the algorithm gets.
    item_bytes : int
        Bytes of an entry of a reduction, which cannot be divided among ranks.
    **facts
        Further fields of the `Query`.
    """
    if communicator.joint.n_members == 1:
        return
    schedule = collective.schedule
    if schedule < 0:
        schedule = _schedule(collective, communicator, op, nbytes, commutative, item_bytes, **facts)
    if tables:
        current().collective(communicator.number, schedule, root, nbytes, call, tables)
    else:
        current().collective(communicator.number, schedule, root, nbytes, call)


def start(
    collective: OpenCollective,
    communicator: Communicator,
    op: str,
    root: int,
    nbytes: int,
    finish: Callable[[Envelope], Any],
    commutative: bool = True,
    tables: Sequence[Sequence[int]] = (),
    latch: int = 0,
    item_bytes: int = 1,
    **facts: Any,
) -> Request:
    """Take part in a collective, and go on at once.

    Parameters
    ----------
    collective, communicator, op, root, nbytes, commutative, tables, item_bytes, **facts
        See `perform`.
    finish : callable
        Run when the rank completes the request: it takes the result and leaves the collective.
    latch : int
        The kernel's number of a latch that holds the ranks back when their messages do not; 0 for none.
    """
    number = 0
    if communicator.joint.n_members > 1:
        schedule = collective.schedule
        if schedule < 0:
            schedule = _schedule(collective, communicator, f"i{op}", nbytes, commutative, item_bytes, **facts)
        number = current().start_collective(communicator.number, schedule, root, nbytes, tables, latch)
    return new_request(number, finish=finish)


def _schedule(
    collective: OpenCollective,
    communicator: Communicator,
    op: str,
    nbytes: int,
    commutative: bool,
    item_bytes: int,
    **facts: Any,
) -> int:
    engine = current()
    algorithms = engine.algorithms or algorithms_in(engine)
    if collective.choice is not None:
        algorithms = algorithms_under(algorithms, collective.choice)
    try:
        if communicator.is_inter:  # each side has its own
            query = Query(communicator.size, nbytes, communicator.remote.size, commutative, item_bytes, **facts)
            return algorithms.schedule(engine, f"inter_{op}", query, communicator.hosts)
        query = Query(communicator.size, nbytes, 0, commutative, item_bytes, **facts)
        collective.schedule = algorithms.schedule(engine, op, query, communicator.hosts)
    except UsageError as refusal:  # of an algorithm that does not work for these ranks
        size = f" of {nbytes:,} bytes" if nbytes else ""
        fail(
            "ERR_UNSUPPORTED_OPERATION", f"{collective.signature.call}{size} on {communicator.size:,} ranks: {refusal}"
        )
    return collective.schedule
