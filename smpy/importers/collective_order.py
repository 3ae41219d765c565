"""Collectives of the ranks of a program, call by call: each rank has to perform the same ones in the same order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from smpy.engine.trace import ACTIONS
from smpy.errors import UsageError
from smpy.importers.collective_sizes import OF_ROOT, OPERATIONS

if TYPE_CHECKING:
    from numpy.typing import NDArray

_COLLECTIVE: Final = ACTIONS.index("collective")
_CALL: Final = np.dtype([("operation", "i4"), ("root", "i4"), ("rank", "i4"), ("line", "i4")])


class CollectiveOrder:
    """Collectives among all ranks, of rows so far; those that all ranks have performed are forgotten.

    Parameters
    ----------
    place_of : callable
        Returns file and line, given a rank and a line, for errors.
    n_ranks : int
        Number of ranks.
    operation_of : mapping of int to str
        Operation of each schedule, which may grow.
    """

    def __init__(self, place_of: Callable[[int, int], str], n_ranks: int, operation_of: Mapping[int, str]) -> None:
        self._place_of, self._operation_of = place_of, operation_of
        self._n_calls = np.zeros(n_ranks, np.int64)
        self._held = np.empty(0, _CALL)  # from the first call that some rank lacks to the last one of any
        self._n_forgotten = 0

    def add(self, rows: NDArray[Any]) -> None:
        """Compare the collectives of rows of actions with those of other ranks.

        Raises
        ------
        UsageError
            If a rank performs another one: file, line and ranks.
        """
        rows = rows[rows["action"] == _COLLECTIVE]
        schedules, which = np.unique(rows["detail"], return_inverse=True)
        operations = np.array([OPERATIONS.index(self._operation_of[each]) for each in schedules.tolist()], np.int32)
        calls = np.empty(len(rows), _CALL)
        calls["operation"] = operations[which]
        calls["root"], calls["rank"], calls["line"] = rows["peer"], rows["rank"], rows["line"]
        calls = calls[np.argsort(calls["rank"], kind="stable")]
        ranks, first = np.unique(calls["rank"], return_index=True)
        for rank, own in zip(ranks.tolist(), np.split(calls, first)[1:], strict=True):
            self._compare(rank, own)
        n_done = int(self._n_calls.min()) - self._n_forgotten
        self._held, self._n_forgotten = self._held[n_done:], self._n_forgotten + n_done

    def check(self) -> None:
        """Refuse a collective that some rank lacks.

        Raises
        ------
        UsageError
            Names the first one: file, line and ranks.
        """
        for call in self._held[:1].tolist():
            raise UsageError(f"{self._place(call)}: {_sentence(call)}, and rank {self._n_calls.argmin()} does not")

    def _compare(self, rank: int, own: NDArray[np.void]) -> None:
        """Compare the next calls of a rank with those of the ranks before it."""
        known = self._held[self._n_calls[rank] - self._n_forgotten :][: len(own)]
        self._n_calls[rank] += len(own)
        self._held = np.concatenate((self._held, own[len(known) :]))
        same = own[: len(known)]
        is_other = (same["operation"] != known["operation"]) | (same["root"] != known["root"])
        for call, other in zip(same[is_other].tolist(), known[is_other].tolist(), strict=True):
            raise UsageError(f"{self._place(call)}: {_sentence(call)} where {_sentence(other)} ({self._place(other)})")

    def _place(self, call: tuple[int, int, int, int]) -> str:
        _, _, rank, line = call
        return self._place_of(rank, line)


def _sentence(call: tuple[int, int, int, int]) -> str:
    operation, root, rank, _ = call
    name = OPERATIONS[operation]
    return f"rank {rank} performs {name}{f' with root {root}' if name in OF_ROOT else ''}"
