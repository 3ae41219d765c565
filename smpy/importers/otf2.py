"""Reader of OTF2, the format of Score-P, TAU and others, by the package `otf2`.

Regions of the paradigm MPI are calls; all others are regions of the program. Ranks are MPI's locations, in their order;
further threads of a process are other locations. The library merges the events of all locations by date; it calls back
for each kind of event that is needed, with numbers of definitions (`_otf2`, the package's bindings), as objects for
each event would take longer than all the rest.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from contextlib import redirect_stderr, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from smpy.collectives.register import SPLIT
from smpy.errors import UsageError
from smpy.export.added_facts import COMMUNICATOR, FACTS, IN_VAIN, LAUNCHED_RANK, REQUEST, SOURCE, SUCCESS, TAG
from smpy.importers.quiet_library import library_silenced
from smpy.importers.real_run import RealRun
from smpy.platforms.gc_pause import collection_paused

if TYPE_CHECKING:
    from smpy.importers.import_options import ImportOptions
    from smpy.importers.trace_builder import TraceBuilder

_EVENTS_AT_ONCE: Final = 10_000
_NO_ROOT: Final = 1 << 31  # roots from here on are no ranks
_CALL: Final = "MPI_"
_NONSENSE: Final = (LookupError, AttributeError, TypeError, ValueError, ArithmeticError)
"""Errors of the package, and of those who use its definitions, where these make no sense."""

_REASONS: Final = {
    r"KeyError: (\d+)": r"it refers to definition \1, which is not there",
    r"Duplicate definition: (\w+) \[(\d+)\]": r"\1 \2 is defined twice",
    "UnicodeDecodeError": "a name in it is no text",
    "no ClockProperties": "it defines no clock",
    r"INVALID_DATA|INTEGRITY_FAULT": "it has bytes that are no record",
}
"""Sentences for errors of the package, by patterns."""


def recognises(path: Path, head: bytes) -> bool:
    """Whether a file is an anchor file of OTF2."""
    return head[2:6] == b"OTF2"


def read(path: Path, builder: TraceBuilder, options: ImportOptions) -> None:
    """Read a trace, given its anchor file.

    Raises
    ------
    UsageError
        If the package is not installed, or the trace cannot be read: its file, the rank and the date.
    """
    try:
        import _otf2
        import otf2
    except ImportError as error:
        raise UsageError(f"OTF2 is read by the package otf2: {error}; pip install '.[otf2]'") from error
    if not path.with_suffix("").is_dir():
        raise UsageError(f"{path} is the anchor of a trace whose folder {path.stem}/ is not beside it")
    try:
        with library_silenced(), collection_paused():
            trace = _reader_of(path, otf2, _otf2)
            try:
                _Events(trace, otf2, builder, options).read(_otf2)
            except _NONSENSE as error:
                raise _damaged(path.with_suffix(".def"), error) from error
            finally:
                with suppress(_otf2.Error):  # it does not close files that it could not open
                    trace.close()
    except (UsageError, _otf2.Error) as error:
        lacking = _lacking(path)
        if lacking:
            raise UsageError(f"{path} is no whole trace in OTF2: {lacking}") from error
        is_told = isinstance(error, UsageError)
        text = str(error) if is_told else f"its events cannot be read: {_reason(str(error))}"
        raise UsageError(f"{path}: {text}") from error


def _reader_of(path: Path, otf2: Any, library: Any) -> Any:
    """The package's reader of a trace, which has read its definitions."""
    output = io.StringIO()  # the package writes tracebacks of definitions that make no sense
    try:
        with redirect_stderr(output):
            return otf2.reader.Reader(str(path))
    except (library.Error, otf2.error.Error, *_NONSENSE) as error:
        try:
            library.Reader_Close(library.Reader_Open(str(path)))
        except library.Error:
            raise _damaged(path, error) from error
        raise _damaged(path.with_suffix(".def"), error, output.getvalue()) from error


def _damaged(path: Path, error: Exception, output: str = "") -> UsageError:
    """Error about a damaged file of a trace; the last line of an output tells the reason, if there is one."""
    text = next(reversed(output.split("\n")[:-1]), f"{type(error).__name__}: {error}")
    return UsageError(f"{path.name} is damaged: {_reason(text)}")


