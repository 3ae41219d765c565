"""Checks around the calls of a world: each hears of the outermost call of a rank as it begins and returns.

Installed in a run with --check alone. Sends and receives that block stay compiled; the kernel compares their types and
sees their races. Calls that start operations or complete them go to their methods in Python, around which the checks
are made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Final, Protocol

from smpy.engine.checked_engine import CheckedEngine, PostedMessage
from smpy.engine.engine import Engine
from smpy.engine.messages import Load
from smpy.mpi.checks.buffers import PendingBuffer, has_own_content
from smpy.mpi.checks.collectives import CollectiveChecks, CollectivePart, is_collective, part_in
from smpy.mpi.checks.handles import FREEING_CALLS, HandleChecks, identity_of
from smpy.mpi.checks.mistakes import NOWHERE, Kind, Line, Mistakes, Side, line_here
from smpy.mpi.checks.requests import RequestChecks
from smpy.mpi.checks.signatures import agree, described
from smpy.mpi.checks.types import TypeKeys
from smpy.mpi.comms.comm import Comm
from smpy.mpi.data.datatype_core import DatatypeCore
from smpy.mpi.requests.persistent import Prequest
from smpy.mpi.requests.request import Request
from smpy.mpi.requests.status import Status
from smpy.mpi.state.comm_core import CommCore
from smpy.mpi.state.guard import CallWrapper, is_of_mpi
from smpy.mpi.state.handle import Handle

__all__ = ["CallChecks", "install_checks"]

_WATCHED: Final = {Comm: ("Isend", "Irecv", "Sendrecv", "Sendrecv_replace"), Request: ("Wait", "Test", "Waitall")}
"""Compiled calls whose methods in Python are called instead."""


class Patching(Protocol):
    """Notes how to undo changes of shared classes."""

    def later(self, undo: Callable[[], object]) -> None:
        """Have `undo` called when the run is over."""


class _Call:
    """The outermost call that a rank is in."""

    __slots__ = ("asks", "buffers", "line", "name", "part", "rank", "wild_lines")

    def __init__(self, name: str, rank: int, *, asks: bool) -> None:
        self.name = name
        self.rank = rank
        self.asks = asks
        self.line = NOWHERE
        self.buffers: list[PendingBuffer] = []
        self.wild_lines: list[int] = []
        self.part: tuple[CommCore, CollectivePart] | None = None  # to be taken by the request that it returns

    def here(self) -> Line:
        """Its line in the program."""
        if self.line is NOWHERE:
            self.line = line_here()
        return self.line

    @property
    def starts(self) -> bool:
        """Whether it starts operations, which go on when it returns."""
        return self.name.startswith(("I", "i", "Start"))


class CallChecks:
    """All checks of a world.

    Parameters
    ----------
    engine : CheckedEngine
        The world.
    """

    def __init__(self, engine: CheckedEngine) -> None:
        self._engine = engine
        self._mistakes = Mistakes()
        self._types = TypeKeys()
        self._handles = HandleChecks()
        self._requests = RequestChecks(self._mistakes)
        self._collectives = CollectiveChecks(self._mistakes)
        self._calls: dict[int, _Call] = {}
        self._parts: dict[int, tuple[CommCore, CollectivePart]] = {}
        self._asking_lines: set[int] = set()
        self._is_over = False

    # ---- calls ----

    def make(
        self, inner: Callable[..., Any], method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Make a call, and hear of it if it is the program's own."""
        engine = self._engine
        if not engine.is_here() or not is_of_mpi(method):
            return inner(method, *args, **kwargs)
        timeline = engine.timeline
        if timeline < 0 or timeline in self._calls:
            return inner(method, *args, **kwargs)
        asks = _asks(args, kwargs)
        call = self._calls[timeline] = _Call(method.__name__.removeprefix("_"), engine.rank, asks=asks)
        try:
            frees = self._begin(call, method, args, kwargs)
            result = inner(method, *args, **kwargs)
        except BaseException:
            self._drop(call)
            raise
        finally:
            del self._calls[timeline]
        if frees is not None:
            self._handles.freed(call.rank, *frees)
        self._end(call, args, kwargs, result)
        return result

    def _begin(
        self, call: _Call, method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[str, int] | None:
        """Family and key of the object that the call frees, or None."""
        first = args[0] if args else None
        if isinstance(first, CommCore):
            if is_collective(call.name):
                part = part_in(first, call.name, _given(method, args, kwargs))
                if part is not None:
                    self._enter(call, first, part)
        elif call.name in ("Start", "Startall"):
            for request in (first,) if isinstance(first, Prequest) else args[1]:
                described_part = self._parts.get(id(request._persistent()))
                if described_part is not None:
                    self._take_part(call, *described_part)
        elif call.asks and _is_of_request(first):
            self._asking_lines.update(self._requests.asked(call.rank, _requests_in(args, kwargs)))
        return identity_of(first) if call.name in FREEING_CALLS and isinstance(first, Handle) else None

    def _enter(self, call: _Call, comm: CommCore, part: CollectivePart) -> None:
        if call.name.endswith("_init"):
            call.part = comm, part
        else:
            self._take_part(call, comm, part)

    def _take_part(self, call: _Call, comm: CommCore, part: CollectivePart) -> None:
        self._collectives.enter(comm, call.rank, call.here(), part)
        if call.starts:
            for entries, is_written in part.buffers():
                if has_own_content(entries):
                    self._add(call, PendingBuffer(call.rank, part.call, call.here(), entries, is_written=is_written))

    def _end(self, call: _Call, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        first = args[0] if args else None
        if _is_of_request(first):
            self._end_of_request(call, first, args, kwargs)
            return
        results = result if isinstance(result, (tuple, list)) else (result,)
        self._handles.made(call.rank, call.name, results)
        is_kept = False
        for each in results:
            if isinstance(each, Prequest):
                if call.part is not None:
                    self._parts[id(each._persistent())] = call.part
            elif isinstance(each, Request):
                is_kept = True
                self._requests.started(call.rank, each, call.name, call.here(), call.buffers, call.wild_lines)
            elif isinstance(each, DatatypeCore):
                self._types.know(each)
        if not is_kept:
            self._drop(call)

    def _end_of_request(self, call: _Call, first: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if call.name == "Free":
            self._requests.forget(call.rank, first)
        elif call.name == "Start":
            self._requests.started(call.rank, first, call.name, call.here(), call.buffers, call.wild_lines)
        elif call.name == "Startall":
            requests = list(args[1])
            one_each = len(requests) == len(call.buffers)
            for i, request in enumerate(requests):
                buffers = call.buffers[i : i + 1] if one_each else ()
                self._requests.started(call.rank, request, call.name, call.here(), buffers, call.wild_lines)
            if not one_each:
                self._drop(call)
        else:
            self._drop(call)
            self._requests.completed(call.rank, _requests_in(args, kwargs), call.name, call.here())

    def _drop(self, call: _Call) -> None:
        """The call has returned, and the operations whose buffers it uses with it."""
        for buffer in call.buffers:
            self._requests.buffers_of(call.rank).end(buffer)

    # ---- messages ----

    def posted(self, message: PostedMessage, load: Load) -> tuple[int, Load]:
        """Key of the type of a message, and its payload end, which looks at its buffer if that is pending."""
        call, entries = self._calls.get(self._engine.timeline), load.entries
        if call is not None and message.is_wild:
            call.wild_lines.append(message.line)
            if call.asks:
                self._asking_lines.add(message.line)
        if entries is None:
            return 0, load
        key = self._types.key_of(entries.layout)
        if call is None or call.name.startswith("P") or not has_own_content(entries):
            return key, load
        buffer = PendingBuffer(call.rank, call.name, call.here(), entries, is_written=not message.is_send)
        self._add(call, buffer)
        if call.starts and buffer.is_written:
            load = buffer.arriving(load, lambda late, _: self._requests.buffers_of(late.rank).tell(late))
        return key, load

    def _add(self, call: _Call, buffer: PendingBuffer) -> None:
        call.buffers.append(buffer)
        self._requests.buffers_of(call.rank).begin(buffer)
        if call.starts:
            buffer.remember()

    # ---- at the end ----

    def report(self, *, is_whole: bool) -> Mistakes:
        """All that was found; in a run that has come to its end, also what ranks have left behind."""
        if not self._is_over:
            self._is_over = True
            self._report_messages()
            if is_whole:
                self._requests.report()
                self._handles.report(self._mistakes)
        return self._mistakes

    def _report_messages(self) -> None:
        for found in self._engine.checked_messages():
            receive, send, other = (Line(*self._engine.place_of_line(line)) for line in found.lines)
            receiver, sender, other_sender = found.ranks
            if found.is_race:
                asks = found.asks or found.lines[0] in self._asking_lines
                self._mistakes.add(
                    Kind.ORDER if asks else Kind.RACES,
                    Side(receiver, "receives from any source", receive),
                    Side(sender, "sends the message that it takes", send),
                    Side(other_sender, "sends another one that it might take", other),
                )
                continue
            sent, received = map(self._types.layout_of, found.types)
            if sent is None or received is None or agree(sent, received, found.nbytes):
                continue
            self._mistakes.add(
                Kind.TYPES,
                Side(sender, f"sends {described(sent, found.nbytes)}", send),
                Side(receiver, f"receives {described(received)}", receive),
            )


def _asks(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call is given a status, or behind a list of requests one of statuses."""
    behind = args[2] if len(args) > 2 and isinstance(args[0], type) else None
    if isinstance(kwargs.get("statuses", behind), list):
        return True
    return any(isinstance(each, Status) for each in (*args, *kwargs.values()))


def _is_of_request(first: object) -> bool:
    """Whether the first argument is that of a method of requests."""
    return isinstance(first, Request) or (isinstance(first, type) and issubclass(first, Request))


def _requests_in(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterable[Any] | None:
    """Requests that a call completes; None where it has taken them from an iterator."""
    if not isinstance(args[0], type):
        return (args[0],)
    given = args[1] if len(args) > 1 else kwargs.get("requests")
    return given if isinstance(given, (list, tuple)) else None


@lru_cache(maxsize=256)
def _parameters(method: Callable[..., Any]) -> tuple[tuple[str, ...], dict[str, Any]]:
    code = method.__code__
    names = code.co_varnames[: code.co_argcount]
    defaults = method.__defaults__ or ()
    return names, dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))


def _given(method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments by name, as far as they are given or have defaults."""
    names, defaults = _parameters(method)
    return {**defaults, **dict(zip(names, args, strict=False)), **kwargs}


def install_checks(engine: Engine, patches: Patching) -> None:
    """Have the calls of a checked world, which runs, looked at until it is over."""
    if not isinstance(engine, CheckedEngine):
        raise TypeError(f"a {type(engine).__name__} tells nobody of its messages")
    checks = engine.world_storage[CallChecks] = CallChecks(engine)
    engine.observer = checks
    engine.guard = CallWrapper(checks.make)
    for owner, names in _WATCHED.items():
        for name in names:
            general = next((vars(base)[f"_{name}"] for base in owner.__mro__ if f"_{name}" in vars(base)), None)
            if general is not None:
                type.__setattr__(owner, name, general)
                patches.later(lambda owner=owner, name=name: type.__delattr__(owner, name))  # type: ignore[misc]
