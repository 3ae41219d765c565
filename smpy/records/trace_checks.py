"""Checks of a trace's rows: ranks, sites and communicators exist, dates are in order, kinds are known.

Each batch of rows is checked once, when it is read. Columns that are not read are not checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from smpy.records.columns import is_known, numbers
from smpy.records.profile import INTERVAL_KINDS
from smpy.records.trace_layout import MAY_BE_NULL, damaged

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

_ROUNDING: Final = 1e-12  # share of the makespan: dates may be sums in another order
_NOBODY: Final = -2  # PROC_NULL, as a root and as a neighbour
_AT_ROOT: Final = -4  # ROOT, of a collective between groups


class Known(NamedTuple):
    """Numbers to which rows of a trace may refer.

    Attributes
    ----------
    n_ranks, n_threads, n_sites, n_names : int
        Ranks of the world, their threads, rows of `sites`, names of regions.
    n_actions, n_failed_polls : int
        Rows of `actions`, and polls that found nothing.
    makespan_s : float
        End of the run, in seconds.
    is_comm : array of bool
        Whether a communicator has each number.
    """

    n_ranks: int
    n_threads: int
    n_sites: int
    n_names: int
    n_actions: int
    n_failed_polls: int
    makespan_s: float
    is_comm: NDArray[Any]


class RowChecks:
    """Checks of one table, batch by batch.

    Parameters
    ----------
    table : str
        Its name.
    path : path
        Its file, for messages.
    known : callable
        Returns the numbers to which rows may refer; called before the first row is checked.
    in_order : bool
        Whether all rows are read, in their order.
    """

    def __init__(self, table: str, path: object, known: Callable[[], Known], *, in_order: bool) -> None:
        self._table, self._path, self._known = table, path, known
        self._in_order = in_order
        self._n_rows = 0
        self._last_end_s: NDArray[Any] | None = None

    def check(self, rows: pa.RecordBatch) -> None:
        """Check the next batch of rows.

        Raises
        ------
        DamagedFileError
            Names the first row with an impossible value.
        """
        if not rows.num_rows:
            return
        columns = {name: rows[name] for name in rows.schema.names}
        self._check_words(columns)
        known = self._known()
        for name, column in columns.items():
            if column.null_count and name not in MAY_BE_NULL.get(self._table, ()):
                self._refuse(~is_known(column), f"no {name}")
            self._check_column(name, column, known)
        self._check_order(columns, known)
        if self._table == "actions" and "action" in columns:
            self._check_actions(columns, known)
        if self._table == "sites" and self._in_order and "site" in columns:
            import numpy as np

            self._refuse(np.diff(numbers(columns["site"]), prepend=self._n_rows) != 1, "another number than its own")
        if self._table == "comms" and columns.keys() >= {"first", "step", "n"}:
            first, step, n = (numbers(columns[name]).astype("i8") for name in ("first", "step", "n"))
            self._refuse((n < 0) | (n > known.n_ranks), "another number of ranks than there can be")
            for rank in (first, first + step * (n - 1)):
                self._refuse((n > 0) & ((rank < 0) | (rank >= known.n_ranks)), "a rank that does not exist")
        self._n_rows += rows.num_rows

    def _check_words(self, columns: dict[str, Any]) -> None:
        """Check that words are UTF-8, and that each word number has a word."""
        import pyarrow as pa

        for name, column in columns.items():
            try:
                column.validate(full=True)
            except pa.ArrowInvalid as error:
                raise damaged(f"{self._path}: column {name}: {error}") from error

    def _check_column(self, name: str, column: Any, known: Known) -> None:
        if name.endswith("_s"):
            # a transfer alone on its links may take longer than the rest of the run
            latest_s = float("inf") if name == "alone_s" else known.makespan_s * (1 + _ROUNDING)
            date_s = numbers(column, null=0.0)
            self._refuse(~((date_s >= 0) & (date_s <= latest_s) & (date_s < float("inf"))), f"{name} beyond the run")
        elif name == "power_w":
            self._refuse(~(abs(numbers(column, null=0.0)) < float("inf")), "a power that is no number")
        elif name in ("rank", "by_rank", "source", "target") or (name == "other" and self._table != "comms"):
            self._within(column, 0, known.n_ranks - 1, "a rank that does not exist")
        elif name in ("thread", "by_thread", "send_thread", "receive_thread"):
            self._within(column, 0 if column.null_count else 1, known.n_threads, "a thread that does not exist")
        elif name in ("site", "send_site", "receive_site"):
            first = 0 if column.null_count else 1
            self._within(column, first, known.n_sites, "a site that does not exist")
        elif (name == "comm" and self._table in ("actions", "sites")) or (name == "other" and self._table == "comms"):
            comm = numbers(column, null=0)
            is_named = known.is_comm[comm.clip(0, len(known.is_comm) - 1)]
            is_wrong = ~is_named | (comm < 0) | (comm >= len(known.is_comm))
            self._refuse(is_wrong, "a communicator that does not exist")
        elif name == "kind":
            self._words(column, INTERVAL_KINDS)
        elif name == "request":
            self._within(column, -1, None, "a request below -1")
        elif name in ("message", "line", "detail", "schedule", "n_entries", "comm") or (
            name == "bytes" and self._table != "actions"
        ):
            self._within(column, 0, None, f"a {name} below 0")
        elif name == "item_bytes":
            self._within(column, 1, None, "an entry of no bytes")
        elif name in ("n_ranks", "n_remote"):
            self._within(column, 0, known.n_ranks, "more ranks than there are")

    def _check_order(self, columns: dict[str, Any], known: Known) -> None:
        """Check that nothing ends before it starts, and that intervals of a rank, or of a thread, do not overlap."""
        if not columns.keys() >= {"start_s", "end_s"}:
            return
        import numpy as np

        start_s, end_s = numbers(columns["start_s"]), numbers(columns["end_s"])
        self._refuse(start_s > end_s, "an end before its start")
        whose = {"intervals": "rank", "thread_intervals": "thread"}.get(self._table)
        if whose is None or whose not in columns or not self._in_order:
            return
        n_locations = max(known.n_ranks, known.n_threads + 1)
        if self._last_end_s is None:
            self._last_end_s = np.zeros(n_locations)
        location = numbers(columns[whose])
        order = np.argsort(
            location.astype("u2") if n_locations <= 1 << 16 else location, kind="stable"
        )  # numbers of 16 bits are sorted without comparisons
        is_first = np.diff(location[order], prepend=-1) > 0
        before_s = np.roll(end_s[order], 1)
        before_s[is_first] = self._last_end_s[location[order][is_first]]
        wrong = np.zeros(len(order), np.bool_)
        wrong[order] = start_s[order] < before_s
        self._refuse(wrong, f"a start before the end of its {whose}'s row above")
        self._last_end_s[location] = end_s  # numpy keeps the last of a location's several rows

    def _check_actions(self, columns: dict[str, Any], known: Known) -> None:
        import numpy as np

        from smpy.engine.trace import ACTIONS, RowColumns, actions_with

        words = self._words(columns["action"], ACTIONS)
        action = numbers(columns["action"].indices)

        def is_one_of(names: Sequence[str]) -> NDArray[np.bool_]:
            chosen = np.array([word in names for word in words], np.bool_)
            rows: NDArray[np.bool_] = chosen[action]
            return rows

        def has(columns: RowColumns) -> NDArray[np.bool_]:
            return is_one_of(actions_with(columns))

        if "peer" in columns:
            peer = numbers(columns["peer"])
            is_of_root = is_one_of(("collective", "start")) & ((peer == _NOBODY) | (peer == _AT_ROOT))
            self._refuse(~is_of_root & ((peer < -1) | (peer >= known.n_ranks)), "a rank that does not exist")
        if "bytes" in columns:
            nbytes = numbers(columns["bytes"])
            is_neighbour = is_one_of(("entry",)) & (nbytes == _NOBODY)
            self._refuse(~is_neighbour & (nbytes < 0), "a bytes below 0")
        if "comm" in columns and columns["comm"].null_count:
            self._refuse(has(RowColumns.COMM) & ~is_known(columns["comm"]), "no communicator")
        if "amount" in columns:
            amount = numbers(columns["amount"])
            self._refuse(~((amount >= 0) & (amount < np.inf)), "an amount that is no number of 0 or more")
            self._refuse(
                has(RowColumns.POLL) & (amount > known.n_failed_polls),
                "more polls than the run made",
            )
            self._refuse(is_one_of(("latch",)) & (amount > known.n_ranks), "a latch for more ranks than there are")
            self._refuse(
                has(RowColumns.TABLES) & (amount > known.n_actions),
                "more entries than there are rows",
            )
        if "detail" in columns:
            many = numbers(columns["detail"]) > known.n_actions
            self._refuse(has(RowColumns.COUNTED) & many, "more requests than there are rows")
            regions = is_one_of(("begin_region", "end_region"))
            self._refuse(regions & (numbers(columns["detail"]) >= known.n_names), "a region that has no name")
        if "tag" in columns:
            tag = numbers(columns["tag"])
            self._refuse(is_one_of(("latch",)) & ((tag < 0) | (tag > known.n_actions)), "a latch that does not exist")

    def _words(self, column: Any, known: Sequence[str]) -> list[str]:
        """Words of a column; raises an error if one is not known."""
        words: list[str] = column.dictionary.to_pylist()
        for word in words:
            if word not in known:
                raise damaged(f"{self._path}: {word!r} is none of {', '.join(known)}")
        return words

    def _within(self, column: Any, first: int, last: int | None, what: str) -> None:
        value = numbers(column, null=first)
        wrong = value < first
        self._refuse(wrong if last is None else wrong | (value > last), what)

    def _refuse(self, wrong: NDArray[Any], what: str) -> None:
        refuse_rows(self._path, self._n_rows, wrong, what)


def refuse_rows(path: object, n_before: int, wrong: NDArray[Any], what: str) -> None:
    """Raise an error that names the first wrong row, counted from 1 after `n_before` earlier rows."""
    if wrong.any():
        raise damaged(f"{path}: row {n_before + int(wrong.argmax()) + 1:,} has {what}")
