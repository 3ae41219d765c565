"""Rows of actions for the kernel: the rows of a trace with the numbers of this world."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from smpy.collectives.comm_hosts import SENT_ONCE
from smpy.engine.trace import ACTIONS, RowColumns, actions_with, dtype_of
from smpy.errors import DamagedFileError
from smpy.records.columns import numbers
from smpy.records.recorded_machine import recorded_machine
from smpy.records.trace_checks import refuse_rows
from smpy.replay.rows_of_action import rows_of_action

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from smpy.records.trace import Trace
    from smpy.replay.changes import Divisors
    from smpy.replay.noise import QuietWork

ScheduleOf = Callable[[int, int, frozenset[str]], tuple[int, frozenset[str]]]

_BATCH_ROWS: Final = 1 << 17
_COLUMNS: Final = ("rank", "action", "site", "comm", "peer", "tag", "bytes", "amount", "request", "detail")
_ANY: Final = -1
_RECEIVES: Final = tuple(map(ACTIONS.index, ("irecv", "recv")))
_COLLECTIVES: Final = tuple(map(ACTIONS.index, actions_with(RowColumns.TABLES)))
_COMPUTE: Final = ACTIONS.index("compute")
_END: Final = ACTIONS.index("end")
_NOISE_FREE: Final = ACTIONS.index("noise_free")
_OVERHEAD: Final = ACTIONS.index("overhead")
_SENDS: Final = tuple(map(ACTIONS.index, actions_with(RowColumns.SENDS)))
_IN_SECONDS: Final = tuple(map(ACTIONS.index, actions_with(RowColumns.SECONDS)))
_SLACK: Final = 1000.0  # largest factor by which profiles speed up cores
_FLOP_PER_S_MAX: Final = 1e15  # above the speed of most cores: the machine is read only for work beyond this
_BYTES_MAX: Final = 1 << 44  # largest size of a message that was never sent


class RowRanges:
    """Some actions of each rank, by their numbers among those of their rank.

    Parameters
    ----------
    ranges : sequence of sequence of (int, int)
        The first action and the one after the last of each range, in order, for each rank.
    """

    def __init__(self, ranges: Sequence[Sequence[tuple[int, int]]]) -> None:
        import numpy as np

        self._n_met = np.zeros(len(ranges), np.int64)
        edges = [(rank << 40) + edge for rank, mine in enumerate(ranges) for part in mine for edge in part]
        self._edges = np.array(edges, np.int64)

    def kept(self, rank: NDArray[np.int32], is_end: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether each of the next actions is one of them, or the end of its rank."""
        import numpy as np

        order = np.argsort(rank, kind="stable")
        n_of = np.bincount(rank, minlength=len(self._n_met))
        number = np.empty(len(rank), np.int64)
        number[order] = np.arange(len(rank)) - np.repeat(np.cumsum(n_of) - n_of - self._n_met, n_of)
        self._n_met += n_of
        keys = (rank.astype(np.int64) << 40) + number
        is_inside: NDArray[np.bool_] = np.searchsorted(self._edges, keys, side="right") % 2 == 1
        return is_inside | is_end


