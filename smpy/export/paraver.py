"""A trace for Paraver, as Extrae writes it: a .prv with its .pcf and .row.

Kinds of time are states. Calls of MPI are events, with the lines that made them; so are collectives' bytes, kernels,
and the program's own regions. Messages are communications. Operations (flop) stand where Extrae counts instructions, at
the begin and end of calls. Ranks are tasks of one thread; hosts are nodes. Dates are whole nanoseconds.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from smpy.export.communicators import Communicators
from smpy.export.date_sort import DateHistogram, DateSort
from smpy.export.dated_calls import DatedCall, DatedRank, dated_ranks
from smpy.export.mpi_calls import OF_ROOT, name_of, sizes_of
from smpy.export.paraver_names import (
    CALLER_LINE,
    COMMUNICATOR,
    IS_ROOT,
    KERNEL,
    NOT_CREATED,
    OPERATIONS,
    RECEIVED_BYTES,
    REGION,
    SENT_BYTES,
    STATE_OF_KIND,
    CallNumbers,
    pcf_text,
    row_text,
)
from smpy.records.columns import is_known, numbers
from smpy.records.files import in_place_when_whole
from smpy.records.trace import Trace
from smpy.records.whole_runs import check_whole
from smpy.replay.trace_schedules import queries_of

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

SUFFIX: Final = ".prv"

_NS: Final = 1e9
_VALUES: Final = tuple("abcdef")
_ZEROS: Final = (0,) * len(_VALUES)
_STATE, _EVENT, _CALL, _COLLECTIVE, _MESSAGE = range(1, 6)  # kinds of records
Record = tuple[int, ...]


def write(trace: Trace, path: Path) -> None:
    """Write a trace to `path`, and its names beside it, with the suffixes .pcf and .row.

    Parameters
    ----------
    trace : Trace
        Trace to write, of a whole run.
    path : Path
        The file; existing ones are replaced.

    Raises
    ------
    UsageError
        If the trace cannot be read, or a file cannot be written.
    """
    check_whole(trace, "be written for Paraver")
    communicators = Communicators(trace)
    machine = _Machine(trace.host_of_rank)
    calls = CallNumbers(trace)
    with ExitStack() as stack:
        prv, pcf, row = (
            stack.enter_context(in_place_when_whole(path.with_suffix(suffix)))
            for suffix in (path.suffix, ".pcf", ".row")
        )
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="smpy-export-")))
        records = DateSort(folder, _spans(trace))
        for dated in dated_ranks(trace, communicators):
            records.add(_Events(trace, calls, communicators, dated).records())
            records.add(_states(dated))  # behind events of their date, as prv2dim wants
        _add_messages(trace, records)
        with prv.open("wb") as file:
            file.write(_header(trace, machine, communicators).encode())
            for part in records.sorted(_dtype()):
                _write_lines(file, part, machine)
        pcf.write_text(pcf_text(calls), encoding="utf-8", errors="backslashreplace")
        row.write_text(row_text(trace.host_of_rank, machine.cpu_of_rank), encoding="utf-8", errors="backslashreplace")


def _dtype() -> np.dtype[Any]:
    import numpy as np

    return np.dtype([("date", "i8"), ("rank", "i4"), ("kind", "i1"), *((name, "i8") for name in _VALUES)])


class _Machine:
    """Nodes, and the number of each rank's CPU: those of a node follow each other."""

    def __init__(self, host_of_rank: Sequence[str]) -> None:
        hosts = {host: node for node, host in enumerate(dict.fromkeys(host_of_rank))}
        self.node_of_rank = [hosts[host] for host in host_of_rank]
        in_order = sorted(range(len(host_of_rank)), key=self.node_of_rank.__getitem__)
        self.cpu_of_rank = [0] * len(host_of_rank)
        for cpu, rank in enumerate(in_order, start=1):
            self.cpu_of_rank[rank] = cpu
        self.n_cpus = [self.node_of_rank.count(node) for node in range(len(hosts))]


def _header(trace: Trace, machine: _Machine, communicators: Communicators) -> str:
    tasks = ",".join(f"1:{node + 1}" for node in machine.node_of_rank)
    comms = [comm for comm in communicators.numbers() if not communicators.is_between_groups(comm)]
    cpus = ",".join(map(str, machine.n_cpus))
    end_ns = round(trace.makespan_s * _NS)
    nodes = f"{len(machine.n_cpus)}({cpus})"
    lines = [f"#Paraver (01/01/00 at 00:00):{end_ns}_ns:{nodes}:1:{trace.n_ranks}({tasks}),{len(comms)}"]
    for comm in comms:
        members = communicators.members(comm)
        lines.append(f"c:1:{comm + 1}:{len(members)}:{':'.join(str(rank + 1) for rank in members)}")
    return "\n".join(lines) + "\n"


