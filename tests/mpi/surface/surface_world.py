"""A world with nothing above the compiled surface: subclasses of its bases record whatever is handed over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from smpy.engine import running
from smpy.engine.engine import Engine
from smpy.engine.messages import Envelope
from smpy.engine.surface import surface
from smpy.platforms import default_cluster, place

if surface is None:
    pytest.skip("without the compiled surface there is nothing to test", allow_module_level=True)

from smpy.engine import _surface

GENERAL = "what the general method returned"


class Truncated(Exception):
    """Raised in place of the MPI exception."""


class Recorder:
    """The general methods: each notes its name and arguments."""

    __slots__ = ()
    handed_over: list[tuple[Any, ...]] = []  # noqa: RUF012  # shared on purpose: requests are made by the surface

    @classmethod
    def note(cls, *what: Any) -> str:
        """Remember one call."""
        cls.handed_over.append(what)
        return GENERAL

    def _truncated(self, call: str, message: Envelope) -> None:
        raise Truncated(call, message)


class Comm(_surface.CommBase, Recorder):
    """A communicator by its kernel number."""

    __slots__ = ()

    def __init__(self, comm: int) -> None:
        self._refer_to(comm)

    def _Send(self, *args: Any, **named: Any) -> str:
        return self.note("Send", args, named)

    def _Recv(self, *args: Any, **named: Any) -> str:
        return self.note("Recv", args, named)

    def _Isend(self, *args: Any, **named: Any) -> str:
        return self.note("Isend", args, named)

    def _Irecv(self, *args: Any, **named: Any) -> str:
        return self.note("Irecv", args, named)

    def _Sendrecv(self, *args: Any, **named: Any) -> str:
        return self.note("Sendrecv", args, named)

    def _Iprobe(self, *args: Any, **named: Any) -> str:
        return self.note("Iprobe", args, named)

    def _Get_rank(self) -> str:
        return self.note("Get_rank")

    def _Get_size(self) -> str:
        return self.note("Get_size")


class Request(_surface.RequestBase, Recorder):
    """Request class of Isend and Irecv in these tests."""

    __slots__ = ("__weakref__",)

    def _Wait(self, *args: Any, **named: Any) -> str:
        return self.note("Wait", args, named)

    def _Test(self, *args: Any, **named: Any) -> str:
        return self.note("Test", args, named)

    @classmethod
    def _Waitall(cls, *args: Any, **named: Any) -> str:
        return cls.note("Waitall", args, named)


class Status:
    """Status whose fields the surface sets."""

    __slots__ = ("_cancelled", "_error", "_nbytes", "_source", "_tag")

    def __init__(self) -> None:
        self._source = self._tag = self._error = self._nbytes = 99
        self._cancelled = True

    def fields(self) -> tuple[int, int, int]:
        """Source, tag and size; the rest must have been set."""
        assert self._error == 0
        assert self._cancelled is False
        return self._source, self._tag, self._nbytes


class Datatype:
    """A datatype by the size of a basic one, or 0."""

    __slots__ = ("_size",)

    def __init__(self, size: int) -> None:
        self._size = size


WORLD, ALONE, NOWHERE = Comm(0), Comm(-2), Comm(-1)
DOUBLE, DERIVED = Datatype(8), Datatype(0)


def new_engine(n_ranks: int) -> Engine:
    """A world on the default cluster, one rank a core."""
    platform = default_cluster(n_ranks).build()
    return Engine(platform, platform.models, place(platform, n_ranks))


def run(*bodies: Callable[[], None], engine: Engine | None = None) -> Engine:
    """Run one rank for each body; what a body raises is raised here."""
    engine = engine or new_engine(len(bodies))
    raised: list[BaseException] = []

    def live(rank: int) -> None:
        try:
            bodies[rank]()
        except BaseException as error:  # noqa: BLE001  # a law of the loop
            raised.append(error)

    engine.spawn(live)
    Recorder.handed_over.clear()
    class_before = _surface.use_request_class(Request)
    running.enter(engine)
    try:
        engine.run(lambda: None)
    finally:
        running.enter(None)
        _surface.use_request_class(class_before)
        engine._greenlets[:] = [None] * engine.n_ranks  # ranks that still wait are unwound, in no world
    if raised:
        raise raised[0]
    return engine


def both(sender: Callable[[], None], receiver: Callable[[], None]) -> Sequence[tuple[Any, ...]]:
    """Run a sender as rank 0 and a receiver as rank 1: what was handed over."""
    run(sender, receiver)
    return list(Recorder.handed_over)
