"""Builder of an imported trace: numbers of sites, communicators, collectives and regions, and rows of its tables.

Rows are passed in batches, as arrays. The folder of the trace appears when all of it has been read; a broken import
leaves none.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from smpy.errors import SmpyError, UsageError
from smpy.records.files import write_whole
from smpy.records.inputs import mapping_of
from smpy.records.profile import INTERVAL_KINDS
from smpy.records.trace_info import check_replaceable, info_text, sealed
from smpy.records.trace_layout import COLUMNS, COMMS_MAX, FORMAT, INFO, MACHINE
from smpy.records.trace_writer import TraceWriter, check_room, remove_trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from smpy.importers.import_options import ImportOptions
    from smpy.platforms.description import Description

RANKS_MAX: Final = 1 << 24


class TraceBuilder:
    """Builder of one trace.

    A reader first says how many ranks there are (`begin`), then passes rows in any order of ranks; rows of one rank are
    in the order of the rank. Numbers of communicators, sites, collectives and regions are those that `comm`, `site`,
    `collective` and `region` return.

    Parameters
    ----------
    to : Path
        Folder of the trace.
    source : Path
        File that is imported.
    form : str
        Name of its format.
    platform : str, path or Description, optional
        Machine to write into the trace.
    overwrite : bool
        Whether the trace of another program may be replaced.

    Attributes
    ----------
    n_ranks : int
        Ranks of the world.
    members : list of sequence of int
        World ranks of each communicator; the first one is the world.
    remarks : Counter
        Number of times that each assumption was made, by its sentence.

    Raises
    ------
    UsageError
        If the folder cannot be written.
    """

    def __init__(
        self,
        to: Path,
        source: Path,
        form: str,
        *,
        platform: str | Path | Description | None = None,
        overwrite: bool = False,
    ) -> None:
        check_replaceable(to, str(source.absolute()), overwrite=overwrite)
        check_room(to)
        self._to, self._source, self._form, self._platform = to, source, form, platform
        try:
            to.parent.mkdir(parents=True, exist_ok=True)
            self._scratch = Path(tempfile.mkdtemp(prefix=f".{to.name}.", dir=to.parent))
        except OSError as error:
            raise UsageError(f"cannot write a trace to {to}: {error.strerror or error}") from error
        self._writer = TraceWriter(self._scratch)
        self.n_ranks = 0
        self.members: list[Sequence[int]] = []
        self.remarks: Counter[str] = Counter()
        self._facts: dict[str, Any] = {}
        self._sites: dict[tuple[int, str, str, int, bool], int] = {}
        self._schedules: dict[tuple[Any, ...], int] = {}
        self._regions: dict[str, int] = {}
        self._counts: Counter[str] = Counter()
        self._finish_s: Sequence[float] | None = None
        self._spent_s: NDArray[np.float64] | None = None

    # ---- facts ----

    def begin(
        self,
        n_ranks: int,
        options: ImportOptions | None = None,
        *,
        program: str = "",
        hosts: Sequence[str] = (),
    ) -> None:
        """Say of what run the trace is.

        Parameters
        ----------
        n_ranks : int
            Ranks of the world.
        options : ImportOptions, optional
            Options by which the time of computing is scaled; without them, amounts of `compute` are operations.
        program : str
            Name of the program, where the trace tells it.
        hosts : sequence of str
            Name of each rank's host, where the trace tells it.

        Raises
        ------
        UsageError
            If there can be no such number of ranks, or the options ask for another one.
        """
        if not 0 < n_ranks <= RANKS_MAX:
            raise UsageError(f"{self._source} is of {n_ranks:,} ranks: there can be 1 to {RANKS_MAX:,}")
        if options is not None and options.n_ranks not in (None, n_ranks):
            raise UsageError(f"-np asks for {options.n_ranks:,} ranks, and {self._source} has {n_ranks:,}")
        self.n_ranks = n_ranks
        self._facts = {
            "program": program or self._source.name,
            "hosts": list(hosts) or [""] * n_ranks,
            "host_speed_flop_per_s": None if options is None else options.host_speed_flop_per_s,
            "keeps_seconds": options is not None and options.host_speed_flop_per_s is None,
            "cycles": None if options is None else options.cycles,
        }
        self.comm(range(n_ranks))

    def comm(self, members: Sequence[int]) -> int:
        """Number of a new communicator, given its members as ranks of the world; that of the world is 0."""
        number = len(self.members)
        if number >= COMMS_MAX:
            raise UsageError(f"{self._source} has more than {COMMS_MAX:,} communicators")
        self.members.append(members)
        rows = _runs(members)
        n = len(rows)
        first, step, length = (list(column) for column in zip(*rows, strict=True))
        self._writer.add(
            "comms", {"comm": [number] * n, "other": [number] * n, "first": first, "step": step, "n": length}
        )
        return number

    def site(self, rank: int, call: str, file: str = "", line: int = 0, *, is_kernel: bool = False) -> int:
        """Number of a call of a rank at a line; an empty call is the program itself."""
        key = rank, call, file, line, is_kernel
        return self._sites.setdefault(key, len(self._sites) + 1)

    def region(self, name: str) -> int:
        """Number of a region, for the `detail` of `begin_region` and `end_region`."""
        return self._regions.setdefault(name, len(self._regions))

    def collective(
        self,
        operation: str,
        n_ranks: int,
        nbytes: int = 0,
        *,
        item_bytes: int = 1,
        n_entries: int = 0,
        total_bytes: int | None = None,
        are_equal: bool = True,
        in_parts: bool = False,
    ) -> int:
        """Number of a collective call, for the `detail` of `collective` and `start`; facts are those of `Query`.

        All ranks of a call have one number; equal calls may share it. The algorithm is chosen by the replay.
        """
        key = operation, n_ranks, nbytes, item_bytes, n_entries, total_bytes, are_equal, in_parts
        return self._schedules.setdefault(key, len(self._schedules) + 1)

    # ---- rows ----

    def actions(self, rows: NDArray[Any]) -> None:
        """Add rows of actions (`smpy.engine.trace.dtype_of("actions")`): `account` is a site, 0 none; `comm` -1 none.

        Each rank's rows end with `end`. The `amount` of an `isend` is 1 if it was complete at once, and nobody waits
        for it; that of a `send` is 1.
        """
        import numpy as np

        from smpy.engine.trace import ACTIONS

        writer = self._writer
        action = np.ascontiguousarray(rows["action"])
        sends = np.isin(action, [ACTIONS.index("send"), ACTIONS.index("isend")])
        self._counts["sends"] += int(sends.sum())
        self._counts["bytes"] += int(rows["bytes"][sends].sum())
        column = {name: np.ascontiguousarray(rows[name]) for name in ("rank", "account", "comm")}
        self._writer.add(
            "actions",
            {
                "rank": writer.all(column["rank"]),
                "action": writer.named(action, ACTIONS),
                "site": writer.where(column["account"] > 0, column["account"]),
                "comm": writer.where(column["comm"] >= 0, column["comm"]),
                **{
                    name: writer.all(np.ascontiguousarray(rows[name]))
                    for name in ("peer", "tag", "bytes", "amount", "request", "detail")
                },
            },
        )

    def intervals(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Add intervals: columns of the table; `kind` is a number in `INTERVAL_KINDS`; -1, or site 0, is none."""
        import numpy as np

        writer = self._writer
        lengths_s = columns["end_s"] - columns["start_s"]
        spent_s = np.bincount(columns["kind"], lengths_s, len(INTERVAL_KINDS)).astype(np.float64)
        self._spent_s = spent_s if self._spent_s is None else self._spent_s + spent_s
        writer.add(
            "intervals",
            {
                "rank": writer.all(columns["rank"]),
                "start_s": writer.all(columns["start_s"]),
                "end_s": writer.all(columns["end_s"]),
                "kind": writer.named(columns["kind"], INTERVAL_KINDS),
                "site": writer.where(columns["site"] > 0, columns["site"]),
                "other": writer.where(columns["other"] >= 0, columns["other"]),
                "message": writer.where(columns["message"] >= 0, columns["message"]),
            },
        )

    def messages(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Add messages: columns of the table but `alone_s`; a site of 0 is none, and NaN is null in `started_s`."""
        import numpy as np

        writer = self._writer
        n, started_s = len(columns["message"]), columns["started_s"]
        self._counts["messages"] += n
        writer.add(
            "messages",
            {
                **{name: writer.all(columns[name]) for name in ("message", "source", "target", "tag", "bytes")},
                **{name: writer.where(columns[name] > 0, columns[name]) for name in ("send_site", "receive_site")},
                **{name: writer.all(columns[name]) for name in ("send_posted_s", "receive_posted_s")},
                "started_s": writer.where(started_s == started_s, started_s),
                "ended_s": writer.all(columns["ended_s"]),
                "alone_s": writer.where(np.zeros(n, np.bool_), np.zeros(n)),
            },
        )

    def rows(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Add rows of a small table (`regions`, `counters`), each with all of its columns."""
        if rows:
            self._writer.add(table, dict(zip(COLUMNS[table], map(list, zip(*rows, strict=True)), strict=True)))

    def dates(self, finish_s: Sequence[float]) -> None:
        """Say when each rank ended; a trace without dates has no intervals, messages and regions."""
        self._finish_s = finish_s

    def depends_on_time(self, *, polls: int = 0, failed_polls: int = 0, choices: int = 0) -> None:
        """Count calls by which the program may do something else on another machine; failed ones have an amount."""
        self._counts["polls"] += polls
        self._counts["failed_polls"] += failed_polls
        self._counts["choices"] += choices

    # ---- the end ----

    def finish(self) -> None:
        """Complete the trace, and put it into its place.

        Raises
        ------
        SmpyError
            If it cannot be written, or its ranks do not fit on the machine.
        """
        machine, host_of_rank, host_names = self._machine()
        self._add_sites()
        self._add_schedules()
        self._writer.close()
        files = dict(self._writer.files)
        if machine is not None:
            from smpy.platforms.machine_json import machine_to_json

            text = machine_to_json(machine).encode()
            (self._scratch / MACHINE).write_bytes(text)
            files[MACHINE] = sealed(text)
        write_whole(
            self._scratch / INFO, self._info(machine, mapping_of(host_of_rank, host_names), host_of_rank, files)
        )
        try:
            remove_trace(self._to)
            self._scratch.chmod(0o777 & ~_umask())
            self._scratch.replace(self._to)
        except OSError as error:
            raise UsageError(f"cannot write a trace to {self._to}: {error.strerror or error}") from error

    def close(self) -> None:
        """Remove what a broken import has left."""
        with suppress(SmpyError):
            self._writer.close()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _machine(self) -> tuple[Description | None, Sequence[int], Sequence[str]]:
        """The machine of the trace, the host of each rank, and names of hosts."""
        if self._platform is None:
            number_of: dict[str, int] = {}
            host_of_rank = [number_of.setdefault(host, len(number_of)) for host in self._facts["hosts"]]
            return None, host_of_rank, list(number_of)
        from smpy.platforms.machine import changed, read_machine
        from smpy.platforms.placement.placement import place

        if isinstance(self._platform, str | Path):
            machine = read_machine(self._platform, self.n_ranks, [])
        else:
            machine = changed(self._platform, [])
        built = machine.build()
        return machine, place(built, self.n_ranks), built.host_names

    def _info(
        self,
        machine: Description | None,
        mapping: Sequence[tuple[str, int]],
        host_of_rank: Sequence[int],
        files: dict[str, Any],
    ) -> str:
        from smpy.records.summary import SCHEMA
        from smpy.records.this_machine import this_machine

        finish_s = None if self._finish_s is None else [float(date_s) for date_s in self._finish_s]
        summary = {
            "schema": SCHEMA,
            "smpy": import_module("smpy").__version__,  # which offers `import_trace`, so it cannot be imported above
            "program": self._facts["program"],
            "args": [],
            "platform": "" if machine is None else machine.name,
            "platform_fingerprint": "" if machine is None else machine.fingerprint,
            "ranks": self.n_ranks,
            "mapping": mapping,
            "makespan_s": None if finish_s is None else max(finish_s),
            "messages": self._counts["messages" if finish_s is not None else "sends"],
            "bytes": self._counts["bytes"],
            **self._shares(),
            "remarks": [{"topic": "import", "text": text, "count": n} for text, n in self.remarks.items()],
            "finish_s": [None] * self.n_ranks if finish_s is None else finish_s,
            "host": this_machine(0.0),
        }
        traced = {
            "format": FORMAT,
            "program_path": str(self._source.absolute()),
            "is_complete": True,
            "window_s": None,
            "ranks": None,
            "can_replay": True,
            "n_wildcards": 0,
            "n_polls": self._counts["polls"],
            "n_failed_polls": self._counts["failed_polls"],
            "n_choices": self._counts["choices"],
            "regions": list(self._regions),
            "hosts_of_ranks": [[host, len(list(ranks))] for host, ranks in groupby(host_of_rank)],
            "algorithms": [],
            "host_speed_flop_per_s": self._facts["host_speed_flop_per_s"],
            "imported": {
                "form": self._form,
                "path": str(self._source.absolute()),
                "keeps_seconds": self._facts["keeps_seconds"],
                "cycles": self._facts["cycles"],
            },
            "files": files,
        }
        lines = (f"  {json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in summary.items())
        return info_text("{\n" + ",\n".join(lines) + "\n}\n", traced)

    def _shares(self) -> dict[str, float]:
        from smpy.records.time_shares import TimeShares

        if self._spent_s is None:
            return {}
        spent_s = dict(zip(INTERVAL_KINDS, self._spent_s.tolist(), strict=True))
        shares = TimeShares.of(
            compute_s=spent_s["compute"],
            communication_s=sum(spent_s[kind] for kind in ("overhead", "polling", "transfer")),
            waiting_s=sum(spent_s[kind] for kind in ("probing", "late_sender", "late_receiver", "late_members")),
            sleep_s=spent_s["sleep"],
            io_s=spent_s["io"],
        )
        return {f"{name}_share": share for name, share in asdict(shares).items()}

    def _add_sites(self) -> None:
        if not self._sites:
            return
        rank, call, file, line, is_kernel = (list(column) for column in zip(*self._sites, strict=True))
        number = list(self._sites.values())
        columns = {"site": number, "rank": rank, "call": call, "file": file, "line": line}
        self._writer.add("sites", {**columns, "comm": [None] * len(number), "is_kernel": is_kernel})

    def _add_schedules(self) -> None:
        if not self._schedules:
            return
        operation, n_ranks, nbytes, item_bytes, n_entries, total_bytes, are_equal, in_parts = (
            list(column) for column in zip(*self._schedules, strict=True)
        )
        n = len(self._schedules)
        self._writer.add(
            "collectives",
            {
                "schedule": list(self._schedules.values()),
                "operation": operation,
                "algorithm": [""] * n,
                "n_ranks": n_ranks,
                "n_remote": [0] * n,
                "bytes": nbytes,
                "commutative": [True] * n,
                "is_predefined": [True] * n,
                "is_derived": [False] * n,
                "are_equal": are_equal,
                "in_parts": in_parts,
                "item_bytes": item_bytes,
                "n_entries": n_entries,
                "total_bytes": total_bytes,
            },
        )


def _runs(members: Sequence[int]) -> list[tuple[int, int, int]]:
    """Members as runs: first, step, number."""
    if isinstance(members, range):
        return [(members.start, members.step, len(members))]
    runs: list[tuple[int, int, int]] = []
    at = 0
    while at < len(members):
        first, n = members[at], 1
        step = members[at + 1] - first if at + 1 < len(members) else 1
        while at + n < len(members) and members[at + n] - members[at + n - 1] == step:
            n += 1
        runs.append((first, step, n))
        at += n
    return runs


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