class ActionRows:
    """The actions of a trace, batch by batch.

    Parameters
    ----------
    trace : Trace
        The trace.
    comm_of : sequence of int
        The world's number of each communicator of the trace.
    schedule_of : callable
        Takes a schedule and a communicator of the trace, and the searches for hosts due in it. Returns the world's
        number of the schedule, and the searches that are due after it.
    divisors : Divisors
        Divisors of the work of each rank and site.
    overhead : float
        Divisor of overheads; 0 removes them.
    """

    def __init__(
        self,
        trace: Trace,
        comm_of: Sequence[int],
        schedule_of: ScheduleOf,
        divisors: Divisors,
        overhead: float,
    ) -> None:
        import numpy as np

        self._trace = trace
        self._comm_of = np.array([*comm_of, _ANY], dtype=np.int32)  # the last entry stands for no communicator
        self._schedule_of = schedule_of
        self._divisors = divisors
        self._overhead = overhead
        self._slowdown: NDArray[np.float64] | None = None
        self._number_of: dict[tuple[int, int, frozenset[str]], tuple[int, frozenset[str]]] = {}
        self._due_of: dict[tuple[int, int], frozenset[str]] = {}
        self._is_kernel = trace.is_kernel & (not trace.is_imported)  # kernels of a real run have seconds, too
        self._quiet: QuietWork | None = None
        self._is_noisy_next = self._has_noisy_bytes_next = False
        self._ranges: RowRanges | None = None
        self._names_sites = False
        self._n_rows = 0
        self._took = self._taken()

    def keep_seconds(self, slowdown: NDArray[np.float64] | None) -> None:
        """Keep the seconds of the run for work outside of kernels.

        Parameters
        ----------
        slowdown : array of float, [ranks], or None
            Ratio of each rank's core speed in the run to that in the replay; None: work keeps its operations.
        """
        self._slowdown = slowdown

    def name_sites(self) -> None:
        """Name the call sites of rows as their accounts, which the world knows by the same numbers."""
        self._names_sites = True

    def keep_only(self, ranges: RowRanges | None) -> None:
        """Leave out all rows but some of each rank, and its end; None keeps all."""
        self._ranges = ranges

    def without_noise(self, quiet: QuietWork | None) -> None:
        """Replace amounts of work by noise-free ones; None keeps them."""
        self._quiet = quiet

    def _taken(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]] | None:
        """Matches of receives from any source: sorted keys of rank and request, with sources and tags."""
        import numpy as np

        if not self._trace.info["trace"]["n_wildcards"]:
            return None
        rank, request, peer, tag = rows_of_action(self._trace, "took", ("rank", "request", "peer", "tag"))
        keys = rank.astype(np.int64) << 32 | request
        order = np.argsort(keys, kind="stable")
        return keys[order], peer[order], tag[order]

    def __iter__(self) -> Iterator[NDArray[Any]]:
        for batch in self._trace.batches("actions", _COLUMNS, _BATCH_ROWS):
            if self._ranges is None:
                yield self._rows(batch)
            else:
                kept = self._ranges.kept(numbers(batch["rank"]), self._actions(batch["action"]) == _END)
                yield self._rows(batch.filter(kept))

    def _rows(self, batch: pa.RecordBatch) -> NDArray[Any]:
        import numpy as np

        rows: NDArray[Any] = np.zeros(batch.num_rows, dtype_of("actions"))
        for name in ("rank", "peer", "tag", "bytes", "amount", "request", "detail"):
            rows[name] = numbers(batch[name])
        rows["action"] = self._actions(batch["action"])
        site, comm = numbers(batch["site"], null=0), numbers(batch["comm"], null=-1)
        rows["comm"] = self._comm_of[comm]
        if self._names_sites:
            rows["account"] = site
        action = rows["action"]
        self._check_amounts(rows)
        self._bind(rows)
        is_collective = np.isin(action, _COLLECTIVES)
        if is_collective.any():
            called = rows[is_collective]
            rows["detail"][is_collective] = self._schedules(called["rank"], called["detail"], comm[is_collective])
        if self._quiet is not None:
            self._remove_noise(rows, site, self._quiet)
        is_work = action == _COMPUTE
        if is_work.any():
            self._divide(rows, is_work, site)
        is_overhead = action == _OVERHEAD
        if self._overhead == 0:
            kept: NDArray[Any] = rows[~is_overhead].copy()
            return kept
        rows["amount"][is_overhead] /= self._overhead
        return rows

    def _check_amounts(self, rows: NDArray[Any]) -> None:
        """Check that no rank slept or computed for longer than the run, and no message is larger than all together.

        Raises
        ------
        DamagedFileError
            If a row cannot come from a recorded run; its replay might never end. The message names the first row.
        """
        import numpy as np

        longest_s = np.inf if self._trace.is_imported else _SLACK * self._trace.makespan_s
        action, amount = rows["action"], rows["amount"]
        self._refuse(np.isin(action, _IN_SECONDS) & (amount > longest_s), "an amount longer than the run")
        is_large = (action == _COMPUTE) & (amount > _FLOP_PER_S_MAX * longest_s)
        if is_large.any():
            is_large[is_large] = amount[is_large] > self._speeds_flop_per_s[rows["rank"][is_large]] * longest_s
            self._refuse(is_large, "more operations than the run had time for")
        most = max(self._trace.info["bytes"], _BYTES_MAX)
        self._refuse(np.isin(action, _SENDS) & (rows["bytes"] > most), "more bytes than the run sent")
        self._n_rows += len(rows)

    def _refuse(self, wrong: NDArray[np.bool_], what: str) -> None:
        refuse_rows(self._trace.folder / "actions.parquet", self._n_rows, wrong, what)

    @cached_property
    def _speeds_flop_per_s(self) -> NDArray[np.float64]:
        """Speed of each rank's core in the run."""
        import numpy as np

        machine = recorded_machine(self._trace).build()
        runs = self._trace.info["trace"]["hosts_of_ranks"]
        speeds: NDArray[np.float64] = np.repeat(
            [machine.speed_flop_per_s(host) for host, _ in runs], [n_ranks for _, n_ranks in runs]
        )
        return speeds

    def _divide(self, rows: NDArray[Any], is_work: NDArray[np.bool_], site: NDArray[np.int32]) -> None:
        """Divide the amounts of work."""
        import numpy as np

        rank, sites = rows["rank"][is_work], site[is_work]
        flop = self._divisors.flop_of_rank[rank] * self._divisors.of_site[sites]
        moved = self._divisors.bytes_of_rank[rank] * self._divisors.of_site[sites]
        if self._slowdown is not None:
            flop[~self._is_kernel[sites]] *= self._slowdown[rank][~self._is_kernel[sites]]
        rows["amount"][is_work] /= flop
        if (moved != 1).any():
            most = np.nextafter(2.0**63, 0)  # largest number in a column of bytes
            rows["bytes"][is_work] = np.minimum(np.rint(rows["bytes"][is_work] / moved), most)

    def _remove_noise(self, rows: NDArray[Any], site: NDArray[np.int32], quiet: QuietWork) -> None:
        """Replace work by the noise-free amount in the row before it, or by the percentile of its call."""
        import numpy as np

        action, amount = rows["action"], rows["amount"]
        of_site = quiet.flop_of_site[site]
        is_measured = (action == _COMPUTE) & ~np.isnan(of_site)
        amount[is_measured] = of_site[is_measured]
        is_free = action == _NOISE_FREE
        is_noisy = np.append(self._is_noisy_next, is_free & (rows["detail"] > 0))
        has_bytes = np.append(self._has_noisy_bytes_next, is_noisy[1:] & (rows["bytes"] > 0))
        self._is_noisy_next, self._has_noisy_bytes_next = bool(is_noisy[-1]), bool(has_bytes[-1])
        amount[is_noisy[:-1]] = 0.0
        rows["bytes"][has_bytes[:-1]] = 0
        action[is_free] = _COMPUTE

    def _actions(self, column: pa.DictionaryArray) -> NDArray[Any]:
        import numpy as np

        names = column.dictionary.to_pylist()
        for name in names:
            if name not in ACTIONS:
                raise DamagedFileError(
                    f"{self._trace.folder / 'actions.parquet'} has an action {name!r}, "
                    "which this version of smpy does not know"
                )
        action_of = np.array([ACTIONS.index(name) for name in names], dtype=np.int32)
        taken: NDArray[Any] = action_of[numbers(column.indices)]
        return taken

    def _bind(self, rows: NDArray[Any]) -> None:
        """Replace "any source" and "any tag" of receives by the source and tag of the message that each took."""
        import numpy as np

        if self._took is None:
            return
        keys, peer, tag = self._took
        at = np.flatnonzero(np.isin(rows["action"], _RECEIVES) & (rows["peer"] == _ANY))
        row_keys = rows["rank"][at].astype(np.int64) << 32 | rows["request"][at]
        place = np.searchsorted(keys, row_keys)
        known = place < len(keys)
        known[known] = keys[place[known]] == row_keys[known]
        rows["peer"][at[known]], rows["tag"][at[known]] = peer[place[known]], tag[place[known]]

    def _schedules(self, rank: NDArray[Any], schedule: NDArray[Any], comm: NDArray[Any]) -> NDArray[Any]:
        import numpy as np

        pairs = np.stack((schedule, comm), axis=1).astype(np.int64)
        schedules, inverse = np.unique(pairs, axis=0, return_inverse=True)
        kinds: list[tuple[int, int]] = [(number, of_comm) for number, of_comm in schedules.tolist()]
        inverse = inverse.reshape(-1)
        searching = [kind for kind, pair in enumerate(kinds) if self._may_search(*pair)]
        first = [self._schedule(*pair, SENT_ONCE)[0] for pair in kinds]
        numbers: NDArray[Any] = np.array(first, dtype=np.int32)[inverse]
        for row in np.flatnonzero(np.isin(inverse, searching)).tolist():
            caller = int(rank[row]), int(comm[row])
            due = self._due_of.get(caller, SENT_ONCE)
            numbers[row], self._due_of[caller] = self._schedule(*kinds[int(inverse[row])], due)
        return numbers

    def _schedule(self, schedule: int, comm: int, due: frozenset[str]) -> tuple[int, frozenset[str]]:
        key = schedule, comm, due
        if key not in self._number_of:
            self._number_of[key] = self._schedule_of(*key)
        return self._number_of[key]

    def _may_search(self, schedule: int, comm: int) -> bool:
        """Whether a call's messages depend on the searches that are due."""
        number, due = self._schedule(schedule, comm, SENT_ONCE)
        return due != SENT_ONCE or number != self._schedule(schedule, comm, frozenset())[0]
