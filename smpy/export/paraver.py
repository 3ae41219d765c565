"""A trace for Paraver, as Extrae writes it: a .prv with its .pcf and .row.

Kinds of time are states. Calls of MPI are events, with the lines that made them; so are collectives' bytes, facts of
tests and probes, kernels, and the program's own regions. Messages are communications. Operations (flop) stand where
Extrae counts instructions, at the begin and end of calls. Ranks are tasks of one thread; hosts are nodes. Dates are
whole nanoseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, BinaryIO, Final

import numpy as np

from smpy.engine.number_text import BLANK, fill_templates
from smpy.export.communicators import Communicators
from smpy.export.date_sort import DateHistogram, DateSort
from smpy.export.dated_calls import DatedRank, dated_ranks
from smpy.export.paraver_events import (
    CALL,
    COLLECTIVE,
    EVENT,
    MESSAGE,
    POLL,
    PROBE,
    RECORD,
    STATE,
    Events,
    records,
    whole_ns,
)
from smpy.export.paraver_names import (
    CALLER_LINE,
    COMMUNICATOR,
    IS_ROOT,
    NOT_CREATED,
    OPERATIONS,
    POLLED_SOURCE,
    POLLED_TAG,
    POLLS_IN_VAIN,
    RECEIVED_BYTES,
    SENT_BYTES,
    STATE_OF_KIND,
    SUCCESSFUL_POLL,
    CallNumbers,
    pcf_text,
    row_text,
)
from smpy.records.columns import is_known, numbers
from smpy.records.files import in_place_when_whole
from smpy.records.trace import Trace
from smpy.records.whole_runs import check_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

SUFFIX: Final = ".prv"

_NS: Final = 1e9


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
    events = Events(trace, calls, communicators)
    with ExitStack() as stack:
        prv, pcf, row = (
            stack.enter_context(in_place_when_whole(path.with_suffix(suffix)))
            for suffix in (path.suffix, ".pcf", ".row")
        )
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="smpy-export-")))
        by_date = DateSort(folder, _spans(trace))
        for dated in dated_ranks(trace, communicators):
            for part in (events.of_rank(dated), _states(dated)):  # states behind events of their date, for prv2dim
                part["cpu"], part["task"] = machine.place(dated.rank)
                by_date.add(part)
        _add_messages(trace, machine, by_date)
        with prv.open("wb") as file:
            file.write(_header(trace, machine, communicators).encode())
            for part in by_date.sorted(RECORD):
                _write_lines(file, part)
        pcf.write_text(pcf_text(calls), encoding="utf-8", errors="backslashreplace")
        row.write_text(
            row_text(trace.host_of_rank, machine.cpu_of_rank.tolist()), encoding="utf-8", errors="backslashreplace"
        )


class _Machine:
    """Nodes, and the number of each rank's CPU: those of a node follow each other."""

    def __init__(self, host_of_rank: Sequence[str]) -> None:
        hosts = {host: node for node, host in enumerate(dict.fromkeys(host_of_rank))}
        self.node_of_rank = [hosts[host] for host in host_of_rank]
        in_order = sorted(range(len(host_of_rank)), key=self.node_of_rank.__getitem__)
        self.cpu_of_rank = np.zeros(len(host_of_rank), np.int64)
        self.cpu_of_rank[in_order] = np.arange(1, len(in_order) + 1)
        self.n_cpus = [self.node_of_rank.count(node) for node in range(len(hosts))]

    def place(self, ranks: NDArray[np.int32] | int) -> tuple[NDArray[np.int64], NDArray[np.int32] | int]:
        """CPUs and tasks of ranks."""
        return self.cpu_of_rank[ranks], ranks + 1


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
        histogram.add(whole_ns(numbers(batch["start_s"])))
    return histogram.spans()


def _states(dated: DatedRank) -> NDArray[np.void]:
    """States of a rank; those that begin and end in one nanosecond are left out."""
    begin, end = whole_ns(dated.intervals["start_s"]), whole_ns(dated.intervals["end_s"])
    state = np.array(STATE_OF_KIND)[dated.intervals["kind"]]
    if len(begin) and begin[0] > 0:
        begin, end, state = np.append(0, begin), np.append(begin[0], end), np.append(NOT_CREATED, state)
    is_long = end > begin
    return records(STATE, begin[is_long], end[is_long], state[is_long])


def _add_messages(trace: Trace, machine: _Machine, by_date: DateSort) -> None:
    """Add the program's own messages, without those of collectives."""
    columns = ["source", "target", "tag", "bytes", "send_posted_s", "receive_posted_s", "started_s", "ended_s"]
    for batch in trace.batches("messages", columns):
        is_whole = is_known(batch["tag"]) & is_known(batch["receive_posted_s"]) & is_known(batch["ended_s"])
        rows = {name: numbers(batch[name])[is_whole] for name in columns}
        both_s = np.maximum(rows["send_posted_s"], rows["receive_posted_s"])
        started_s = np.where(is_known(batch["started_s"])[is_whole], rows["started_s"], both_s)
        arrived_s = np.maximum(rows["receive_posted_s"], rows["ended_s"])
        posted_ns = whole_ns(rows["receive_posted_s"])
        values = whole_ns(started_s), *machine.place(rows["target"]), posted_ns, whole_ns(arrived_s)
        messages = records(MESSAGE, whole_ns(rows["send_posted_s"]), *values, rows["bytes"], rows["tag"])
        messages["cpu"], messages["task"] = machine.place(rows["source"])
        by_date.add(messages)


def _write_lines(file: BinaryIO, records: NDArray[np.void]) -> None:
    """Write records as lines, in their order."""
    numbers = records.view(np.int64).reshape(len(records), -1)
    file.write(fill_templates(_TEMPLATES, records["kind"], numbers))


_PLACE: Final = BLANK, 1, BLANK, 1  # of a rank: CPU, application, task, thread
_FIELDS: Final = {
    STATE: (1, *_PLACE, BLANK, BLANK, BLANK),
    EVENT: (2, *_PLACE, BLANK, BLANK, BLANK),
    CALL: (2, *_PLACE, BLANK, BLANK, BLANK, CALLER_LINE, BLANK, OPERATIONS, BLANK),
    COLLECTIVE: (
        *(2, *_PLACE, BLANK),
        *(SENT_BYTES, BLANK, RECEIVED_BYTES, BLANK, IS_ROOT, BLANK, COMMUNICATOR, BLANK),
    ),
    PROBE: (2, *_PLACE, BLANK, POLLED_SOURCE, BLANK, POLLED_TAG, BLANK),
    POLL: (2, *_PLACE, BLANK, SUCCESSFUL_POLL, BLANK, POLLS_IN_VAIN, BLANK),
    MESSAGE: (3, *_PLACE, BLANK, BLANK, *_PLACE, BLANK, BLANK, BLANK, BLANK),
}
"""Fields of each kind of record; blanks are the place of its rank, its date, and its values."""

_TEMPLATES: Final = [
    b":".join(field if isinstance(field, bytes) else b"%d" % field for field in _FIELDS[kind]) + b"\n"
    for kind in range(len(_FIELDS))
]
