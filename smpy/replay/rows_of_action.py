"""Rows of one action in a trace, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from smpy.records.columns import numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from smpy.records.trace import Trace


def rows_of_action(trace: Trace, action: str, columns: Sequence[str]) -> list[NDArray[Any]]:
    """Columns of the rows of one action, in order; nulls are 0.

    Parameters
    ----------
    trace : Trace
        All of a run.
    action : str
        Name of the action in the trace.
    columns : sequence of str
        Columns of `actions`, each a number.
    """
    import numpy as np

    parts: list[list[NDArray[Any]]] = [[np.empty(0, np.int32)] for _ in columns]
    for batch in trace.batches("actions", ["action", *columns]):
        words = batch["action"].dictionary.to_pylist()
        if action not in words:
            continue
        here = numbers(batch["action"].indices) == words.index(action)
        for part, column in zip(parts, columns, strict=True):
            part.append(numbers(batch[column], null=0)[here])
    return [np.concatenate(part) for part in parts]
