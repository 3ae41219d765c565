"""A trace as an OTF2 archive, as Score-P writes it: for Vampir, Scalasca, TAU, otf2-print and `smpy import`.

Calls of MPI are regions with the line that made them; the kinds of time in a call in which the rank waits are regions
within it. Kernels and the program's own regions are regions, too. Operations (flop) are a counter. Facts of tests,
probes and launches, for which OTF2 has no record, are parameters. Dates are whole nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from smpy.errors import UsageError
from smpy.export.added_facts import (
    COMMUNICATOR,
    IN_VAIN,
    LAUNCHED_RANK,
    POLLS,
    PROBES,
    REQUEST,
    SOURCE,
    SUCCESS,
    TAG,
    n_in_vain,
)
from smpy.export.communicators import ANY, Communicators
from smpy.export.dated_calls import DatedCall, DatedRank, TracedMessage, dated_ranks
from smpy.export.mpi_calls import OF_ROOT, bytes_of, name_of
from smpy.export.new_folder import new_folder_when_whole
from smpy.records.profile import INTERVAL_KINDS
from smpy.records.time_words import KIND_WORDS
from smpy.records.trace import Trace
from smpy.records.whole_runs import check_whole
from smpy.replay.trace_schedules import queries_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SUFFIX: Final = ".otf2"

_NS: Final = 10**9
_WAITS: Final = (
    "late_sender",
    "late_receiver",
    "late_members",
    "transfer",
    "polling",
    "probing",
    "io",
    "device",
    "skipped",
)
_HANDLES: Final = ("split",)
_NO_ROOT: Final = (1 << 32) - 1


def write(trace: Trace, path: Path) -> None:
    """Write a trace to the new folder `path`.

    Parameters
    ----------
    trace : Trace
        Trace to write, of a whole run.
    path : Path
        The folder.

    Raises
    ------
    UsageError
        If the package otf2 is missing, the trace cannot be read, or the folder cannot be written.
    """
    try:
        import otf2
        from otf2 import event_writer, writer
    except ImportError as error:
        raise UsageError(f"OTF2 needs the package otf2: {error}; pip install '.[otf2]'") from error
    check_whole(trace, "be written as OTF2")
    communicators = Communicators(trace)
    with new_folder_when_whole(path) as folder, writer.open(str(folder), timer_resolution=_NS) as archive:
        definitions = _Definitions(otf2, archive, trace, communicators)
        # The package would open a writer of each location again for the definitions, which empties its file.
        archive.event_writer_from_location = lambda location: None
        for dated in dated_ranks(trace, communicators):
            _Events(definitions, dated, event_writer.EventWriter).write()


class _Definitions:
    """Definitions of an archive, and facts of its run."""

    def __init__(self, otf2: Any, archive: Any, trace: Trace, communicators: Communicators) -> None:
        self.otf2, self.archive, self.trace = otf2, archive, trace
        self.communicators = communicators
        self.queries = queries_of(trace)
        self._definitions = definitions = archive.definitions
        root = definitions.system_tree_node("machine", class_name="machine")
        hosts = {
            host: definitions.system_tree_node(host, class_name="node", parent=root) for host in trace.host_of_rank
        }
        groups = [
            definitions.location_group(f"MPI Rank {rank}", system_tree_parent=hosts[host])
            for rank, host in enumerate(trace.host_of_rank)
        ]
        self.locations = [definitions.location("Master thread", group=group) for group in groups]
        definitions.group(
            "MPI locations",
            group_type=otf2.GroupType.COMM_LOCATIONS,
            paradigm=otf2.Paradigm.MPI,
            members=self.locations,
        )
        self._comms: dict[int, Any] = {}
        self._regions: dict[tuple[Any, ...], Any] = {}
        self._parameters: dict[str, Any] = {}
        self.program = self.region(
            Path(trace.info["program"] or "program").name, otf2.RegionRole.FUNCTION, otf2.Paradigm.USER
        )
        flop = definitions.metric_member(
            "flop",
            description="operations",
            metric_mode=otf2.MetricMode.ACCUMULATED_START,
            value_type=otf2.Type.DOUBLE,
            unit="flop",
        )
        self.operations = definitions.metric_class(members=(flop,), occurrence=otf2.MetricOccurrence.SYNCHRONOUS)
        self.waits = {
            number: self.region(KIND_WORDS[kind], otf2.RegionRole.ARTIFICIAL, otf2.Paradigm.MEASUREMENT_SYSTEM)
            for number, kind in enumerate(INTERVAL_KINDS)
            if kind in _WAITS
        }

    def comm(self, number: int) -> Any:
        """A communicator, defined when it is first used; those of one rank, too.

        One between groups has the ranks of both, as the package cannot write its definition.
        """
        if number not in self._comms:
            sides = sorted({number, self.communicators.other(number)})
            group = self._definitions.group(
                f"communicator {sides[0]}",
                group_type=self.otf2.GroupType.COMM_GROUP,
                paradigm=self.otf2.Paradigm.MPI,
                members=[self.locations[rank] for side in sides for rank in self.communicators.members(side)],
            )
            name = "MPI_COMM_WORLD" if number == 0 else f"communicator {sides[0]}"
            self._comms |= dict.fromkeys(sides, self._definitions.comm(name, group=group))
        return self._comms[number]

    def peer(self, comm: int, rank: int) -> int:
        """Rank, in a communicator as it is defined, of a rank to which the ranks of the communicator send."""
        is_second = comm < self.communicators.other(comm)
        return rank + self.communicators.size(comm) * (is_second and rank != ANY)

    def parameter(self, name: str) -> Any:
        """A parameter, whose values are whole numbers, defined when it is first used."""
        if name not in self._parameters:
            kind = self.otf2.ParameterType.INT64
            self._parameters[name] = self._definitions.parameter(name, parameter_type=kind)
        return self._parameters[name]

    def region(self, name: str, role: Any, paradigm: Any, place: str = "") -> Any:
        """A region, once for each line."""
        key = name, paradigm, place
        if key not in self._regions:
            file, _, line = place.rpartition(":")
            known = {"source_file": file, "begin_line_number": int(line)} if line.isdecimal() and file else {}
            self._regions[key] = self._definitions.region(name, region_role=role, paradigm=paradigm, **known)
        return self._regions[key]

    def call_region(self, call: DatedCall, operation: str) -> Any | None:
        """Region of a call of MPI, or of a kernel; None for other computing."""
        trace = self.trace
        site_call, place = trace.calls[trace.label_of_site[call.site]]
        name = name_of(call.action, call.detail, operation, is_over=bool(call.completed))
        if name:
            return self.region(f"MPI_{name}", self._role(call), self.otf2.Paradigm.MPI, place)
        if call.action == "compute" and trace.is_kernel[call.site]:
            return self.region(site_call, self.otf2.RegionRole.FUNCTION, self.otf2.Paradigm.USER, place)
        return None

    def operation(self, name: str) -> Any:
        """OTF2's number of a collective; those that make communicators make a handle."""
        kinds = self.otf2.CollectiveOp
        if name not in _HANDLES and not hasattr(kinds, name.upper()):
            raise UsageError(f"{self.trace.folder} is not written as OTF2: it has no collective {name!r}")
        return kinds.CREATE_HANDLE if name in _HANDLES else getattr(kinds, name.upper())

    def _role(self, call: DatedCall) -> Any:
        roles = self.otf2.RegionRole
        if call.action in ("collective", "start"):
            return roles.COLL_OTHER
        return roles.POINT2POINT if call.message is not None else roles.FUNCTION