def _spans(trace: Trace) -> NDArray[np.int64]:
    histogram = DateHistogram(round(trace.makespan_s * _NS))
    for batch in trace.batches("intervals", ["start_s"]):
        histogram.add(_whole_ns(numbers(batch["start_s"])))
    return histogram.spans()


def _whole_ns(dates_s: NDArray[np.float64]) -> NDArray[np.int64]:
    import numpy as np

    whole: NDArray[np.int64] = np.rint(dates_s * _NS).astype(np.int64)
    return whole


def _states(dated: DatedRank) -> NDArray[np.void]:
    """States of a rank; those that begin and end in one nanosecond are left out."""
    import numpy as np

    begin, end = _whole_ns(dated.intervals["start_s"]), _whole_ns(dated.intervals["end_s"])
    state = np.array(STATE_OF_KIND)[dated.intervals["kind"]]
    if len(begin) and begin[0] > 0:
        begin, end, state = np.append(0, begin), np.append(begin[0], end), np.append(NOT_CREATED, state)
    is_long = end > begin
    records = np.zeros(np.count_nonzero(is_long), _dtype())
    records["rank"], records["kind"] = dated.rank, _STATE
    records["date"], records["a"], records["b"] = begin[is_long], end[is_long], state[is_long]
    return records


def _add_messages(trace: Trace, records: DateSort) -> None:
    """Add the program's own messages, without those of collectives."""
    import numpy as np

    columns = ["source", "target", "tag", "bytes", "send_posted_s", "receive_posted_s", "started_s", "ended_s"]
    for batch in trace.batches("messages", columns):
        is_whole = is_known(batch["tag"]) & is_known(batch["receive_posted_s"]) & is_known(batch["ended_s"])
        rows = {name: numbers(batch[name])[is_whole] for name in columns}
        both_s = np.maximum(rows["send_posted_s"], rows["receive_posted_s"])
        started_s = np.where(is_known(batch["started_s"])[is_whole], rows["started_s"], both_s)
        of_messages = np.zeros(len(both_s), _dtype())
        of_messages["rank"], of_messages["kind"] = rows["source"], _MESSAGE
        of_messages["date"], of_messages["a"] = _whole_ns(rows["send_posted_s"]), _whole_ns(started_s)
        of_messages["b"], of_messages["c"] = rows["target"], _whole_ns(rows["receive_posted_s"])
        of_messages["d"] = _whole_ns(np.maximum(rows["receive_posted_s"], rows["ended_s"]))
        of_messages["e"], of_messages["f"] = rows["bytes"], rows["tag"]
        records.add(of_messages)


