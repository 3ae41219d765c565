"""A trace as JSON for Perfetto (https://ui.perfetto.dev) and chrome://tracing.

Hosts are processes, and ranks are their threads; a thread of a rank is one more, below its rank. Intervals are slices;
messages are flows, from the call that sent one to the call that received it; regions are asynchronous slices, on a
track per rank, or thread. If a trace has power, each host has a counter of the power that its ranks add to its idle
power. Dates are whole nanoseconds.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain, groupby
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO, cast

from smpy.records.columns import numbers
from smpy.records.files import in_place_when_whole
from smpy.records.threads import MessageSides, location_names, locations, rank_of_locations
from smpy.records.time_words import kind_words
from smpy.records.trace import Trace

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

SUFFIX: Final = ".perfetto.json"

_GZIP_LEVEL: Final = 3


def write(trace: Trace, path: Path) -> None:
    """Write a trace to `path`, compressed if its name ends in .gz, which Perfetto reads, too.

    Parameters
    ----------
    trace : Trace
        Trace to write.
    path : Path
        The file; an existing one is replaced.

    Raises
    ------
    UsageError
        If the trace cannot be read, or the file cannot be written.
    """
    tracks = _Tracks(trace)
    tables = _both(trace, "regions")  # read before the file is opened, since reading may fail
    regions = [trace.table(name) for name in tables]
    pieces = chain(
        _names(trace, tracks),
        *(_regions(trace, tracks, table) for table in regions),
        _intervals(trace, tracks),
        _power(trace),
        _messages(trace, tracks),
    )
    run = {name: trace.info.get(name) for name in ("program", "args", "platform", "ranks", "makespan_s", "smpy")}
    with in_place_when_whole(path) as scratch, ExitStack() as stack:
        file: TextIO = stack.enter_context(scratch.open("w", encoding="utf-8"))
        if path.suffix == ".gz":
            file = cast("TextIO", stack.enter_context(gzip.open(file.buffer, "wt", _GZIP_LEVEL, "utf-8")))
        file.write('{"displayTimeUnit":"ns","traceEvents":[')
        separator = "\n"
        for piece in pieces:
            file.write(separator + piece)
            separator = ",\n"
        file.write(f'\n],"otherData":{json.dumps(run | {"is_complete": trace.is_complete})}}}\n')


class _Tracks:
    """Tracks of a viewer, by location: a rank's own program, or a thread.

    Attributes
    ----------
    pid : list of int
        Number of each one's host, which is no `tid`: a viewer takes a thread with its process's number for the main
        thread.
    tid : list of int
        Number of each one.
    name : list of str
        "rank 3", or "rank 3: receiver".
    """

    def __init__(self, trace: Trace) -> None:
        hosts: dict[str, int] = {}
        pid_of_rank = [trace.n_ranks + hosts.setdefault(host, len(hosts)) for host in trace.host_of_rank]
        n_ranks, rank_of = trace.n_ranks, rank_of_locations(trace).tolist()
        self.rank_of: list[int] = rank_of
        self.pid = [pid_of_rank[rank] for rank in rank_of]
        self.tid = [*range(n_ranks), *(len(hosts) + location for location in range(n_ranks, len(rank_of)))]
        self.name = location_names(trace)


def _both(trace: Trace, name: str) -> list[str]:
    """A table, and that of threads, if it has rows."""
    return [name, *([f"thread_{name}"] if trace.n_rows(f"thread_{name}") else [])]


def _names(trace: Trace, tracks: _Tracks) -> Iterator[str]:
    """Names of hosts, ranks and threads, and their order in a viewer."""
    hosts = dict(zip(tracks.pid, trace.host_of_rank, strict=False))
    for pid, host in hosts.items():
        yield _name("process_name", pid, 0, "name", host)
        yield _name("process_sort_index", pid, 0, "sort_index", pid)
    in_order = sorted(range(len(tracks.rank_of)), key=tracks.rank_of.__getitem__)
    for place, location in enumerate(in_order):
        pid, tid = tracks.pid[location], tracks.tid[location]
        yield _name("thread_name", pid, tid, "name", tracks.name[location])
        yield _name("thread_sort_index", pid, tid, "sort_index", place)


def _name(item: str, pid: int, tid: int, key: str, value: str | int) -> str:
    return f'{{"ph":"M","name":"{item}","pid":{pid},"tid":{tid},"args":{{"{key}":{json.dumps(value)}}}}}'


def _regions(trace: Trace, tracks: _Tracks, table: pa.Table) -> Iterator[str]:
    """Slices of regions, inside one named after the rank or thread, because a track takes the name of its first slice.

    All are held in memory and sorted: slices that end at a date precede those that begin there.
    """
    import numpy as np

    location, start_ns, end_ns = locations(trace, table), _ns(table["start_s"]), _ns(table["end_s"])
    names = table["name"].to_pylist()
    order = np.lexsort((-np.arange(len(location)), -end_ns, start_ns, location))
    for number, rows in groupby(order.tolist(), key=location.__getitem__):
        tid = tracks.tid[number]
        at = f'"cat":"region","id":{tid},"pid":{tracks.pid[number]},"tid":{tid}'
        open_ = [(tracks.name[number], round(trace.makespan_s * 1e9))]
        yield _mark("b", open_[0][0], at, 0)
        for row in rows:
            while len(open_) > 1 and open_[-1][1] <= start_ns[row]:
                name, last_ns = open_.pop()
                yield _mark("e", name, at, last_ns)
            open_.append((names[row], int(end_ns[row])))
            yield _mark("b", names[row], at, int(start_ns[row]))
        while open_:
            name, last_ns = open_.pop()
            yield _mark("e", name, at, last_ns)


def _mark(phase: str, name: str, at: str, date_ns: int) -> str:
    return f'{{"ph":"{phase}","name":{json.dumps(name)},{at},"ts":{date_ns / 1000:.3f}}}'


def _intervals(trace: Trace, tracks: _Tracks) -> Iterator[str]:
    """Text of slices, a piece per batch. Ends are rounded, not lengths, so that slices still follow each other."""
    heads: dict[tuple[str, int], str] = {}

    def head(kind: str, label: int) -> str:
        call, place = trace.calls[label]
        words = kind_words(kind, call)
        name = f"{call}: {words}" if call else words
        return f'"cat":"{kind}","name":{json.dumps(name)},"args":{{"line":{json.dumps(place)}'

    for batch in chain.from_iterable(trace.batches(name) for name in _both(trace, "intervals")):
        kinds = batch["kind"].to_pylist()
        labels = trace.label_of_site[batch["site"].fill_null(0).to_numpy(zero_copy_only=False)].tolist()
        start_ns, end_ns = _ns(batch["start_s"]), _ns(batch["end_s"])
        columns = (locations(trace, batch).tolist(), start_ns.tolist(), (end_ns - start_ns).tolist(), kinds, labels)
        lines = []
        for location, start, length, kind, label, other, message in zip(
            *columns, batch["other"].to_pylist(), batch["message"].to_pylist(), strict=True
        ):
            head_text = heads.get((kind, label)) or heads.setdefault((kind, label), head(kind, label))
            waited_for = "" if other is None else f',"waits for rank":{other}'
            message_id = "" if message is None else f',"message":{message}'
            lines.append(
                f'{{"ph":"X","pid":{tracks.pid[location]},"tid":{tracks.tid[location]},"ts":{start / 1000:.3f},'
                f'"dur":{length / 1000:.3f},'
                f"{head_text}{waited_for}{message_id}}}}}"
            )
        if lines:
            yield ",\n".join(lines)


def _power(trace: Trace) -> Iterator[str]:
    """A counter for each host: the sum of `power_w` over its ranks and their threads, at each date at which it changes.

    All changes are held in memory and sorted.
    """
    if "power_w" not in trace.schema("intervals").names:
        return
    import numpy as np

    pids = np.array(_Tracks(trace).pid)
    parts: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]] = []
    read = ["rank", "start_s", "end_s", "power_w"]
    for batch in chain.from_iterable(trace.batches(name, read) for name in _both(trace, "intervals")):
        power_w = numbers(batch["power_w"], null=0.0)
        at = np.flatnonzero(power_w)
        pid, one = pids[numbers(batch["rank"])[at]], np.ones(len(at), np.int64)
        parts.append((pid, _ns(batch["start_s"])[at], power_w[at], one))
        parts.append((pid, _ns(batch["end_s"])[at], -power_w[at], -one))
    if not parts:
        return
    pid, date_ns, more_w, more_ranks = map(np.concatenate, zip(*parts, strict=True))
    order = np.lexsort((date_ns, pid))
    pid, date_ns = pid[order], date_ns[order]
    n_ranks = np.cumsum(more_ranks[order])  # 0 at the end of each host
    power_w = np.where(n_ranks == 0, 0.0, np.cumsum(more_w[order]))  # exactly 0 despite rounded sums
    is_last = np.append((pid[1:] != pid[:-1]) | (date_ns[1:] != date_ns[:-1]), [True])[: len(pid)]
    columns = (column[is_last].tolist() for column in (pid, date_ns, power_w))
    lines = [
        f'{{"ph":"C","name":"power above idle","pid":{host},"ts":{date / 1000:.3f},"args":{{"W":{watts:.6g}}}}}'
        for host, date, watts in zip(*columns, strict=True)
    ]
    if lines:
        yield ",\n".join(lines)


def _messages(trace: Trace, tracks: _Tracks) -> Iterator[str]:
    """Text of flows, a piece per batch; both ends of a flow lie in slices written before.

    A flow begins in the sender's slice that starts with the send, and ends in the receiver's slice that lasts until
    the message is there.
    """
    import numpy as np

    sides = MessageSides(trace)
    window_s = trace.info["trace"]["window_s"] or (0.0, inf)
    ranks = trace.info["trace"]["ranks"]
    last_ns = round(trace.makespan_s * 1e9)
    columns = ["message", "source", "target", "tag", "bytes", "send_posted_s", "receive_posted_s", "ended_s"]
    for batch in trace.batches("messages", columns):
        sent_s, posted_s, ended_s = (batch[name].to_numpy(zero_copy_only=False) for name in columns[-3:])
        source, target = (batch[name].to_numpy(zero_copy_only=False) for name in ("source", "target"))
        taken_s = np.maximum(posted_s, ended_s)
        is_shown = (sent_s >= window_s[0]) & (taken_s <= window_s[1])  # messages with an unknown date are left out
        if ranks is not None:
            is_shown &= np.isin(source, ranks) & np.isin(target, ranks)
        rows = np.flatnonzero(is_shown)
        begin_ns = np.minimum(_whole_ns(sent_s[rows]), last_ns - 1)
        end_ns = np.minimum(_whole_ns(taken_s[rows]), last_ns) - (posted_s < ended_s)[rows]
        dates = zip(begin_ns.tolist(), np.maximum(begin_ns, end_ns).tolist(), strict=True)
        taken = batch.take(rows).to_pydict()
        number = numbers(batch["message"])[rows]
        locations_of_sides = (side.tolist() for side in sides.locations(number, source[rows], target[rows]))
        names = zip(number.tolist(), *locations_of_sides, taken["tag"], taken["bytes"], strict=True)
        lines = []
        for (message, sender, receiver, tag, size), (begin, end) in zip(names, dates, strict=True):
            head = f'"cat":"message","name":"message","id":{message}'
            args = f'{{"bytes":{size},"tag":{"null" if tag is None else tag}}}'
            lines.append(
                f'{{"ph":"s",{head},"pid":{tracks.pid[sender]},"tid":{tracks.tid[sender]},"ts":{begin / 1000:.3f},'
                f'"args":{args}}},\n'
                f'{{"ph":"f","bp":"e",{head},"pid":{tracks.pid[receiver]},"tid":{tracks.tid[receiver]},'
                f'"ts":{end / 1000:.3f}}}'
            )
        if lines:
            yield ",\n".join(lines)


def _ns(column: pa.Array) -> NDArray[np.int64]:
    return _whole_ns(column.to_numpy())


def _whole_ns(dates_s: NDArray[np.float64]) -> NDArray[np.int64]:
    import numpy as np

    return cast("NDArray[np.int64]", np.rint(dates_s * 1e9).astype(np.int64))