def _reason(text: str) -> str:
    """Sentence about an error of the package, given its name and text."""
    for pattern, sentence in _REASONS.items():
        match = re.search(pattern, text)
        if match is not None:
            return match.expand(sentence)
    return "a record of it makes no sense"


def _lacking(path: Path) -> str:
    """Sentence about a file that a trace should have, and has not; "": it has all that is known."""
    folder = path.with_suffix("")
    files = [path.with_suffix(".def"), *(each.with_suffix(".evt") for each in sorted(folder.glob("*.def")))]
    lacking = next((file for file in files if not file.is_file() or not file.stat().st_size), None)
    return f"{lacking.relative_to(path.parent)} is missing, or empty" if lacking else ""


class _Events:
    """Events of a trace, passed to a `RealRun`."""

    def __init__(self, trace: Any, otf2: Any, builder: TraceBuilder, options: ImportOptions) -> None:
        self._trace, self._otf2, self._builder, self._options = trace, otf2, builder, options
        self._definitions = trace.definitions
        locations = self._locations()
        self._rank_of = {location._ref: rank for rank, location in enumerate(locations)}
        builder.begin(len(locations), options, hosts=[location.group.system_tree_parent.name for location in locations])
        self._run = RealRun(builder, options)
        self._regions: dict[int, tuple[bool, str, str, int]] = {}
        self._operations = self._operation_names()
        self._comms: dict[int | tuple[int, int], int] = {}
        self._counters: dict[int, list[tuple[int, str]]] = {}
        self._parameters: dict[int, str] = {}
        self._poll: list[dict[str, list[int]]] = [{} for _ in locations]
        self._inside: list[list[int]] = [[] for _ in locations]
        self._first: int | None = None
        self._second = trace.timer_resolution
        self._last_s = 0.0
        self._n_others = 0
        self._error: Exception | None = None

    def read(self, library: Any) -> None:
        """Pass on all events.

        Raises
        ------
        UsageError
            If one makes no sense, or some are missing.
        """
        if not self._second > 0:
            raise UsageError("its clock does not tick")
        n_events = sum(location.number_of_events for location in self._definitions.locations)
        reader = self._opened(library)
        callbacks = library.GlobalEvtReaderCallbacks_New()
        kept = [self._guarded(handle, library.CALLBACK_INTERRUPT) for handle in self._handlers().values()]
        for name, callback in zip(self._handlers(), kept, strict=True):
            set_callback = getattr(library, f"GlobalEvtReaderCallbacks_Set{name}Callback", None)
            if set_callback is not None:  # libraries before 3.1 have no matched probes
                set_callback(callbacks, callback)
        library.GlobalEvtReader_SetCallbacks(reader, callbacks, None)
        library.GlobalEvtReaderCallbacks_Delete(callbacks)
        n, n_read = 0, _EVENTS_AT_ONCE
        try:
            while n_read == _EVENTS_AT_ONCE:
                n_read = library.GlobalEvtReader_ReadEvents(reader, _EVENTS_AT_ONCE)
                n += n_read
                self._options.on_progress(n / max(n_events, 1))
        except library.Error as error:
            if self._error is None:
                raise UsageError(f"events behind {self._last_s:.9g} s cannot be read: {_reason(str(error))}") from error
        if self._error is not None:
            raise self._error
        if n != n_events:
            raise UsageError(f"it is cut off: there are {n:,} of {n_events:,} events")
        if self._n_others:
            self._builder.remarks["events of threads that are no rank's first are left out"] += self._n_others
        self._run.end()

    def _opened(self, library: Any) -> Any:
        """The library's reader of all events, in the order of their dates."""
        handle = self._trace.handle
        locations = [location._ref for location in self._definitions.locations]
        for location in locations:
            library.Reader_SelectLocation(handle, location)
        has_definitions = True
        try:
            library.Reader_OpenDefFiles(handle)
        except library.Error:
            has_definitions = False
        library.Reader_OpenEvtFiles(handle)
        for location in locations:
            if has_definitions:
                reader = library.Reader_GetDefReader(handle, location)
                if reader:
                    library.Reader_ReadAllLocalDefinitions(handle, reader)
                    library.Reader_CloseDefReader(handle, reader)
            library.Reader_GetEvtReader(handle, location)
        if has_definitions:
            library.Reader_CloseDefFiles(handle)
        return library.Reader_GetGlobalEvtReader(handle)

    def _guarded(self, handle: Callable[..., None], interrupt: Any) -> Callable[..., Any]:
        """A callback of the library, which passes the rank and the date on, and keeps an error."""
        rank_of, second = self._rank_of, self._second

        def callback(location: int, time: int, _: Any, attributes: Any, *facts: Any) -> Any:
            if self._first is None:
                self._first = time
            rank = rank_of.get(location)
            if rank is None:
                self._n_others += 1
                return None
            self._last_s = date_s = (time - self._first) / second
            try:
                handle(rank, date_s, *facts)
            except _NONSENSE as error:
                reason = _reason(f"{type(error).__name__}: {error}")
                self._error = UsageError(f"rank {rank} has an event at {date_s:.9g} s that is damaged: {reason}")
                return interrupt
            except Exception as error:  # noqa: BLE001  # it cannot pass through C; `read` raises it
                self._error = error
                return interrupt
            return None

        return callback

    # ---- definitions ----

    def _locations(self) -> list[Any]:
        """Locations of ranks, in the order of ranks."""
        otf2 = self._otf2
        for group in self._definitions.groups:
            if group.group_type == otf2.GroupType.COMM_LOCATIONS and group.paradigm == otf2.Paradigm.MPI:
                return list(group.members)
        first_of: dict[int, Any] = {}
        for location in self._definitions.locations:
            if location.type == otf2.LocationType.CPU_THREAD:
                first_of.setdefault(location.group._ref, location)
        if not first_of:
            raise UsageError("it defines no ranks")
        return list(first_of.values())

    def _region(self, number: int) -> tuple[bool, str, str, int]:
        """Whether a region is a call of MPI; its name, and where it is."""
        if number not in self._regions:
            region = self._definitions.regions[number]
            name = region.name
            is_named = name[: len(_CALL)].upper() == _CALL
            is_call = is_named or region.paradigm == self._otf2.Paradigm.MPI
            if is_named:
                name = name[len(_CALL) :].removesuffix("()")
                name = name.capitalize() if name.isupper() or name.islower() else name
            line = region.begin_line_number
            has_place = 0 < line < 1 << 31 and bool(region.source_file)
            place = (Path(region.source_file).name, line) if has_place else ("", 0)
            self._regions[number] = is_call, name, *place
        return self._regions[number]

    def _operation_names(self) -> dict[int, str]:
        """Name of each collective operation; those that make or free handles synchronise like barriers."""
        kinds = self._otf2.CollectiveOp
        names = {getattr(kinds, name).value: name.lower() for name in dir(kinds) if name.isupper()}
        return {number: "barrier" if name.endswith(("handle", "allocate")) else name for number, name in names.items()}

    def _comm(self, rank: int, reference: int) -> int:
        """Number of a communicator; each rank has its own one of a COMM_SELF."""
        number = self._comms.get(reference)
        if number is None:
            number = self._comms.get((reference, rank))
        return self._new_comm(rank, reference) if number is None else number

    def _new_comm(self, rank: int, reference: int) -> int:
        otf2, comm = self._otf2, self._definitions.comms[reference]
        if isinstance(comm, otf2.definitions.InterComm):
            raise UsageError(f"communicator {comm.name!r} is between two groups, which cannot be imported")
        if comm.group.group_type == otf2.GroupType.COMM_SELF:
            number = self._comms[reference, rank] = self._builder.comm([rank])
            return number
        members = [self._rank_of[location._ref] for location in comm.group.members]
        is_new = members != list(range(self._builder.n_ranks)) or 0 in self._comms.values()
        number = self._comms[reference] = self._builder.comm(members) if is_new else 0
        return number

    # ---- events ----

    def _handlers(self) -> dict[str, Callable[..., None]]:
        """Method for each kind of event, by the library's name."""
        return {
            "Enter": self._enter,
            "Leave": self._leave,
            "MpiSend": self._send,
            "MpiIsend": self._send,
            "MpiIsendComplete": self._run_on("send_completed"),
            "MpiRecv": self._receive,
            "MpiMrecv": self._receive,
            "MpiIrecvRequest": self._run_on("receive_posted"),
            "MpiImrecvRequest": self._run_on("receive_posted"),
            "MpiIrecv": self._receive,
            "MpiImrecv": self._receive,
            "MpiRequestCancelled": self._run_on("request_cancelled"),
            "MpiCollectiveEnd": self._meet,
            "NonBlockingCollectiveRequest": self._run_on("collective_started"),
            "NonBlockingCollectiveComplete": self._meet,
            "Metric": self._count,
            "ParameterInt": self._tell_fact,
            "MeasurementOnOff": self._switch,
        }

    def _run_on(self, method: str) -> Callable[..., None]:
        """Handler of an event whose only fact is a request."""
        tell = getattr(self._run, method)
        return lambda rank, date_s, request: tell(rank, request)

    def _enter(self, rank: int, date_s: float, region: int) -> None:
        is_call, name, file, line = self._regions.get(region) or self._region(region)
        self._inside[rank].append(region)
        if is_call:
            self._run.call_begins(rank, date_s, name, file, line)
        else:
            self._run.region_begins(rank, date_s, name, file, line)

    def _leave(self, rank: int, date_s: float, region: int) -> None:
        inside = self._inside[rank]
        if not inside or inside.pop() != region:
            raise UsageError(f"rank {rank} leaves {self._region(region)[1]!r} at {date_s:.9g} s, which it is not in")
        if self._regions[region][0]:
            self._run.call_ends(rank, date_s)
        else:
            self._run.region_ends(rank, date_s)

    def _send(
        self, rank: int, date_s: float, receiver: int, comm: int, tag: int, nbytes: int, request: int | None = None
    ) -> None:
        self._run.message_sent(rank, self._comm(rank, comm), receiver, tag, nbytes, request)

    def _receive(
        self, rank: int, date_s: float, sender: int, comm: int, tag: int, nbytes: int, request: int | None = None
    ) -> None:
        self._run.message_received(rank, self._comm(rank, comm), sender, tag, nbytes, request)

    def _meet(
        self,
        rank: int,
        date_s: float,
        operation: Any,
        comm: int,
        root: int,
        sent: int,
        received: int,
        request: int | None = None,
    ) -> None:
        name = self._operations[operation.value]
        if sent and operation == self._otf2.CollectiveOp.CREATE_HANDLE:
            name = SPLIT  # its gather of colors, which `smpy export` tells; other tools tell no bytes
        root = root if root < _NO_ROOT else -1
        self._run.collective(rank, name, self._comm(rank, comm), root, sent, received, request)

    def _tell_fact(self, rank: int, date_s: float, parameter: int, value: int) -> None:
        """Take a fact of a launch or a poll, which `smpy export` tells; polls in vain come last."""
        if parameter not in self._parameters:
            self._parameters[parameter] = self._definitions.parameters[parameter].name
        name, facts = self._parameters[parameter], self._poll[rank]
        if name == LAUNCHED_RANK:
            self._run.rank_launched(rank, date_s, value)
        if name in FACTS:
            facts.setdefault(name, []).append(value)
        if name == IN_VAIN:
            self._poll[rank] = {}
            probed = None
            if COMMUNICATOR in facts:
                probed = self._comm(rank, facts[COMMUNICATOR][0]), facts[SOURCE][0], facts[TAG][0]
            self._run.polled(rank, value, facts[SUCCESS][0], probed=probed, tested=facts.get(REQUEST, ()))

    def _count(self, rank: int, date_s: float, metric: int, types: list[Any], values: list[Any]) -> None:
        if metric not in self._counters:
            self._counters[metric] = self._growing(metric)
        self._run.counters_are(
            rank, {name: _number(types[place], values[place]) for place, name in self._counters[metric]}
        )

    def _growing(self, reference: int) -> list[tuple[int, str]]:
        """Counters of a metric that grow: the place of each among the values, and its name."""
        modes, metric = self._otf2.MetricMode, self._definitions.metrics[reference]
        growing = (modes.ACCUMULATED_START, modes.ACCUMULATED_POINT, modes.ACCUMULATED_LAST, modes.ACCUMULATED_NEXT)
        members = getattr(metric, "metric_class", metric).members
        return [(place, member.name) for place, member in enumerate(members) if member.metric_mode in growing]

    def _switch(self, rank: int, date_s: float, mode: Any) -> None:
        if mode == self._otf2.MeasurementMode.OFF:
            raise UsageError(f"rank {rank} stops recording at {date_s:.9g} s: what it did then is not known")


def _number(kind: Any, value: Any) -> float:
    """Value of a counter, which is a union of types in C."""
    word = str(kind)
    if word.endswith("DOUBLE"):
        return float(value.floating_point)
    return int(value.unsigned_int if "UINT" in word else value.signed_int)