class _Events:
    """Events of one rank."""

    def __init__(self, definitions: _Definitions, dated: DatedRank, writer: Any) -> None:
        self._definitions, self._dated = definitions, dated
        self._writer = writer(definitions.archive, definitions.locations[dated.rank])
        self._now_ns = 0
        self._flop = 0.0
        self._has_operations = not definitions.trace.keeps_seconds
        self._entered: list[Any] = []
        self._waits = _waits(dated.intervals, definitions.waits)
        self._wait: tuple[float, float, Any] | None = next(self._waits, None)

    def write(self) -> None:
        """Write them all."""
        names = self._definitions.trace.info["trace"]["regions"]
        if self._dated.is_launched:
            self._launch(self._dated.start_s, self._dated.rank, 1)
        self._enter(self._dated.start_s, self._definitions.program)
        for call in self._dated.calls():
            if call.action == "begin_region":
                otf2 = self._definitions.otf2
                region = self._definitions.region(names[call.detail], otf2.RegionRole.FUNCTION, otf2.Paradigm.USER)
                self._enter(call.begin_s, region)
            elif call.action == "end_region":
                self._leave(call.begin_s)
            elif call.action == "launch":
                self._launch(call.begin_s, call.peer, call.detail)
            else:
                self._call(call)
        while self._entered:
            self._leave(self._dated.end_s)
        self._writer.close()  # now, as the package holds what is not closed in memory

    def _launch(self, date_s: float, first: int, n_ranks: int) -> None:
        """Write that ranks are launched."""
        parameter = self._definitions.parameter(LAUNCHED_RANK)
        for rank in range(first, first + n_ranks):
            self._writer.parameter_int(self._ns(date_s), parameter, rank)

    def _call(self, call: DatedCall) -> None:
        definitions = self._definitions
        is_collective = call.action in ("collective", "start")
        operation = definitions.queries.get(call.detail, ("",))[0] if is_collective else ""
        region = definitions.call_region(call, operation)
        if region is None or (is_collective and not operation):
            self._count(call)
            return
        is_mpi = call.action != "compute"
        if is_mpi:
            self._metric(call.begin_s)
        self._enter(call.begin_s, region)
        facts = self._facts(call, operation) if call.action == "collective" else None
        if facts is not None:
            self._writer.mpi_collective_begin(self._now_ns)
        elif call.action == "start":
            self._writer.non_blocking_collective_request(self._now_ns, call.request)
        self._begin(call)
        if call.action in POLLS:
            self._poll(call)
        self._time_in(call)
        self._complete(call)
        if facts is not None:
            self._writer.mpi_collective_end(self._ns(call.end_s), *facts)
        self._count(call)
        if is_mpi:
            self._metric(call.end_s)
        self._leave(call.end_s)

    def _count(self, call: DatedCall) -> None:
        if call.action == "compute" and self._has_operations:
            self._flop += call.amount

    def _metric(self, date_s: float) -> None:
        self._writer.metric(self._ns(date_s), self._definitions.operations, self._flop)

    def _time_in(self, call: DatedCall) -> None:
        """Write the waits of a call, as regions."""
        while self._wait is not None and self._wait[0] < call.end_s:
            start_s, end_s, region = self._wait
            if start_s >= call.begin_s and end_s <= call.end_s:
                self._enter(start_s, region)
                self._leave(end_s)
            self._wait = next(self._waits, None)

    def _begin(self, call: DatedCall) -> None:
        """Write the message that a call sends, or for which it posts a receive."""
        message = call.message
        if message is None:
            return
        date_ns = self._ns(message.posted_s)
        if message.is_receive:
            if not call.completed:
                self._writer.mpi_irecv_request(date_ns, message.request)
            return
        arguments = self._partner(message), self._definitions.comm(message.comm), message.tag, message.bytes
        if call.completed:
            self._writer.mpi_send(date_ns, *arguments)
        else:
            self._writer.mpi_isend(date_ns, *arguments, message.request)
            if call.amount == 1:
                self._writer.mpi_isend_complete(date_ns, message.request)  # nobody waits for it

    def _poll(self, call: DatedCall) -> None:
        """Write the facts of a test or a probe, polls in vain last."""
        facts = [(REQUEST, request) for request in call.tested]
        if call.action in PROBES:
            source = self._definitions.peer(call.comm, call.peer)
            facts = [(COMMUNICATOR, self._definitions.comm(call.comm)._ref), (SOURCE, source), (TAG, call.tag)]
        facts += [(SUCCESS, call.detail), (IN_VAIN, n_in_vain(call.action, call.amount, call.detail))]
        for name, value in facts:
            self._writer.parameter_int(self._now_ns, self._definitions.parameter(name), value)

    def _complete(self, call: DatedCall) -> None:
        """Write the messages and collectives that a call completed."""
        date_ns = self._ns(call.end_s)
        for message in call.completed:
            if message.is_receive:
                arguments = self._partner(message), self._definitions.comm(message.comm), message.tag, message.bytes
                if call.action == "recv":
                    self._writer.mpi_recv(date_ns, *arguments)
                else:
                    self._writer.mpi_irecv(date_ns, *arguments, message.request)
            elif call.message is None:
                self._writer.mpi_isend_complete(date_ns, message.request)
        for started in call.collectives:
            if started.detail not in self._definitions.queries:
                continue  # it does nothing
            facts = self._facts(started, self._definitions.queries[started.detail][0].removeprefix("i"))
            self._writer.non_blocking_collective_complete(date_ns, *facts, started.request)
        if call.action == "test" and not call.detail:
            self._writer.mpi_request_test(date_ns, call.request)

    def _facts(self, call: DatedCall, operation: str) -> tuple[Any, Any, int, int, int]:
        """Operation, communicator, root, and the bytes of a collective."""
        definitions = self._definitions
        comm = definitions.comm(call.comm)
        communicators = definitions.communicators
        rank, n_ranks = communicators.rank(call.comm, self._dated.rank), communicators.size(call.comm)
        sizes = bytes_of(operation, call.bytes, call.tables, n_ranks, rank, call.peer)
        root = call.peer if operation in OF_ROOT else _NO_ROOT
        return definitions.operation(operation), comm, root, *sizes

    def _partner(self, message: TracedMessage) -> int:
        other = message.source if message.is_receive else message.target
        communicators = self._definitions.communicators
        return self._definitions.peer(message.comm, communicators.rank(communicators.other(message.comm), other))

    def _enter(self, date_s: float, region: Any) -> None:
        self._writer.enter(self._ns(date_s), region)
        self._entered.append(region)

    def _leave(self, date_s: float) -> None:
        self._writer.leave(self._ns(date_s), self._entered.pop())

    def _ns(self, date_s: float) -> int:
        """Date in whole nanoseconds, never before the one before."""
        self._now_ns = max(self._now_ns, round(date_s * _NS))
        return self._now_ns


def _waits(intervals: NDArray[np.void], regions: dict[int, Any]) -> Iterator[tuple[float, float, Any]]:
    """Dates and regions of the intervals in which a rank waits."""
    columns = (intervals[name].tolist() for name in ("start_s", "end_s", "kind"))
    for start_s, end_s, kind in zip(*columns, strict=True):
        if kind in regions:
            yield start_s, end_s, regions[kind]