class _Events:
    """Events of one rank."""

    def __init__(self, trace: Trace, calls: CallNumbers, communicators: Communicators, dated: DatedRank) -> None:
        self._trace, self._calls, self._communicators, self._dated = trace, calls, communicators, dated
        self._queries = queries_of(trace)
        self._values = array("q")
        self._flop, self._told_flop = 0.0, 0
        self._has_operations = not trace.keeps_seconds

    def records(self) -> NDArray[np.void]:
        """All of them, in order."""
        import numpy as np

        dated = self._dated
        of_init = self._calls.of_call("Init", is_collective=False)
        self._bracket(0, 0, *of_init, line=0)
        open_regions = []
        for call in dated.calls:
            if call.action == "begin_region":
                open_regions.append(call.detail + 1)
                self._add(_EVENT, _ns(call.begin_s), REGION, open_regions[-1])
            elif call.action == "end_region":
                open_regions.pop()
                self._add(_EVENT, _ns(call.begin_s), REGION, 0)
            elif call.action == "compute":
                self._compute(call)
            else:
                self._call(call)
        finish_ns = _ns(dated.calls[-1].end_s) if dated.calls else 0
        self._bracket(finish_ns, finish_ns, *self._calls.of_call("Finalize", is_collective=False), line=0)
        rows = np.frombuffer(self._values, np.int64).reshape(-1, 2 + len(_VALUES))
        records = np.zeros(len(rows), _dtype())
        records["rank"] = dated.rank
        for place, name in enumerate(("kind", "date", *_VALUES)):
            records[name] = rows[:, place]
        return records

    def _compute(self, call: DatedCall) -> None:
        if self._has_operations:
            self._flop += call.amount
        kernel = self._calls.kernel_of_site[call.site]
        if kernel:
            self._add(_EVENT, _ns(call.begin_s), KERNEL, kernel)
            self._add(_EVENT, _ns(call.end_s), KERNEL, 0)

    def _call(self, call: DatedCall) -> None:
        is_collective = call.action in ("collective", "start")
        operation, query = self._queries.get(call.detail, ("", None)) if is_collective else ("", None)
        name = name_of(call, operation)
        if not name:
            return
        begin_ns, end_ns = _ns(call.begin_s), _ns(call.end_s)
        kind, value = self._calls.of_call(name, is_collective=is_collective)
        collective = None
        if query is not None:
            is_root = self._communicators.rank(call.comm, self._dated.rank) == call.peer
            plain = operation.removeprefix("inter_").removeprefix("i") if call.action == "start" else operation
            sizes = sizes_of(plain, call.bytes, call.tables, is_root=is_root)
            collective = *sizes, int(plain in OF_ROOT and is_root), call.comm + 1
        self._bracket(begin_ns, end_ns, kind, value, self._calls.line_of_site[call.site], collective)

    def _bracket(
        self, begin_ns: int, end_ns: int, kind: int, value: int, line: int, collective: Record | None = None
    ) -> None:
        """Add the begin and the end of a call."""
        self._add(_CALL, begin_ns, kind, value, line, self._new_flop())
        if collective is not None:
            self._add(_COLLECTIVE, begin_ns, *collective)
        self._add(_CALL, end_ns, kind, 0, 0, 0)

    def _new_flop(self) -> int:
        """Whole operations since the last time."""
        new = round(self._flop) - self._told_flop
        self._told_flop += new
        return new

    def _add(self, kind: int, date_ns: int, *values: int) -> None:
        self._values.extend((kind, date_ns, *values, *_ZEROS[len(values) :]))


def _ns(date_s: float) -> int:
    return round(date_s * _NS)


def _write_lines(file: BinaryIO, records: NDArray[np.void], machine: _Machine) -> None:
    """Write records as lines, in their order."""
    import numpy as np
    import pyarrow as pa

    cpu_of_rank = np.array(machine.cpu_of_rank)
    texts, places = [], []
    for kind, template in _TEMPLATES.items():
        place = np.flatnonzero(records["kind"] == kind)
        if len(place):
            texts.append(_lines(records[place], cpu_of_rank, kind, template))
            places.append(place)
    order = np.argsort(np.concatenate(places), kind="stable")
    lines = pa.concat_arrays(texts).take(pa.array(order))
    file.write(lines.buffers()[2])


_TEMPLATES: Final[dict[int, tuple[str | int, ...]]] = {
    _STATE: ("date", "a", "b"),
    _EVENT: ("date", "a", "b"),
    _CALL: ("date", "a", "b", CALLER_LINE, "c", OPERATIONS, "d"),
    _COLLECTIVE: ("date", SENT_BYTES, "a", RECEIVED_BYTES, "b", IS_ROOT, "c", COMMUNICATOR, "d"),
    _MESSAGE: ("date", "a", "partner", "c", "d", "e", "f"),
}
"""Fields of each kind of record, after the place of its rank; numbers stand for themselves."""


def _lines(
    records: NDArray[np.void], cpu_of_rank: NDArray[np.int64], kind: int, fields: Sequence[str | int]
) -> pa.Array:
    """Text of records of one kind."""
    import pyarrow as pa
    from pyarrow import compute

    def text(values: Any) -> pa.Array:
        return pa.array(values).cast(pa.string())

    def place(ranks: Any) -> list[Any]:
        return [text(cpu_of_rank[ranks]), "1", text(ranks + 1), "1"]

    columns: list[Any] = [{_STATE: "1", _MESSAGE: "3"}.get(kind, "2"), *place(records["rank"])]
    for field in fields:
        if isinstance(field, int):
            columns.append(str(field))
        elif field == "partner":
            columns += place(records["b"])
        else:
            columns.append(text(records[field]))
    columns[-1] = compute.binary_join_element_wise(columns[-1], "\n", "")
    return compute.binary_join_element_wise(*columns, ":")
