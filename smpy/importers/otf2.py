"""Reader of OTF2, the format of Score-P, TAU and others, by the package `otf2`.

Regions of the paradigm MPI are calls; all others are regions of the program. Ranks are MPI's locations, in their order;
further threads of a process are other locations. The package merges the events of all locations by date, and reads them
some at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from smpy.errors import UsageError
from smpy.importers.real_run import RealRun

if TYPE_CHECKING:
    from smpy.importers.import_options import ImportOptions
    from smpy.importers.trace_builder import TraceBuilder

_EVENTS_AT_ONCE: Final = 10_000
_NO_ROOT: Final = 1 << 31  # roots from here on are no ranks
_CALL: Final = "MPI_"


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
        from otf2.error import TraceReaderError
    except ImportError as error:
        raise UsageError(f"OTF2 is read by the package otf2: {error}; pip install 'smpy-mpi[otf2]'") from error
    if not path.with_suffix("").is_dir():
        raise UsageError(f"{path} is the anchor of a trace whose folder {path.stem}/ is not beside it")
    try:
        with otf2.reader.open(str(path), batch_events=_EVENTS_AT_ONCE) as trace:
            _Events(trace, otf2, builder, options).read()
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    except (_otf2.Error, TraceReaderError) as error:
        raise UsageError(f"{path} is no whole trace in OTF2: {error}") from error
    except (KeyError, AttributeError, TypeError, IndexError) as error:
        raise UsageError(f"{path} is damaged: it refers to what it does not define ({error!r})") from error


class _Events:
    """Events of a trace, passed to a `RealRun`."""

    def __init__(self, trace: Any, otf2: Any, builder: TraceBuilder, options: ImportOptions) -> None:
        self._trace, self._otf2, self._builder, self._options = trace, otf2, builder, options
        locations = self._locations()
        self._rank_of = {id(location): rank for rank, location in enumerate(locations)}
        builder.begin(
            len(locations),
            hosts=[location.group.system_tree_parent.name for location in locations],
            host_speed_flop_per_s=options.host_speed_flop_per_s,
            keeps_seconds=options.host_speed_flop_per_s is None,
        )
        self._run = RealRun(builder, options)
        self._regions = {id(region): self._region(region) for region in trace.definitions.regions}
        self._operations = self._operation_names()
        self._comms: dict[int | tuple[int, int], int] = {}
        self._counters: dict[int, list[tuple[int, str]]] = {}
        self._inside: list[list[int]] = [[] for _ in locations]
        self._n_others = 0

    def read(self) -> None:
        """Pass on all events.

        Raises
        ------
        UsageError
            If one makes no sense.
        """
        trace = self._trace
        second = trace.timer_resolution
        if not second > 0:
            raise UsageError("its clock does not tick")
        n_events = sum(location.number_of_events for location in trace.definitions.locations)
        handle_of = self._handlers()
        rank_of = self._rank_of
        n, first = 0, None
        for location, event in trace.events:
            if first is None:
                first = event.time
            n += 1
            if not n % _EVENTS_AT_ONCE:
                self._options.on_progress(n / n_events)
            handle = handle_of.get(type(event))
            if handle is not None:
                rank = rank_of.get(id(location))
                if rank is not None:
                    handle(rank, (event.time - first) / second, event)
                else:
                    self._n_others += 1
        if n != n_events:
            raise UsageError(f"it is cut off: there are {n:,} of {n_events:,} events")
        if self._n_others:
            self._builder.remarks["events of threads that are no rank's first are left out"] += self._n_others
        self._run.end()

    # ---- definitions ----

    def _locations(self) -> list[Any]:
        """Locations of ranks, in the order of ranks."""
        otf2, definitions = self._otf2, self._trace.definitions
        for group in definitions.groups:
            if group.group_type == otf2.GroupType.COMM_LOCATIONS and group.paradigm == otf2.Paradigm.MPI:
                return list(group.members)
        first_of: dict[int, Any] = {}
        for location in definitions.locations:
            if location.type == otf2.LocationType.CPU_THREAD:
                first_of.setdefault(id(location.group), location)
        if not first_of:
            raise UsageError("it defines no ranks")
        return list(first_of.values())

    def _region(self, region: Any) -> tuple[bool, str, str, int]:
        """Whether a region is a call of MPI; its name, and where it is."""
        otf2 = self._otf2
        is_call = region.paradigm == otf2.Paradigm.MPI and region.name[:4].upper() == _CALL
        name = region.name
        if is_call:
            name = name[len(_CALL) :].capitalize() if name.isupper() or name.islower() else name[len(_CALL) :]
        line = region.begin_line_number
        has_place = 0 < line < 1 << 31 and bool(region.source_file)
        return is_call, name, Path(region.source_file).name if has_place else "", line if has_place else 0

    def _operation_names(self) -> dict[int, str]:
        """Name of each collective operation; those that make or free handles synchronise like barriers."""
        kinds = self._otf2.CollectiveOp
        names = {getattr(kinds, name).value: name.lower() for name in dir(kinds) if name.isupper()}
        return {number: "barrier" if name.endswith(("handle", "allocate")) else name for number, name in names.items()}

    def _comm(self, rank: int, comm: Any) -> int:
        """Number of a communicator; each rank has its own one of a COMM_SELF."""
        key = id(comm)
        number = self._comms.get(key)
        if number is None:
            number = self._comms.get((key, rank))
        return self._new_comm(rank, comm) if number is None else number

    def _new_comm(self, rank: int, comm: Any) -> int:
        otf2 = self._otf2
        if isinstance(comm, otf2.definitions.InterComm):
            raise UsageError(f"communicator {comm.name!r} is between two groups, which cannot be imported")
        if comm.group.group_type == otf2.GroupType.COMM_SELF:
            number = self._comms[id(comm), rank] = self._builder.comm([rank])
            return number
        members = [self._rank_of[id(location)] for location in comm.group.members]
        is_world = members == list(range(self._builder.n_ranks))
        is_new = not is_world or 0 in self._comms.values()
        number = self._comms[id(comm)] = self._builder.comm(members) if is_new else 0
        return number

    # ---- events ----

    def _handlers(self) -> dict[type, Callable[[int, float, Any], None]]:
        events = self._otf2.events
        return {
            events.Enter: self._enter,
            events.Leave: self._leave,
            events.MpiSend: self._send,
            events.MpiIsend: self._isend,
            events.MpiIsendComplete: self._isend_complete,
            events.MpiRecv: self._receive,
            events.MpiMrecv: self._receive,
            events.MpiIrecvRequest: self._post,
            events.MpiImrecvRequest: self._post,
            events.MpiIrecv: self._receive_posted,
            events.MpiImrecv: self._receive_posted,
            events.MpiRequestCancelled: self._cancel,
            events.MpiCollectiveEnd: self._collective,
            events.NonBlockingCollectiveRequest: self._start_collective,
            events.NonBlockingCollectiveComplete: self._complete_collective,
            events.Metric: self._count,
            events.MeasurementOnOff: self._switch,
        }

    def _enter(self, rank: int, date_s: float, event: Any) -> None:
        key = id(event.region)
        is_call, name, file, line = self._regions[key]
        self._inside[rank].append(key)
        if is_call:
            self._run.call_begins(rank, date_s, name, file, line)
        else:
            self._run.region_begins(rank, date_s, name, file, line)

    def _leave(self, rank: int, date_s: float, event: Any) -> None:
        key, inside = id(event.region), self._inside[rank]
        if not inside or inside.pop() != key:
            raise UsageError(f"rank {rank} leaves {event.region.name!r} at {date_s:.9g} s, which it is not in")
        if self._regions[key][0]:
            self._run.call_ends(rank, date_s)
        else:
            self._run.region_ends(rank, date_s)

    def _send(self, rank: int, date_s: float, event: Any) -> None:
        comm = self._comm(rank, event.communicator)
        self._run.message_sent(rank, comm, event.receiver, event.msg_tag, event.msg_length)

    def _isend(self, rank: int, date_s: float, event: Any) -> None:
        comm = self._comm(rank, event.communicator)
        self._run.message_sent(rank, comm, event.receiver, event.msg_tag, event.msg_length, event.request_id)

    def _isend_complete(self, rank: int, date_s: float, event: Any) -> None:
        self._run.send_completed(rank, event.request_id)

    def _receive(self, rank: int, date_s: float, event: Any) -> None:
        comm = self._comm(rank, event.communicator)
        self._run.message_received(rank, comm, event.sender, event.msg_tag, event.msg_length)

    def _post(self, rank: int, date_s: float, event: Any) -> None:
        self._run.receive_posted(rank, event.request_id)

    def _receive_posted(self, rank: int, date_s: float, event: Any) -> None:
        comm = self._comm(rank, event.communicator)
        self._run.message_received(rank, comm, event.sender, event.msg_tag, event.msg_length, event.request_id)

    def _cancel(self, rank: int, date_s: float, event: Any) -> None:
        self._run.request_cancelled(rank, event.request_id)

    def _collective(self, rank: int, date_s: float, event: Any) -> None:
        self._meet(rank, event, None)

    def _start_collective(self, rank: int, date_s: float, event: Any) -> None:
        self._run.collective_started(rank, event.request_id)

    def _complete_collective(self, rank: int, date_s: float, event: Any) -> None:
        self._meet(rank, event, event.request_id)

    def _meet(self, rank: int, event: Any, request: int | None) -> None:
        comm = self._comm(rank, event.communicator)
        operation, root = self._operations[event.collective_op.value], event.root
        root = root if isinstance(root, int) and root < _NO_ROOT else -1
        self._run.collective(rank, operation, comm, root, event.size_sent, event.size_received, request)

    def _count(self, rank: int, date_s: float, event: Any) -> None:
        key = id(event.metric)
        if key not in self._counters:
            self._counters[key] = self._growing(event.metric)
        values = event.values
        self._run.counters_are(rank, {name: values[place] for place, name in self._counters[key]})

    def _growing(self, metric: Any) -> list[tuple[int, str]]:
        """Counters of a metric that grow: the place of each among the values, and its name."""
        modes = self._otf2.MetricMode
        growing = (modes.ACCUMULATED_START, modes.ACCUMULATED_POINT, modes.ACCUMULATED_LAST, modes.ACCUMULATED_NEXT)
        members = getattr(metric, "metric_class", metric).members
        return [(place, member.name) for place, member in enumerate(members) if member.metric_mode in growing]

    def _switch(self, rank: int, date_s: float, event: Any) -> None:
        if event.measurement_mode == self._otf2.MeasurementMode.OFF:
            raise UsageError(f"rank {rank} stops recording at {date_s:.9g} s: what it did then is not known")
