"""Tables of a trace, made of the rows that the kernel of a world writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from itertools import groupby
from math import inf, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from smpy.engine.trace import ACTIONS, TABLES, RowColumns, actions_with
from smpy.errors import NoRoomError, SmpyError
from smpy.platforms.machine_json import machine_to_json
from smpy.records.files import write_whole
from smpy.records.profile import INTERVAL_KINDS
from smpy.records.trace_info import info_text, sealed
from smpy.records.trace_layout import COLUMNS, FORMAT, INFO, MACHINE
from smpy.records.trace_writer import TraceWriter

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from smpy.engine.engine import Engine
    from smpy.platforms.description import Description
    from smpy.records.summary import Summary

_EVERY_ROWS: Final = 1 << 15  # the number at which the kernel stops; its additions to a row do not depend on the clock
Columns = dict[str, "NDArray[Any]"]


class TraceTables:
    """Tables of the trace of one world.

    Parameters
    ----------
    folder : Path
        Folder of the trace.
    engine : Engine
        The world, before its first call.
    window_s : (float, float), optional
        Dates of the first and the last interval; all by default.
    ranks : sequence of int, optional
        Ranks whose intervals are written; all by default.

    Raises
    ------
    UsageError
        If no trace can be written there.
    """

    def __init__(
        self,
        folder: Path,
        engine: Engine,
        window_s: tuple[float, float] | None = None,
        ranks: Sequence[int] | None = None,
    ) -> None:
        self._engine = engine
        self._writer = TraceWriter(folder)
        self._window_s = window_s
        self._ranks = ranks
        self._comm_of_number: dict[int, int | None] = {}
        self._regions: dict[tuple[int, int], list[tuple[str, float]]] = {}  # by rank and thread
        self._threads: list[tuple[int, int]] = []  # rank and timeline of each thread
        self._thread_began_s: dict[int, float] = {}  # threads that have not ended
        self._n_wildcards = self._n_polls = self._n_failed_polls = self._n_choices = 0
        self._has_power = engine.keeps_energy
        self._is_replayable = engine.begin_trace(window_s, ranks)

    # ---- during the run ----

    def take(self) -> None:
        """Write the rows that the kernel has produced, once there are many.

        Raises
        ------
        NoRoomError
            If it cannot be written to the folder.
        """
        for table in TABLES:
            if self._engine.n_trace_rows(table) >= _EVERY_ROWS:
                self._take(table)

    def _take(self, table: str) -> None:
        if self._engine.n_trace_rows(table):
            getattr(self, f"_add_{table}")(self._engine.take_trace(table))

    def _add_intervals(self, rows: Columns) -> None:
        self._writer.add("intervals", {"rank": self._writer.all(rows["location"]), **self._interval_columns(rows)})

    def _add_thread_intervals(self, rows: Columns) -> None:
        import numpy as np

        self._take("threads")
        rank_of_thread = np.array([rank for rank, _ in self._threads], np.int32)
        whose = {"rank": rank_of_thread[rows["location"] - 1], "thread": rows["location"]}
        columns = {name: self._writer.all(values) for name, values in whose.items()}
        self._writer.add("thread_intervals", {**columns, **self._interval_columns(rows)})

    def _interval_columns(self, rows: Columns) -> dict[str, Any]:
        writer, power_w = self._writer, rows["power_w"]
        return {
            "start_s": writer.all(rows["start_s"]),
            "end_s": writer.all(rows["end_s"]),
            "kind": writer.named(rows["kind"], INTERVAL_KINDS),
            "site": writer.where(rows["account"] > 0, rows["account"]),
            "other": writer.where(rows["other"] >= 0, rows["other"]),
            "message": writer.where(rows["message"] >= 0, rows["message"]),
            **({"power_w": writer.where(power_w == power_w, power_w)} if self._has_power else {}),
        }

    def _add_messages(self, rows: Columns) -> None:
        writer = self._writer
        started_s, alone_s = rows["started_s"], rows["alone_s"]
        self._writer.add(
            "messages",
            {
                "message": writer.all(rows["message"]),
                "source": writer.all(rows["source"]),
                "target": writer.all(rows["target"]),
                "tag": writer.where(rows["is_inner"] == 0, rows["tag"]),
                "bytes": writer.all(rows["bytes"]),
                "send_site": writer.where(rows["send_account"] > 0, rows["send_account"]),
                "receive_site": writer.where(rows["receive_account"] > 0, rows["receive_account"]),
                "send_posted_s": writer.all(rows["send_posted_s"]),
                "receive_posted_s": writer.all(rows["receive_posted_s"]),
                "started_s": writer.where(started_s == started_s, started_s),
                "ended_s": writer.all(rows["ended_s"]),
                "alone_s": writer.where(alone_s == alone_s, alone_s),
            },
        )

    def _add_actions(self, rows: Columns) -> None:
        action, amount, writer = rows["action"], rows["amount"], self._writer
        counts = _counts(action)
        self._n_wildcards += counts[ACTIONS.index("took")]
        for poll in map(ACTIONS.index, ("test_any", *actions_with(RowColumns.POLL))):
            if counts[poll]:
                self._n_polls += counts[poll]
                self._n_failed_polls += int(amount[action == poll].sum())
        if counts[ACTIONS.index("test_any")]:
            in_vain = (action == ACTIONS.index("test_any")) & (rows["detail"] == 0)
            self._n_failed_polls += int(in_vain.sum())
        if counts[ACTIONS.index("wait_any")]:
            followed = action[:-1] == ACTIONS.index("wait_any")
            self._n_choices += int((followed & (action[1:] == ACTIONS.index("and"))).sum())
        self._writer.add(
            "actions",
            {
                "rank": writer.all(rows["rank"]),
                "action": writer.named(action, ACTIONS),
                "site": writer.where(rows["account"] > 0, rows["account"]),
                "comm": writer.where(rows["comm"] >= 0, rows["comm"]),
                **{name: writer.all(rows[name]) for name in ("peer", "tag", "bytes", "amount", "request", "detail")},
            },
        )

    def _add_comms(self, rows: Columns) -> None:
        for comm, number in zip(rows["comm"].tolist(), rows["number"].tolist(), strict=True):
            before = self._comm_of_number.setdefault(number, comm)
            if before != comm:
                self._comm_of_number[number] = None  # it names several
        self._writer.add(
            "comms", {name: self._writer.all(rows[name]) for name in ("comm", "other", "first", "step", "n")}
        )

    def _add_regions(self, rows: Columns) -> None:
        names = list(self._engine.region_numbers)
        ended = []
        for date_s, rank, region, is_begin, thread in _rows(rows, "date_s", "rank", "region", "is_begin", "thread"):
            under_way = self._regions.setdefault((rank, thread), [])
            if is_begin:
                under_way.append((names[region], date_s))
            elif under_way:
                name, start_s = under_way.pop()
                ended.append((rank, thread, name, start_s, date_s))
        self._write_regions(ended)

    def _write_regions(self, ended: Sequence[tuple[int, int, str, float, float]]) -> None:
        self._write_rows("regions", [(rank, *region) for rank, thread, *region in ended if not thread])
        self._write_rows("thread_regions", [row for row in ended if row[1]])

    def _add_threads(self, rows: Columns) -> None:
        ended = []
        for date_s, thread, rank, timeline, is_begin in _rows(rows, "date_s", "thread", "rank", "timeline", "is_begin"):
            if is_begin:
                self._threads.append((rank, timeline))
                self._thread_began_s[thread] = date_s
            else:
                ended.append((thread, date_s))
        self._write_threads(ended)

    def _write_threads(self, ended: Sequence[tuple[int, float]]) -> None:
        rows = []
        for thread, date_s in ended:
            rank, timeline = self._threads[thread - 1]
            rows.append((rank, thread, self._engine.thread_name(timeline), self._thread_began_s.pop(thread), date_s))
        self._write_rows("threads", rows)

    def _add_thread_messages(self, rows: Columns) -> None:
        writer = self._writer
        threads = {name: writer.where(rows[name] > 0, rows[name]) for name in ("send_thread", "receive_thread")}
        self._writer.add("thread_messages", {"message": writer.all(rows["message"]), **threads})

    def _add_wake_ups(self, rows: Columns) -> None:
        writer = self._writer
        columns = {
            name: writer.where(values > 0, values) if name.endswith("thread") else writer.all(values)
            for name, values in ((name, rows[name]) for name in COLUMNS["wake_ups"])
        }
        self._writer.add("wake_ups", columns)

    def _write_rows(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        if rows:
            self._writer.add(table, dict(zip(COLUMNS[table], map(list, zip(*rows, strict=True)), strict=True)))

    # ---- at the end of the run ----

    def abandon(self) -> None:
        """Close the trace of a broken run as it is."""
        with suppress(SmpyError):
            self._writer.close()

    def discard(self) -> None:
        """Remove the trace, as of a run that had no valid input."""
        self.abandon()
        self._writer.remove()

    def finish(
        self,
        summary: Summary,
        machine: Description,
        host_of_rank: Sequence[int],
        place_of_line: Callable[[int], tuple[str, int]],
        facts: Mapping[str, Any],
        asked: Mapping[int, tuple[str, str, Any]] | None,
        chosen_by: Mapping[int, Any],
    ) -> None:
        """Complete the trace with facts known after the run, and with idle time until its end.

        Parameters
        ----------
        summary : Summary
            The run's summary.
        machine : Description
            Its machine.
        host_of_rank : sequence of int
            Host of each rank.
        place_of_line : callable
            Returns file and line of the number of a line in the kernel.
        facts : mapping
            Keys of `trace` in `run.json` that are known outside; numbers that are counted here are added to those in
            `facts`, and `can_replay` is false unless both say so.
        asked : mapping of int to (str, str, Query), or None
            Operation, algorithm and query of each schedule.
        chosen_by : mapping of int to CollectiveChoice
            Choices of algorithms by hints of communicators, by schedule.

        Raises
        ------
        NoRoomError
            If it cannot be written.
        """
        for table in TABLES:
            self._take(table)
        self._write_threads([(thread, summary.makespan_s) for thread in self._thread_began_s])
        left = [
            (rank, thread, name, start_s, summary.makespan_s)
            for (rank, thread), under_way in self._regions.items()
            for name, start_s in under_way
        ]
        self._write_regions(left)
        self._add_idle(summary)
        self._add_sites(place_of_line)
        self._add_collectives(asked)
        self._writer.close()
        machine_text = machine_to_json(machine).encode()
        try:
            (self._writer.folder / MACHINE).write_bytes(machine_text)
        except OSError as error:
            raise NoRoomError(
                f"the trace in {self._writer.folder} is not whole: {error.strerror}; make room"
            ) from error
        counted = {
            "n_wildcards": self._n_wildcards,
            "n_polls": self._n_polls,
            "n_failed_polls": self._n_failed_polls,
            "n_choices": self._n_choices,
        }
        info = {
            "format": FORMAT,
            "is_complete": not summary.is_partial,
            "window_s": None if self._window_s is None else [each if each < inf else None for each in self._window_s],
            "ranks": None if self._ranks is None else list(self._ranks),
            **{name: number + facts.get(name, 0) for name, number in counted.items()},
            "regions": list(self._engine.region_numbers),
            "hosts_of_ranks": [[host, len(list(ranks))] for host, ranks in groupby(host_of_rank)],
            "cpus_per_task": self._engine.cpus_per_task,
            **_choices(chosen_by),
            **{name: value for name, value in facts.items() if name not in counted},
            "can_replay": facts["can_replay"] and self._is_replayable and not self._engine.has_threads,
            "files": {**self._writer.files, MACHINE: sealed(machine_text)},
        }
        write_whole(self._writer.folder / INFO, info_text(summary.to_json(), info))

    def _add_idle(self, summary: Summary) -> None:
        kept = range(len(summary.finish_s)) if self._ranks is None else self._ranks
        first_s, last_s = (0.0, inf) if self._window_s is None else self._window_s
        ended = [
            (rank, float(summary.finish_s[rank]))
            for rank in kept
            if not isnan(summary.finish_s[rank]) and max(summary.finish_s[rank], first_s) < summary.makespan_s <= last_s
        ]
        if not ended:
            return
        import numpy as np

        ranks, dates_s = map(list, zip(*ended, strict=True))
        n, none = len(ended), [None] * len(ended)
        kind = self._writer.named(np.full(n, INTERVAL_KINDS.index("idle")), INTERVAL_KINDS)
        dates = {"start_s": dates_s, "end_s": [summary.makespan_s] * n}
        columns = {"rank": ranks, **dates, "kind": kind, "site": none, "other": none, "message": none}
        if self._has_power:
            powered = {name for name, _, _ in self._engine.hosts_energy()}
            columns["power_w"] = [0.0 if self._engine.host_name(rank) in powered else None for rank in ranks]
        self._writer.add("intervals", columns)

    def _add_sites(self, place_of_line: Callable[[int], tuple[str, int]]) -> None:
        """The kernel's accounts, under the program's names."""
        engine = self._engine
        accounts = engine.accounts()
        names = list(engine.call_numbers)
        places = {line: place_of_line(line) for line in set(accounts.line)}
        n = len(accounts.rank)
        comms = [self._comm_of_number.get(comm) if comm >= 0 else None for comm in accounts.comm]
        columns = {
            "site": list(range(1, n + 1)),
            "rank": list(accounts.rank),
            "call": [names[call] for call in accounts.call],
            "file": [places[line][0] for line in accounts.line],
            "line": [places[line][1] for line in accounts.line],
            "comm": comms,
            "is_kernel": [names[call] in engine.kernel_names for call in accounts.call],
        }
        self._writer.add("sites", columns)

    def _add_collectives(self, asked: Mapping[int, tuple[str, str, Any]] | None) -> None:
        if not asked:
            return
        rows = [
            {"schedule": number, "operation": operation, "algorithm": algorithm, **query._asdict()}
            for number, (operation, algorithm, query) in asked.items()
        ]
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        columns["bytes"] = columns.pop("nbytes")
        del columns["is_part"], columns["has_searched"]  # a call of a program is whole, and its place says the other
        self._writer.add("collectives", columns)


def _choices(chosen_by: Mapping[int, Any]) -> dict[str, list[dict[str, Any]]]:
    """Choices made by hints of communicators, with the chosen schedules, if any."""
    schedules_of: dict[Any, list[int]] = {}
    for number, choice in chosen_by.items():
        schedules_of.setdefault(choice, []).append(number)
    choices = [{**asdict(choice), "schedules": numbers} for choice, numbers in schedules_of.items()]
    return {"choices": choices} if choices else {}


def _rows(rows: Columns, *names: str) -> Iterator[tuple[Any, ...]]:
    return zip(*(rows[name].tolist() for name in names), strict=True)


def _counts(action: NDArray[Any]) -> list[int]:
    import numpy as np

    return [int(n) for n in np.bincount(action, minlength=len(ACTIONS))]
