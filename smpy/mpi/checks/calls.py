"""Hooks around the calls of a world: checks run as the outermost call of a rank begins and returns.

They are installed only in a run with --check. Compiled sends and receives stay compiled: the kernel compares types
and detects races, and methods of the surface check the buffers of operations that they start or complete. Calls of
methods in Python are wrapped; when they complete operations that the surface has started, the surface is notified.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, Final, Protocol

from smpy.engine.checked_engine import CheckedEngine, ChosenMessage, MessageKind, PostedMessage
from smpy.engine.engine import Engine
from smpy.engine.messages import Load
from smpy.engine.surface import surface
from smpy.mpi.checks.buffers import PendingBuffer, Touch, has_own_content
from smpy.mpi.checks.collective_parts import CollectivePart, is_collective, part_in
from smpy.mpi.checks.collectives import CollectiveChecks
from smpy.mpi.checks.handles import FREEING_CALLS, HandleChecks, identity_of
from smpy.mpi.checks.mistakes import NOWHERE, Kind, Line, Mistakes, Side, is_of_library, line_here
from smpy.mpi.checks.requests import RequestChecks
from smpy.mpi.checks.signatures import agree, described
from smpy.mpi.checks.types import TypeKeys
from smpy.mpi.checks.windows import WindowCall, WindowChecks
from smpy.mpi.comms.collective_handles import CollectiveHandle
from smpy.mpi.comms.comm import Comm
from smpy.mpi.data.datatype_core import DatatypeCore
from smpy.mpi.data.layout import Layout
from smpy.mpi.requests.matched import Message
from smpy.mpi.requests.persistent import Prequest
from smpy.mpi.requests.request import Request
from smpy.mpi.requests.status import Status
from smpy.mpi.rma.window_parts import WindowPart
from smpy.mpi.state.comm_core import CommCore
from smpy.mpi.state.exceptions import Exception as MpiException
from smpy.mpi.state.guard import CallWrapper, is_of_mpi
from smpy.mpi.state.handle import Handle

__all__ = ["CallChecks", "install_checks"]

_IN_PYTHON: Final = ("Iprobe", "Sendrecv", "Sendrecv_replace")
"""Compiled calls that are replaced by their methods in Python."""


class Patching(Protocol):
    """Records how to undo changes of shared classes."""

    def later(self, undo: Callable[[], object]) -> None:
        """Register `undo` to be called when the run is over."""


class _Call:
    """Outermost call that a rank is in."""

    __slots__ = ("asks", "buffers", "line", "name", "part", "rank", "started", "wild_lines", "window")

    def __init__(self, name: str, rank: int, *, asks: bool) -> None:
        self.name = name
        self.rank = rank
        self.asks = asks
        self.line = NOWHERE
        self.buffers: list[PendingBuffer] = []
        self.wild_lines: list[int] = []
        self.started: list[tuple[Request, int]] = []  # by Startall, and the number of buffers before each
        self.part: tuple[CommCore, CollectivePart] | None = None  # for the request that the call returns
        self.window: WindowCall | None = None

    def here(self) -> Line:
        """Line of the call in the program."""
        if self.line is NOWHERE:
            self.line = line_here()
        return self.line

    @property
    def starts(self) -> bool:
        """Whether the call starts operations that continue after it returns."""
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
        self._requests = RequestChecks(self._mistakes, self._line)
        self._collectives = CollectiveChecks(self._mistakes)
        self._windows = WindowChecks(self._mistakes, self._line)
        self._calls: dict[int, _Call] = {}
        self._parts: dict[int, tuple[CommCore, CollectivePart]] = {}
        self._asking_lines: set[int] = set()
        self._asking_probes: set[Line] = set()
        self._matched_probes: dict[int, Line] = {}
        self._taking_probes: set[Line] = set()
        self._left: list[Side] = []
        self._told_receives: set[tuple[int, int]] = set()
        self._is_over = False

    # ---- calls ----

    def make(
        self, inner: Callable[..., Any], method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Make a call, with checks before and after it if the program itself makes it."""
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
            to_start = _requests_to_start(args, kwargs) if call.name == "Startall" else None
            if to_start is not None:
                args, kwargs = (args[0], self._each_to_start(call, to_start)), {}
            result = inner(method, *args, **kwargs)
        except BaseException as error:
            self._drop(call)
            if call.window is not None:
                self._windows.drop(call.window)
            part = _part_of_window(args)
            if part is not None and isinstance(error, MpiException):
                self._windows.failed(call.name, call.rank, part, error, call.here)
            raise
        finally:
            del self._calls[timeline]
        if frees is not None:
            self._handles.freed(call.rank, *frees)
        if call.window is not None:
            call.buffers += self._windows.end(call.window, result)
            if result is None:
                return None
        self._end(call, args, kwargs, result)
        return result

    def _begin(
        self, call: _Call, method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[str, int] | None:
        """Check the begin of a call, and return family and key of the object that it frees, or None."""
        first, part_of_window = args[0] if args else None, _part_of_window(args)
        if isinstance(first, (CommCore, Message)) or first is Message:
            self._note_probe(call, is_of_message=not isinstance(first, CommCore))
        if isinstance(first, CommCore):
            if is_collective(call.name):
                part = part_in(first, call.name, _arguments_of(method, args, kwargs))
                if part is not None:
                    self._enter(call, first, part)
        elif part_of_window is not None:
            arguments = _arguments_of(method, args, kwargs)
            call.window = self._windows.begin(call.name, call.rank, part_of_window, arguments, call.here)
        elif call.name == "Start" and isinstance(first, Prequest):
            self._start_part(call, first)
        elif call.asks and _is_of_request(first):
            self._asking_lines.update(self._requests.asked(call.rank, _requests_in(args, kwargs)))
        return identity_of(first) if call.name in FREEING_CALLS and isinstance(first, Handle) else None

    def _start_part(self, call: _Call, request: Prequest) -> None:
        described_part = self._parts.get(id(request._persistent()))
        if described_part is not None:
            self._take_part(call, *described_part)

    def _each_to_start(self, call: _Call, requests: Iterable[Any]) -> Iterator[Any]:
        """Yield the requests of `Startall`; by the time of the next one, the buffers of each are known."""
        for request in requests:
            if isinstance(request, Prequest):
                call.started.append((request, len(call.buffers)))
                self._start_part(call, request)
            yield request

    def _note_probe(self, call: _Call, *, is_of_message: bool) -> None:
        """Note probes that take messages, and lines of probes whose message's sender the program reads."""
        name = call.name.lower()
        if name in ("mprobe", "improbe"):
            self._matched_probes[call.rank] = call.here()
            self._taking_probes.add(call.here())
        if call.asks and name.endswith("probe"):
            self._asking_probes.add(call.here())
        elif call.asks and is_of_message and call.rank in self._matched_probes:
            self._asking_probes.add(self._matched_probes[call.rank])

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
                    side = call.rank, part.call, call.here()
                    buffer = PendingBuffer(*side, entries, is_written=is_written, is_result=is_written)
                    self._add(call, buffer)
                    buffer.remember()

    def _end(self, call: _Call, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        first = args[0] if args else None
        makes_request = call.name == "Start" and isinstance(first, type)  # Grequest.Start
        if _is_of_request(first) and not makes_request:
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
        if not is_kept:
            self._drop(call)

    def _end_of_request(self, call: _Call, first: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if call.name == "Free":
            self._requests.forget(call.rank, first)
            if surface is not None:
                surface.pending_forget(first)
        elif call.name == "Start":
            self._requests.started(call.rank, first, call.name, call.here(), call.buffers, call.wild_lines)
        elif call.name == "Startall":
            ends = [*(n_before for _, n_before in call.started[1:]), len(call.buffers)]
            for (request, first_buffer), end in zip(call.started, ends, strict=False):  # perhaps no request at all
                buffers = call.buffers[first_buffer:end]
                self._requests.started(call.rank, request, call.name, call.here(), buffers, call.wild_lines)
        else:
            self._drop(call)
            completed = _requests_in(args, kwargs)
            self._requests.completed(call.rank, completed, call.name, call.here())
            if surface is not None:
                surface.pending_completed(call.name, completed, call.asks)

    def _drop(self, call: _Call) -> None:
        """End the checks of a call's buffers: its operations ended as it returned."""
        for buffer in call.buffers:
            self._requests.buffers_of(call.rank).end(buffer)

    # ---- messages ----

    def posted(self, message: PostedMessage, load: Load) -> tuple[int, Load]:
        """Key of a message's type, and its payload end, which checks the buffer if the operation is unfinished."""
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
        if call.starts:
            buffer.remember()
        if call.starts and buffer.is_written:
            buffer.guard(message.line)
            load = buffer.arriving(load, lambda late, _: self._requests.buffers_of(late.rank).tell(late))
        return key, load

    def _add(self, call: _Call, buffer: PendingBuffer) -> None:
        call.buffers.append(buffer)
        self._requests.buffers_of(call.rank).begin(buffer)
        span = buffer.begin, buffer.end - buffer.begin
        is_near = surface is not None and surface.pending_overlaps(*span, buffer.is_written)
        for begin, end in buffer.stretches() if is_near else ():
            for line, is_written in surface.pending_overlaps(begin, end - begin, buffer.is_written):
                other = _side(call.rank, self._line(line), is_written=bool(is_written))
                self._mistakes.add(Kind.OVERLAP, other, buffer.side)

    # ---- buffers in the lists of the compiled surface ----

    def _line(self, number: int) -> Line:
        return Line(*self._engine.place_of_line(number)) if number else NOWHERE

    def overlapping(self, rank: int, line: int, is_written: int, new_line: int, is_new_written: int) -> None:
        """Report two operations with overlapping buffers, by the numbers of their lines."""
        first = _side(rank, self._line(line), is_written=bool(is_written))
        self._mistakes.add(Kind.OVERLAP, first, _side(rank, self._line(new_line), is_written=bool(is_new_written)))

    def compare(self, rank: int, line: int, is_written: int, address: int, nbytes: int) -> None:
        """Report each buffer in the lists here that the buffer of a compiled operation overlaps."""
        for other in self._requests.buffers_of(rank).overlapped(address, address + nbytes, is_written=bool(is_written)):
            self._mistakes.add(Kind.OVERLAP, other.side, _side(rank, self._line(line), is_written=bool(is_written)))

    def changed(self, rank: int, line: int, is_written: int, call: str, end_line: int) -> None:
        """Report that the buffer of an operation was changed before `call` completed it."""
        done = Side(rank, f"{call} completes it", self._line(end_line))
        name = "Irecv" if is_written else "Isend"
        self._mistakes.add(Kind.BUFFERS, _changed(rank, name, self._line(line), is_written=bool(is_written)), done)

    def access_changed(self, rank: int, line: int, is_written: int, call: str | None, end_line: int) -> None:
        """Report that the buffer of an access was changed before completion; `call` has completed it, or is None."""
        place = self._line(line)
        if not is_of_library(place):
            done = () if call is None else (Side(rank, f"{call} completes it", self._line(end_line)),)
            start = _changed(rank, "Get" if is_written else "Put", place, is_written=bool(is_written))
            self._mistakes.add(Kind.BUFFERS, start, *done)

    def completed(self, part: WindowPart, call: str, peer: int, line: int) -> None:
        """Note that a compiled call on a window has completed accesses, some of which are recorded here."""
        self._windows.completed(part, call, peer, self._line(line))

    def touched(self, rank: int, line: int, how: int, touch_line: int, call: str | None, end_line: int) -> None:
        """Report a touch of a receive's guarded buffer; `call` has completed the receive since, or is None."""
        sides = Touch(how).sides(rank, "Irecv", self._line(line), self._line(touch_line))
        if not touch_line and call is not None:
            sides.append(Side(rank, f"{call} completes it", self._line(end_line)))
        self._mistakes.add(Kind.BUFFERS, *sides)
        self._told_receives.add((rank, line))

    def left(self, rank: int, line: int) -> None:
        """Note a send that was never completed."""
        place = self._line(line)
        if not is_of_library(place):
            self._left.append(Side(rank, "request of Isend", place))

    def asks(self, line: int) -> None:
        """Note the line of a receive whose wait reads the sender from a status."""
        self._asking_lines.add(line)

    # ---- at the end ----

    def report(self, *, is_whole: bool) -> Mistakes:
        """All mistakes found; in a run that has reached its end, also objects, requests and epochs left behind."""
        if not self._is_over:
            self._is_over = True
            self._report_messages()
            if is_whole:
                self._requests.report()
                self._windows.report()
                for side in self._left:
                    self._mistakes.add(Kind.REQUESTS, side)
                self._handles.report(self._mistakes)
        return self._mistakes

    def _report_messages(self) -> None:
        for checked in self._engine.checked_messages():
            receive, send, other = map(self._line, checked.lines)
            receiver, sender, other_sender = checked.ranks
            if checked.kind is MessageKind.WRITTEN:
                if (receiver, checked.lines[0]) in self._told_receives:
                    continue
                self._mistakes.add(Kind.BUFFERS, _changed(receiver, "Irecv", receive, is_written=True))
                continue
            if checked.kind in (MessageKind.RACE, MessageKind.PROBED):
                is_probe = checked.kind is MessageKind.PROBED
                asks = checked.asks or checked.lines[0] in self._asking_lines
                asks |= is_probe and receive in self._asking_probes
                if is_probe and not asks and receive not in self._taking_probes:
                    continue  # the probe takes no message
                self._mistakes.add(
                    Kind.ORDER if asks else Kind.RACES,
                    Side(receiver, f"{'probes' if is_probe else 'receives'} from any source", receive),
                    Side(sender, f"sends the message that it {'finds' if is_probe else 'takes'}", send),
                    Side(other_sender, f"sends another one that it might {'find' if is_probe else 'take'}", other),
                    chosen=checked.other,
                )
                continue
            sent, received = map(self._types.layout_of, checked.types)
            if sent is None or received is None or agree(sent, received, checked.nbytes):
                continue
            self._mistakes.add(
                Kind.TYPES,
                Side(sender, f"sends {described(sent, checked.nbytes)}", send),
                Side(receiver, f"receives {described(received)}", receive),
            )


def _side(rank: int, line: Line, *, is_written: bool) -> Side:
    """Side of an overlap: the start of an operation of the compiled surface."""
    return Side(rank, "Irecv receives into the buffer" if is_written else "Isend sends from the buffer", line)


def _changed(rank: int, call: str, line: Line, *, is_written: bool) -> Side:
    """Side of a changed buffer: the start of an operation of the compiled surface."""
    what = "written" if is_written else "changed"
    return Side(rank, f"{call}: its buffer is {what} before the operation completes", line)


def _asks(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call receives a `Status`, or a list of them behind its list of requests."""
    behind = args[2] if len(args) > 2 and isinstance(args[0], type) else None
    if isinstance(kwargs.get("statuses", behind), list):
        return True
    return any(isinstance(each, Status) for each in (*args, *kwargs.values()))


def _part_of_window(args: tuple[Any, ...]) -> WindowPart | None:
    """The rank's part of the window whose method is called; None for other objects."""
    part = args[0]._membership if args and isinstance(args[0], CollectiveHandle) else None
    return part if isinstance(part, WindowPart) else None


def _is_of_request(first: object) -> bool:
    """Whether the first argument shows a method of requests."""
    return isinstance(first, Request) or (isinstance(first, type) and issubclass(first, Request))


def _requests_to_start(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Argument of `Startall`; None when the call has another signature."""
    if len(args) == 2 and not kwargs:
        return args[1]
    return kwargs.get("requests") if len(args) == len(kwargs) == 1 else None


def _requests_in(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterable[Any] | None:
    """Requests that a call completes; None when an iterator yielded them and is exhausted."""
    if not isinstance(args[0], type):
        return (args[0],)
    requests = args[1] if len(args) > 1 else kwargs.get("requests")
    return requests if isinstance(requests, (list, tuple)) else None


@lru_cache(maxsize=256)
def _parameters(method: Callable[..., Any]) -> tuple[tuple[str, ...], dict[str, Any]]:
    code = method.__code__
    names = code.co_varnames[: code.co_argcount]
    defaults = method.__defaults__ or ()
    return names, dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))


def _arguments_of(method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments by name, with defaults; missing ones are left out."""
    names, defaults = _parameters(method)
    return {**defaults, **dict(zip(names, args, strict=False)), **kwargs}


def install_checks(engine: Engine, patches: Patching, chosen: tuple[int, int, int, int] | None = None) -> None:
    """Install checks of a world's calls until the run is over; the world is the running one.

    Parameters
    ----------
    engine : CheckedEngine
        The world.
    patches : Patching
        Undoes replacements at the end of the run.
    chosen : tuple of int, optional
        Forced choice: rank, number of its receive from any source, and source and tag of the message to take.
    """
    if not isinstance(engine, CheckedEngine):
        raise TypeError(f"a {type(engine).__name__} does not report its messages to checks")
    if chosen is not None:
        engine.choose(ChosenMessage(*chosen))
    checks = engine.world_storage[CallChecks] = CallChecks(engine)
    engine.observer = checks
    engine.guard = CallWrapper(checks.make)
    if surface is None:
        return
    engine.before_run = lambda: surface.check(checks)
    of_comm, of_request = surface.checked_methods()
    of_comm |= {name: _method(Comm, f"_{name}") for name in _IN_PYTHON}
    for owner, methods in ((Comm, of_comm), (Request, of_request), (DatatypeCore, {"_refer_to": _refer_to})):
        for name, method in methods.items():
            _replace(owner, name, method, patches)


def _method(owner: type, name: str) -> Any:
    """A method as found in the class that defines it."""
    return next(vars(base)[name] for base in owner.__mro__ if name in vars(base))


def _replace(owner: type, name: str, method: Any, patches: Patching) -> None:
    before = vars(owner).get(name)
    type.__setattr__(owner, name, method)
    if before is None:
        patches.later(lambda: type.__delattr__(owner, name))
    else:
        patches.later(lambda: type.__setattr__(owner, name, before))


_refer = DatatypeCore._refer_to


def _refer_to(self: DatatypeCore, layout: Layout | None) -> None:
    """Refer to a layout; entries of a derived one go to Python, which has their types, not to the compiled surface."""
    _refer(self, layout)
    if layout is not None and not layout.is_basic:
        self._size, self._strided = 0, None
